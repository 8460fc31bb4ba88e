// Where each result of a step goes: into the context, or to a file that the context points to. Source: architecture D4.

/** `inline` in the context, or `file` with a pointer in the context. */
export type Placement = 'inline' | 'file';

/** The rule that decided: it fits, its own limit, the step's limit, or it is never placed anew. */
export type PlacementRule = 'fits' | 'per-result' | 'per-step' | 'exempt';

/** What is known of one result, counted once by an Activity. */
export interface PlacementFacts {
  /** Tokens the result costs inline. */
  readonly tokens: number;
  /** Tokens its pointer would cost. */
  readonly pointerTokens: number;
  /** Overrides `perResult` for this result. */
  readonly perResult?: number;
  /** Over 64 KiB: never inline, whatever its tokens. */
  readonly oversize?: boolean;
  /** Answers of discovery and of reads: stay inline whatever their size. */
  readonly exempt?: boolean;
}

/** Both limits in tokens. */
export interface PlacementLimits {
  readonly perResult: number;
  readonly perStep: number;
}

/** A decision with the rule that made it. */
export interface PlacementDecision {
  readonly placement: Placement;
  readonly rule: PlacementRule;
}

/** What a result may weigh and still stand inline, in bytes. */
export const INLINE_BYTES = 64 * 1024;

/**
 * Decides for the results of one step, given in call order; the answer is in the same order.
 * First every result over its own limit goes to a file. While what is left, pointers counted, exceeds the step's limit,
 * the largest inline result follows, equal ones in call order. What is no larger than its pointer never goes.
 */
export function decidePlacement(
  facts: readonly PlacementFacts[],
  limits: PlacementLimits,
): readonly PlacementDecision[] {
  const decisions = facts.map((fact) => decideAlone(fact, limits.perResult));
  let total = facts.reduce((sum, fact, i) => sum + tokensInContext(fact, decisions[i]), 0);
  for (const index of candidates(facts, decisions)) {
    if (total <= limits.perStep) break;
    const fact = facts[index];
    if (!fact) continue;
    total -= fact.tokens - fact.pointerTokens;
    decisions[index] = { placement: 'file', rule: 'per-step' };
  }
  return decisions;
}

/** Tokens that one result costs in context under a decision. */
export function tokensInContext(fact: PlacementFacts, decision: PlacementDecision | undefined): number {
  return decision?.placement === 'file' ? fact.pointerTokens : fact.tokens;
}

function decideAlone(fact: PlacementFacts, perResult: number): PlacementDecision {
  if (fact.exempt) return { placement: 'inline', rule: 'exempt' };
  if (fact.oversize) return { placement: 'file', rule: 'per-result' };
  if (fact.tokens > (fact.perResult ?? perResult) && fact.tokens > fact.pointerTokens) {
    return { placement: 'file', rule: 'per-result' };
  }
  return { placement: 'inline', rule: 'fits' };
}

function candidates(facts: readonly PlacementFacts[], decisions: readonly PlacementDecision[]): number[] {
  return facts
    .map((fact, index) => ({ fact, index }))
    .filter(({ fact, index }) => decisions[index]?.rule === 'fits' && fact.tokens > fact.pointerTokens)
    .sort((a, b) => b.fact.tokens - a.fact.tokens || a.index - b.index)
    .map(({ index }) => index);
}
