// Results in words, and what placement and the commit make of single results.
import { describe, expect, it } from 'vitest';
import type { ProposedCall } from '../../shared/activities.ts';
import type { ResultFacts } from '../../shared/facts.ts';
import { commitResult, placementFactsOf, spoken } from '../../shared/results.ts';

const call: ProposedCall = {
  callKey: 't2/0/1',
  callId: 'call_t2_0_1',
  name: 'desk__page',
  server: 'desk',
  tool: 'page',
  arguments: {},
  argumentsDigest: '',
  schemaHash: '',
  tags: ['@read-only'],
  effect: 'read',
};
const file = {
  path: '/sandbox/tool-results/t2.0.1-page-0123456789abcdef.txt',
  sha256: 'a'.repeat(64),
  bytes: 30_000,
  mediaType: 'text/plain',
};
const facts: ResultFacts = {
  callKey: 't2/0/1',
  outcome: 'ok',
  bytes: 30_000,
  sha256: file.sha256,
  mediaType: 'text/plain',
  tokens: 7_000,
  tokensAreExact: true,
  estimator: 'test',
  pointerTokens: 120,
  inlineText: 'the text',
  pointer: 'the pointer',
  file,
  blocks: [],
  imageBlocks: [],
  attempts: 1,
  durationMs: 3,
};
const options = { enabled: true, perResult: 6_000 };
const placed = (given: Partial<ResultFacts>, enabled = true) =>
  placementFactsOf({ call, result: { facts: { ...facts, ...given } } }, { ...options, enabled });

describe('a result in words', () => {
  it('is never placed in a file, and its tokens are never estimated too low', () => {
    const result = spoken('denied', 'Denied: this was not done.');
    expect(result.tokens).toBeGreaterThanOrEqual(8);
    expect(placementFactsOf({ call, result: { spoken: result } }, options)).toMatchObject({ exempt: true });
  });

  it('stands in context word for word', () => {
    const committed = commitResult(
      { call, result: { spoken: spoken('error', 'It broke.') } },
      { placement: 'inline', rule: 'exempt' },
    );
    expect(committed).toMatchObject({
      outcome: 'error',
      context: { text: 'It broke.' },
      blocks: [],
      images: [],
      written: [],
    });
  });
});

describe('the facts that placement sees', () => {
  it('mark what is over 64 KiB, whatever its tokens, even where placement is off', () => {
    expect(placed({ bytes: 65_537, tokens: 3 })).toMatchObject({ oversize: true });
    expect(placed({ bytes: 65_536 })).not.toHaveProperty('oversize');
    expect(placed({ bytes: 65_537 }, false)).toMatchObject({ oversize: true });
    expect(placed({ bytes: 65_537 }, false)).not.toHaveProperty('exempt');
  });

  it('exempt reads, and everything else where placement is off', () => {
    expect(placed({ exempt: true })).toMatchObject({ exempt: true });
    expect(placed({}, false)).toMatchObject({ exempt: true });
    expect(placed({})).not.toHaveProperty('exempt');
  });

  it('give what was not staged a pointer of its own size, so that it never goes', () => {
    const { file: _, ...small } = facts;
    expect(placementFactsOf({ call, result: { facts: small } }, options)).toMatchObject({
      tokens: 7_000,
      pointerTokens: 7_000,
    });
  });
});

describe('a committed result', () => {
  it('in a file is its pointer, with the pointer’s tokens and the file to pin', () => {
    const committed = commitResult({ call, result: { facts } }, { placement: 'file', rule: 'per-result' });
    expect(committed).toMatchObject({ context: { text: 'the pointer' }, tokens: 120, file, images: [] });
  });

  it('inline goes on by reference where it is staged, and no file is pinned', () => {
    const committed = commitResult({ call, result: { facts } }, { placement: 'inline', rule: 'fits' });
    expect(committed).toMatchObject({ context: { blob: { sha256: file.sha256, bytes: 30_000 } }, tokens: 7_000 });
    expect(committed).not.toHaveProperty('file');
  });

  it('inline shows its images; in a file it does not, but keeps their files', () => {
    const block = { ...file, block: 1, kind: 'image' as const, mediaType: 'image/png' };
    const result = { facts: { ...facts, blocks: [block], imageBlocks: [1] } };
    const inline = commitResult({ call, result }, { placement: 'inline', rule: 'fits' });
    expect(inline.images).toMatchObject([{ sha256: block.sha256, mediaType: 'image/png' }]);
    const away = commitResult({ call, result }, { placement: 'file', rule: 'per-step' });
    expect(away).toMatchObject({ images: [], blocks: [block] });
  });
});
