// Every call ends in exactly one committed result, in call order, for any mixture of facts and words, under any limits.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decisionsOf, type CommittedResult, type ProposedCall } from '../../shared/activities.ts';
import { digestOf } from '../../shared/digest.ts';
import type { BlockFacts, FileFacts, ResultFacts } from '../../shared/facts.ts';
import type { ToolOutcome } from '../../shared/messages.ts';
import { decidePlacement } from '../../shared/placement.ts';
import { payloadBytes, PAYLOAD_LIMIT_BYTES } from '../../shared/payload-limit.ts';
import { commitResult, placementFactsOf, spoken, type SettledCall } from '../../shared/results.ts';
import { boundCommit } from '../../workflows/commit-size.ts';

const hash = fc.integer({ min: 0, max: 2 ** 32 - 1 }).map((n) => n.toString(16).padStart(8, '0').repeat(8));
const outcome = fc.constantFrom<ToolOutcome>('ok', 'error', 'denied', 'expired', 'cancelled', 'unknown');
const file: fc.Arbitrary<FileFacts> = fc.record({
  path: hash.map((digits) => `/sandbox/tool-results/${digits.slice(0, 16)}.txt`),
  sha256: hash,
  bytes: fc.nat({ max: 200_000 }),
  mediaType: fc.constantFrom('text/plain', 'application/json', 'image/png'),
});
const block: fc.Arbitrary<BlockFacts> = fc
  .tuple(file, fc.constantFrom('image', 'resource', 'text'), fc.string({ maxLength: 20 }))
  .map(([facts, kind, label]) => ({ ...facts, block: 1, kind, label }));

const facts: fc.Arbitrary<Omit<ResultFacts, 'callKey'>> = fc
  .record({
    outcome,
    tokens: fc.nat({ max: 20_000 }),
    pointerTokens: fc.integer({ min: 1, max: 300 }),
    file: fc.option(file, { nil: undefined }),
    blocks: fc.array(block, { maxLength: 4 }),
    exempt: fc.boolean(),
    inlineText: fc.string({ maxLength: 40 }),
    hasInlineBlob: fc.boolean(),
    sha256: hash,
  })
  .map(({ file: placed, hasInlineBlob, blocks, ...rest }) => ({
    ...rest,
    bytes: placed?.bytes ?? 40,
    mediaType: 'text/plain',
    tokensAreExact: true,
    estimator: 'test',
    blocks: blocks.map((one, index) => ({ ...one, block: index + 1 })),
    imageBlocks: blocks.flatMap((one, index) => (one.kind === 'image' ? [index + 1] : [])),
    attempts: 1,
    durationMs: 0,
    ...(placed && { file: placed, pointer: `pointer to ${placed.path}` }),
    ...(placed && hasInlineBlob && { inlineBlob: { sha256: rest.sha256, bytes: 10 } }),
  }));

const settledCalls: fc.Arbitrary<readonly SettledCall[]> = fc
  .array(fc.oneof(facts, fc.tuple(outcome, fc.string({ maxLength: 60 }))), { maxLength: 12 })
  .map((results) =>
    results.map((result, index): SettledCall => {
      const call = callOf(index);
      if (Array.isArray(result)) return { call, result: { spoken: spoken(result[0], result[1]) } };
      return { call, result: { facts: { ...result, callKey: call.callKey } } };
    }),
  );
const limits = fc.record({
  perResult: fc.integer({ min: 1, max: 15_000 }),
  perStep: fc.integer({ min: 1, max: 20_000 }),
  enabled: fc.boolean(),
});

function callOf(index: number): ProposedCall {
  return {
    callKey: `t1/0/${index}`,
    callId: `call_${index}`,
    name: `desk__tool_${index}`,
    server: 'desk',
    tool: `tool_${index}`,
    arguments: {},
    argumentsDigest: '',
    schemaHash: '',
    tags: ['@write'],
    effect: 'write',
  };
}

function commit(
  settled: readonly SettledCall[],
  { perResult, perStep, enabled }: { perResult: number; perStep: number; enabled: boolean },
): readonly CommittedResult[] {
  const decisions = decidePlacement(
    settled.map((one) => placementFactsOf(one, { enabled, perResult })),
    { perResult, perStep },
  );
  return boundCommit(
    settled.map((one, index) => commitResult(one, decisions[index] ?? { placement: 'inline', rule: 'fits' })),
  );
}

const property = (check: (settled: readonly SettledCall[], results: readonly CommittedResult[]) => void): void => {
  fc.assert(fc.property(settledCalls, limits, (settled, limit) => check(settled, commit(settled, limit))));
};

