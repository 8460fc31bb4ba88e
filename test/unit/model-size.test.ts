// What keeps payloads small, for anything: commits in parts, facts with references in place of long lists and texts.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compactFacts, readBlocks } from '../../activities/compact-facts.ts';
import type { StagedFacts } from '../../activities/staging.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import type { CommittedResult } from '../../shared/activities.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { payloadBytes } from '../../shared/payload-limit.ts';
import { commitParts } from '../../workflows/commit-parts.ts';

let folder: string;
let store: FileStore;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-size-'));
  store = createLocalStore({ folder, namespace: 'default' });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const result = (index: number, text: string): CommittedResult => ({
  callKey: `t1/0/${index}`,
  callId: `call-${index}`,
  name: 'read',
  server: 'desk',
  tool: 'read',
  outcome: 'ok',
  placement: 'inline',
  rule: 'fits',
  context: { text },
  tokens: text.length,
  images: [],
  blocks: [],
  written: [],
});

const facts = (inlineText: string, blocks: number): StagedFacts => ({
  callKey: 't1/0/0',
  outcome: 'ok',
  bytes: 1,
  sha256: '0'.repeat(64),
  mediaType: 'text/plain',
  tokens: 1,
  tokensAreExact: true,
  estimator: 'none',
  pointerTokens: 1,
  inlineText,
  blocks: Array.from({ length: blocks }, (_, index) => ({
    path: `/sandbox/tool-results/1.0.0-read-${index}.txt`,
    sha256: String(index).padStart(64, '0'),
    bytes: index,
    mediaType: 'text/plain',
    block: index + 1,
    kind: 'resource' as const,
  })),
  imageBlocks: [],
});

describe('a commit in parts', () => {
  it('always holds every result once, in call order, and no part is above the limit unless one result alone is', () => {
    const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 400 }), { maxLength: 60 });
    fc.assert(
      fc.property(texts, fc.integer({ min: 300, max: 5_000 }), (made, limit) => {
        const results = made.map((text, index) => result(index, text));
        const parts = commitParts({ step: 3, results }, limit);
        expect(parts.flatMap((part) => part.results)).toEqual(results);
        for (const part of parts) {
          expect(part.step).toBe(3);
          const bytes = part.results.reduce((sum, one) => sum + payloadBytes(one) + 1, 0);
          expect(part.results.length === 1 || bytes <= limit).toBe(true);
        }
      }),
    );
  });

  it('is one part in all but rare cases', () => {
    const results = Array.from({ length: 1_000 }, (_, index) => result(index, 'x'.repeat(1_000)));
    expect(commitParts({ step: 0, results })).toEqual([{ step: 0, results }]);
  });
});

describe('facts', () => {
  it('are always below 24 KB, and what went by reference is in the store', async () => {
    const text = fc.tuple(fc.constantFrom('x', 'é', '漢', '👩‍👩‍👧‍👦', '\u0000'), fc.integer({ min: 0, max: 4_000 }));
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 0, max: 200 }), async ([unit, times], blocks) => {
        const before = facts(unit.repeat(times), blocks);
        const after = await compactFacts(before, store);
        expect(Buffer.byteLength(after.inlineText ?? '') + payloadBytes(after.blocks)).toBeLessThan(24_000);
        const kept = after.blocksRef ? await readBlocks(after.blocksRef, store) : after.blocks;
        expect(kept).toEqual(before.blocks);
        const words = after.inlineBlob
          ? await store.readBlob(after.inlineBlob.sha256)
          : Buffer.from(after.inlineText ?? '');
        expect(Buffer.from(words).toString('utf8')).toBe(before.inlineText);
        expect(await compactFacts(after, store)).toEqual(after);
      }),
      { numRuns: 25 },
    );
  });
});
