// The placement rule by its vectors.
import { describe, expect, test } from 'vitest';
import { decidePlacement, tokensInContext, type PlacementFacts } from '../../shared/placement.ts';
import vectors from '../fixtures/placement.json' with { type: 'json' };

const LIMITS = { perResult: 6000, perStep: 10_000 };

describe('decidePlacement', () => {
  test.each(vectors)('$id: $why', ({ facts, limits, expect: expected, tokensInContext: tokens }) => {
    // The JSON module types each row on its own; every row has the keys of PlacementFacts.
    const given = facts as readonly PlacementFacts[];
    const decisions = decidePlacement(given, limits);
    expect(decisions).toEqual(expected);
    expect(given.reduce((sum, fact, i) => sum + tokensInContext(fact, decisions[i]), 0)).toBe(tokens);
  });

  test('a result of over 64 KiB goes by the rule per-result, however few its tokens', () => {
    expect(decidePlacement([{ tokens: 10, pointerTokens: 120, oversize: true }], LIMITS)).toEqual([
      { placement: 'file', rule: 'per-result' },
    ]);
  });

  test('the own limit of a result counts in place of the common one, upwards and downwards', () => {
    const facts = [
      { tokens: 7000, pointerTokens: 120, perResult: 12_000 },
      { tokens: 500, pointerTokens: 120, perResult: 499 },
    ];
    expect(decidePlacement(facts, LIMITS).map(({ rule }) => rule)).toEqual(['fits', 'per-result']);
  });

  test('an exempt result stays although it is over 64 KiB and alone above the limit of the step', () => {
    const facts = [
      { tokens: 50_000, pointerTokens: 120, exempt: true, oversize: true },
      { tokens: 3000, pointerTokens: 120 },
    ];
    expect(decidePlacement(facts, LIMITS)).toEqual([
      { placement: 'inline', rule: 'exempt' },
      { placement: 'file', rule: 'per-step' },
    ]);
  });

  test('a result above its own limit and no larger than its pointer stays', () => {
    expect(decidePlacement([{ tokens: 90, pointerTokens: 120, perResult: 50 }], LIMITS)).toEqual([
      { placement: 'inline', rule: 'fits' },
    ]);
  });
});
