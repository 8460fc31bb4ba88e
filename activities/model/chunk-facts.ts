// What the SDK's parts do not tell of a chat stream, read from its raw chunks: which call ids really came, and whether the
// provider sends several answers (choices) in one.
import { isObject } from '../../shared/json.ts';

/** What the chunks of a stream have told so far. */
export interface ChunkFacts {
  /** The SDK replaces ids that are empty or used twice by random ones; those must not pass for the provider's. */
  readonly sentIds: Set<string>;
  /** Whether the latest chunk belongs to a choice other than the first: the SDK takes it for a part of the same answer. */
  isOther: boolean;
  /** Whether another choice asked for tools: the SDK has mixed its fragments with those of the first. */
  hasOtherCalls: boolean;
}

/** Of a stream without chunks. */
export function newChunkFacts(): ChunkFacts {
  return { sentIds: new Set(), isOther: false, hasOtherCalls: false };
}

/** Takes one chunk in, before the parts that the SDK makes of it. */
export function readChunk(chunk: unknown, facts: ChunkFacts): void {
  const choices: readonly unknown[] = isObject(chunk) && Array.isArray(chunk['choices']) ? chunk['choices'] : [];
  // The SDK reads the first choice of every chunk and no other.
  const first = choices[0];
  facts.isOther = isObject(first) && typeof first['index'] === 'number' && first['index'] > 0;
  const delta = isObject(first) ? first['delta'] : undefined;
  const calls: readonly unknown[] = isObject(delta) && Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : [];
  if (facts.isOther) {
    if (calls.length > 0) facts.hasOtherCalls = true;
    return;
  }
  for (const call of calls) if (isObject(call) && typeof call['id'] === 'string') facts.sentIds.add(call['id']);
}
