// What holds of the placement rule for all results, limits and orders of arrival.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decidePlacement,
  tokensInContext,
  type PlacementDecision,
  type PlacementFacts,
  type PlacementLimits,
} from '../../shared/placement.ts';

const fact: fc.Arbitrary<PlacementFacts> = fc.record(
  {
    // Small ranges, so that ties and limits met exactly come up often.
    tokens: fc.oneof(fc.nat(40), fc.nat(20_000)),
    pointerTokens: fc.integer({ min: 1, max: 40 }),
    perResult: fc.integer({ min: 1, max: 12_000 }),
    oversize: fc.boolean(),
    exempt: fc.boolean(),
  },
  { requiredKeys: ['tokens', 'pointerTokens'] },
);

const limits: fc.Arbitrary<PlacementLimits> = fc.record({
  perResult: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 12_000 })),
  perStep: fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 20_000 })),
});

function total(facts: readonly PlacementFacts[], decisions: readonly PlacementDecision[]): number {
  return facts.reduce((sum, each, i) => sum + tokensInContext(each, decisions[i]), 0);
}

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length === 0) return [[]];
  return items.flatMap((item, i) =>
    permutations([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]),
  );
}

/** A step as the Workflow keeps it: results arrive in any order and are decided on in call order, once all are there. */
function decideByArrival(facts: readonly PlacementFacts[], arrival: readonly number[], by: PlacementLimits): string {
  const results = new Map<number, PlacementFacts>();
  for (const call of arrival) results.set(call, facts[call] ?? { tokens: 0, pointerTokens: 1 });
  const inCallOrder = [...results].sort(([a], [b]) => a - b).map(([, each]) => each);
  return JSON.stringify(decidePlacement(inCallOrder, by));
}

describe('decidePlacement', () => {
  test('every permutation of arrival of up to six results gives one and the same decision', () => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 6 }), limits, (facts, by) => {
        const inOrder = JSON.stringify(decidePlacement(facts, by));
        const decisions = permutations(facts.map((_, i) => i)).map((arrival) => decideByArrival(facts, arrival, by));
        expect(new Set(decisions)).toEqual(new Set([inOrder]));
      }),
      { numRuns: 60 },
    );
  });

  test('results of distinct sizes get the same decision each, in whatever order their calls stand', () => {
    const distinct = fc.uniqueArray(fact, { maxLength: 6, selector: ({ tokens }) => tokens });
    fc.assert(
      fc.property(distinct, limits, (facts, by) => {
        const decided = new Map(facts.map((each, i) => [each, decidePlacement(facts, by)[i]] as const));
        for (const order of permutations(facts)) {
          const decisions = decidePlacement(order, by);
          for (const [i, each] of order.entries()) expect(decisions[i]).toEqual(decided.get(each));
        }
      }),
      { numRuns: 30 },
    );
  });

  test('context never stays above the limit of the step while anything more could go', () => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 12 }), limits, (facts, by) => {
        const decisions = decidePlacement(facts, by);
        const couldGo = facts.some((each, i) => decisions[i]?.rule === 'fits' && each.tokens > each.pointerTokens);
        expect(total(facts, decisions) > by.perStep && couldGo).toBe(false);
      }),
    );
  });

  test('nothing goes by the rule of the step unless it had to: without the last one the limit is passed', () => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 12 }), limits, (facts, by) => {
        const decisions = decidePlacement(facts, by);
        const gone = facts.flatMap((each, i) => (decisions[i]?.rule === 'per-step' ? [each] : []));
        // Largest first, equal ones in call order: the last of the smallest went last.
        const last = gone.toSorted((a, b) => b.tokens - a.tokens).at(-1);
        const before = last ? total(facts, decisions) + last.tokens - last.pointerTokens : Number.POSITIVE_INFINITY;
        expect(before).toBeGreaterThan(by.perStep);
      }),
    );
  });

  test('what goes by the rule of the step is never smaller than a result that could go and stays', () => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 12 }), limits, (facts, by) => {
        const decisions = decidePlacement(facts, by);
        const sizes = (rule: string) =>
          facts.flatMap(({ tokens, pointerTokens }, i) =>
            decisions[i]?.rule === rule && tokens > pointerTokens ? [tokens] : [],
          );
        expect(Math.min(...sizes('per-step'))).toBeGreaterThanOrEqual(Math.max(...sizes('fits')));
      }),
    );
  });

  test('an exempt result never goes, and what is no larger than its pointer goes only when over 64 KiB', () => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 12 }), limits, (facts, by) => {
        const decisions = decidePlacement(facts, by);
        const rulesOf = (is: (each: PlacementFacts) => boolean | undefined) =>
          facts.flatMap((each, i) => (is(each) ? [decisions[i]?.rule] : []));
        expect(rulesOf(({ exempt }) => exempt).filter((rule) => rule !== 'exempt')).toEqual([]);
        const isSmall = (each: PlacementFacts) => !each.exempt && !each.oversize && each.tokens <= each.pointerTokens;
        expect(rulesOf(isSmall).filter((rule) => rule !== 'fits')).toEqual([]);
      }),
    );
  });

  test('the rule says the placement: fits and exempt are inline, the others are files', () => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 12 }), limits, (facts, by) => {
        const decisions = decidePlacement(facts, by);
        const inline = decisions.map(({ placement }) => placement === 'inline');
        expect(inline).toEqual(decisions.map(({ rule }) => rule === 'fits' || rule === 'exempt'));
      }),
    );
  });

  test('a larger limit of the step never sends more to files', () => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 12 }), limits, fc.nat(5000), (facts, by, more) => {
        const before = decidePlacement(facts, by);
        const after = decidePlacement(facts, { ...by, perStep: by.perStep + more });
        expect(after.every(({ placement }, i) => placement === 'inline' || before[i]?.placement === 'file')).toBe(true);
      }),
    );
  });

  test('placing never makes context larger, and deciding twice gives the same', () => {
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 12 }), limits, (facts, by) => {
        const small = facts.filter((each) => !each.oversize);
        const decisions = decidePlacement(small, by);
        expect(decidePlacement(small, by)).toEqual(decisions);
        expect(total(small, decisions)).toBeLessThanOrEqual(small.reduce((sum, { tokens }) => sum + tokens, 0));
      }),
    );
  });
});