describe('the results of a step', () => {
  it('[TURN-6] are exactly one a call, in call order, under the ids of their calls', () => {
    property((settled, results) => {
      const of = ({ callKey, callId, name }: { callKey: string; callId: string; name: string }) => [
        callKey,
        callId,
        name,
      ];
      expect(results.map(of)).toEqual(settled.map((one) => of(one.call)));
    });
  });

  it('[TURN-6] keep the outcome of every call, whatever is placed where', () => {
    property((settled, results) => {
      const outcomes = settled.map(({ result }) => ('spoken' in result ? result.spoken.outcome : result.facts.outcome));
      expect(results.map((one) => one.outcome)).toEqual(outcomes);
    });
  });

  it('[PLACE-12] say something in context: a text, or a blob that is staged; a file always with its pointer', () => {
    property((settled, results) => {
      for (const [index, result] of results.entries()) {
        const made = settled[index]?.result;
        const known = made && 'facts' in made ? [made.facts.file?.sha256, made.facts.inlineBlob?.sha256] : [];
        expect('text' in result.context || known.includes(result.context.blob.sha256)).toBe(true);
        expect(result.placement === 'file').toBe(result.file !== undefined);
        expect(result.placement === 'inline' || 'text' in result.context).toBe(true);
      }
    });
  });

  it('[PLACE-12] show no image of a result whose payload went to a file, and lose no block of any', () => {
    property((settled, results) => {
      for (const [index, result] of results.entries()) {
        const made = settled[index]?.result;
        expect(result.blocks).toEqual(made && 'facts' in made ? made.facts.blocks : []);
        expect(result.placement === 'inline' || result.images.length === 0).toBe(true);
      }
    });
  });

  it('[REPLAY-2] have a digest that changes with each decision and outcome, and with nothing else', () => {
    const changed = fc.constantFrom<Partial<CommittedResult>>(
      { placement: 'file' },
      { placement: 'inline' },
      { rule: 'per-step' },
      { outcome: 'expired' },
    );
    fc.assert(
      fc.property(settledCalls, limits, changed, fc.nat(), (settled, limit, change, at) => {
        const results = commit(settled, limit);
        const digest = (all: readonly CommittedResult[]): string => digestOf(decisionsOf({ step: 0, results: all }));
        const index = results.length === 0 ? 0 : at % results.length;
        const altered = results.map((one, place) => (place === index ? { ...one, ...change } : one));
        const isSame =
          JSON.stringify(decisionsOf({ step: 0, results })) ===
          JSON.stringify(decisionsOf({ step: 0, results: altered }));
        expect(digest(altered) === digest(results)).toBe(isSame);
        expect(digest(results.map((one) => ({ ...one, tokens: one.tokens + 1 })))).toBe(digest(results));
      }),
    );
  });
});

describe('a commit that would be too large for Temporal', () => {
  const many = (count: number, label: string): readonly BlockFacts[] =>
    Array.from({ length: count }, (_, index) => ({
      path: `/sandbox/tool-results/t1.0.0-tool-0123456789abcdef-${index + 1}.txt`,
      sha256: 'a'.repeat(64),
      bytes: 5,
      mediaType: 'text/plain',
      block: index + 1,
      kind: 'resource',
      label,
    }));
  const withBlocks = (index: number, blocks: readonly BlockFacts[]): CommittedResult => {
    const { callKey, callId, name, server, tool } = callOf(index);
    const placed = { placement: 'inline', rule: 'fits' } as const;
    return {
      callKey,
      callId,
      name,
      server,
      tool,
      outcome: 'ok',
      ...placed,
      context: { text: 'x' },
      tokens: 1,
      images: [],
      blocks,
      written: [],
    };
  };

  it('[BOUND-1] gives up lists of blocks, largest first, until it fits, and says so with tool, number and mend', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 16 }), (counts) => {
        const results = counts.map((count, index) =>
          withBlocks(index, many(count, 'a label of some length '.repeat(8))),
        );
        const bounded = boundCommit(results);
        expect(bounded).toHaveLength(results.length);
        expect(payloadBytes(bounded)).toBeLessThan(PAYLOAD_LIMIT_BYTES);
        const smallestLost = Math.min(
          ...counts.filter((count, index) => count > 0 && bounded[index]?.blocks.length === 0),
        );
        const largestKept = Math.max(0, ...bounded.map((one) => one.blocks.length));
        expect(largestKept).toBeLessThanOrEqual(smallestLost);
        for (const [index, one] of bounded.entries()) {
          if (one.blocks.length === (counts[index] ?? 0)) continue;
          const text = 'text' in one.context ? one.context.text : '';
          if (!text.includes(`tool_${index}`) || !text.includes(String(counts[index]))) throw new Error(text);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('[BOUND-1] is left as it is where it fits', () => {
    const results = [withBlocks(0, many(900, 'short')), withBlocks(1, [])];
    expect(boundCommit(results)).toEqual(results);
  });
});
