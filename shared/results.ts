// Results that need no Activity: calls that were never made, and calls whose Activity ended without an answer.
import type { CommittedResult, ProposedCall } from './activities.ts';
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
  if ('spoken' in settled.result) {
    const { tokens } = settled.result.spoken;
    return { tokens, pointerTokens: tokens, exempt: true };
  }
  const { facts } = settled.result;
  const oversize = facts.file !== undefined && facts.bytes > INLINE_BYTES;
  const exempt = facts.exempt === true || (!options.enabled && !oversize);
  const tokens = facts.excerptTokens ?? facts.tokens;
  return {
    tokens,
    pointerTokens: facts.file === undefined ? tokens : facts.pointerTokens,
    perResult: options.perResult,
    ...(oversize && { oversize }),
    ...(exempt && { exempt }),
  };
}

/** The result as the step commits it. */
export function commitResult(settled: SettledCall, decision: PlacementDecision): CommittedResult {
  const { call, result } = settled;
  const base = {
    callKey: call.callKey,
    callId: call.callId,
    name: call.name,
    server: call.server,
    tool: call.tool,
    ...decision,
  };
  if ('spoken' in result) {
    const { outcome, text, tokens } = result.spoken;
    return { ...base, outcome, context: { text }, tokens, images: [], blocks: [], written: [] };
  }
  const { facts } = result;
  const { outcome, blocks, blocksRef, written = [] } = facts;
  const common = { ...base, outcome, blocks, ...(blocksRef && { blocksRef }), written };
  if (decision.placement === 'file' && facts.file) {
    const { file, pointer = file.path, pointerTokens, tokens: inlineTokens } = facts;
    return { ...common, context: { text: pointer }, tokens: pointerTokens, inlineTokens, images: [], file };
  }
  return { ...common, context: inlineContext(facts), tokens: facts.excerptTokens ?? facts.tokens, ...imagesOf(facts) };
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
