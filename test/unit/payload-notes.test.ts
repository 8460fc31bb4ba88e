// The lines that name a result's further blocks, and the extensions of their files.
import { describe, expect, it } from 'vitest';

import { cleanMediaType, extensionOf } from '../../activities/payload/extension.ts';
import { blockNotes } from '../../activities/payload/notes.ts';
import type { BlockFacts } from '../../shared/facts.ts';

function block(facts: Partial<BlockFacts>): BlockFacts {
  const base = { block: 1, kind: 'image', mediaType: 'image/png', bytes: 12_345, sha256: '0', path: '/sandbox/a.png' };
  return { ...base, ...facts } as BlockFacts;
}

describe('blockNotes', () => {
  it('says nothing of nothing', () => {
    expect(blockNotes([], { imagesShown: true })).toBe('');
  });

  it('names type, size and path of an image, and that it is shown', () => {
    const blocks = [block({})];
    expect(blockNotes(blocks, { imagesShown: true })).toBe(
      '[image/png, 12,345 bytes, saved as /sandbox/a.png; shown below]',
    );
    expect(blockNotes(blocks, { imagesShown: false })).toBe('[image/png, 12,345 bytes, saved as /sandbox/a.png]');
  });

  it('names the address of a resource', () => {
    const note = blockNotes([block({ kind: 'resource', label: 'file:///x', mediaType: 'text/csv', bytes: 7 })], {
      imagesShown: true,
    });
    expect(note).toBe('[resource file:///x: text/csv, 7 bytes, saved as /sandbox/a.png]');
  });

  it('stays bounded for a thousand blocks with long names', () => {
    const blocks = Array.from({ length: 1_000 }, () => block({ kind: 'resource-link', label: 'l'.repeat(300) }));
    const lines = blockNotes(blocks, { imagesShown: true }).split('\n');
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe('[and 980 more]');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(300);
  });
});

describe('extensionOf', () => {
  it.each([
    ['application/json', 'json'],
    ['application/vnd.api+json', 'json'],
    ['TEXT/CSV; charset=utf-8', 'csv'],
    ['text/x-unknown', 'txt'],
    ['image/svg+xml', 'svg'],
    ['application/octet-stream', 'bin'],
    ['constructor', 'bin'],
    ['', 'bin'],
  ])('gives for %s: %s', (mediaType, extension) => {
    expect(extensionOf(mediaType)).toBe(extension);
  });
});

describe('cleanMediaType', () => {
  it.each([
    ['Image/PNG', 'image/png'],
    ['text/plain; charset=utf-8', 'text/plain'],
    ['a sentence', undefined],
    ['text/plain\nX: y', undefined],
    [`text/${'x'.repeat(500)}`, undefined],
    [7, undefined],
  ])('makes of %j: %j', (given, clean) => {
    expect(cleanMediaType(given)).toBe(clean);
  });
});
