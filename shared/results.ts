// Results that need no Activity: calls that were never made, and calls whose Activity ended without an answer.
import type { CommittedResult, ProposedCall } from './activities.ts';
import type { DecidedCall } from './approvals.ts';
import type { ResultFacts } from './facts.ts';
import type { ToolOutcome } from './messages.ts';
import { INLINE_BYTES, type PlacementDecision, type PlacementFacts } from './placement.ts';

/** A result in words of our own. Its tokens are an estimate from above: Workflow code does not count. */
export interface SpokenResult {
  readonly outcome: ToolOutcome;
  readonly text: string;
  readonly tokens: number;
}

/** A call with the one result it ended in: facts of an Activity, or words. */
export interface SettledCall {
  readonly call: ProposedCall;
  readonly result: { readonly facts: ResultFacts } | { readonly spoken: SpokenResult };
  /** Who decided on it. */
  readonly decided?: DecidedCall;
  /** Of the call that made the result. @default 0 */
  readonly generation?: number;
  /** Stands before the result in context. */
  readonly note?: string;
}

/** How a call ended. */
export function outcomeOf({ result }: SettledCall): ToolOutcome {
  return 'spoken' in result ? result.spoken.outcome : result.facts.outcome;
}

/** Words as a result; at most one token a character is assumed for every two. */
export function spoken(outcome: ToolOutcome, text: string, tokens = Math.ceil(text.length / 2)): SpokenResult {
  return { outcome, text, tokens };
}

/** What placement needs to know of a settled call. */
export function placementFactsOf(
  settled: SettledCall,
  options: { readonly enabled: boolean; readonly perResult: number },
): PlacementFacts {
  const noteTokens = tokensOfNote(settled);
  if ('spoken' in settled.result) {
    const tokens = settled.result.spoken.tokens + noteTokens;
    return { tokens, pointerTokens: tokens, exempt: true };
  }
  const { facts } = settled.result;
  const oversize = facts.file !== undefined && facts.bytes > INLINE_BYTES;
  const exempt = facts.exempt === true || (!options.enabled && !oversize);
  const tokens = (facts.excerptTokens ?? facts.tokens) + noteTokens;
  return {
    tokens,
    pointerTokens: facts.file === undefined ? tokens : facts.pointerTokens + noteTokens,
    perResult: options.perResult,
    ...(oversize && { oversize }),
    ...(exempt && { exempt }),
  };
}

/** The result as the step commits it. */
export function commitResult(settled: SettledCall, decision: PlacementDecision): CommittedResult {
  const { call, result, decided, generation, note } = settled;
  const noteTokens = tokensOfNote(settled);
  const base = {
    callKey: call.callKey,
    callId: call.callId,
    name: call.name,
    server: call.server,
    tool: call.tool,
    ...decision,
    ...(decided && { decided }),
    ...(generation !== undefined && generation > 0 && { generation }),
    ...(note !== undefined && { note }),
  };
  if ('spoken' in result) {
    const { outcome, text } = result.spoken;
    const tokens = result.spoken.tokens + noteTokens;
    return { ...base, outcome, context: { text }, tokens, images: [], blocks: [], written: [] };
  }
  const { facts } = result;
  const { outcome, blocks, blocksRef, written = [] } = facts;
  const common = { ...base, outcome, blocks, ...(blocksRef && { blocksRef }), written };
  if (decision.placement === 'file' && facts.file) {
    const { file, pointer = file.path, pointerTokens, tokens: inlineTokens } = facts;
    const tokens = pointerTokens + noteTokens;
    return { ...common, context: { text: pointer }, tokens, inlineTokens, images: [], file };
  }
  const tokens = (facts.excerptTokens ?? facts.tokens) + noteTokens;
  return { ...common, context: inlineContext(facts), tokens, ...imagesOf(facts) };
}

/** Estimated from above, like words. */
function tokensOfNote({ note }: SettledCall): number {
  return note === undefined ? 0 : spoken('ok', note).tokens;
}

function inlineContext(facts: ResultFacts): CommittedResult['context'] {
  if (facts.inlineBlob) return { blob: facts.inlineBlob };
  if (facts.file) return { blob: { sha256: facts.file.sha256, bytes: facts.file.bytes } };
  return { text: facts.inlineText ?? '' };
}

/** Of blocks that stand in the store only their numbers are known here; the commit looks them up. */
function imagesOf(facts: ResultFacts): Pick<CommittedResult, 'images' | 'imageBlocks'> {
  if (facts.blocksRef) return { images: [], imageBlocks: facts.imageBlocks };
  const images = facts.blocks
    .filter((block) => facts.imageBlocks.includes(block.block))
    .map(({ path, sha256, bytes, mediaType }) => ({ path, sha256, bytes, mediaType }));
  return { images };
}
