// Keeps a step's commit within one payload: above Temporal's limit its Workflow Task would fail for ever. Only the list of
// further content blocks can grow so; it gives way, in words, largest first.
import type { CommittedResult } from '../shared/activities.ts';
import { payloadBytes, PAYLOAD_LIMIT_BYTES } from '../shared/payload-limit.ts';
import { spoken } from '../shared/results.ts';

/** Room in the same payload for user messages and the rest of the Activity's input. */
const COMMIT_LIMIT_BYTES = PAYLOAD_LIMIT_BYTES - 200_000;

/** The results, their block lists left out where all together would be too large; equal sizes give way in call order. */
export function boundCommit(results: readonly CommittedResult[]): readonly CommittedResult[] {
  const bounded = [...results];
  const sizes = results.map(payloadBytes);
  let total = sizes.reduce((sum, size) => sum + size, 0);
  const largestFirst = sizes
    .map((size, index) => ({ size, index }))
    .sort((a, b) => b.size - a.size || a.index - b.index);
  for (const { size, index } of largestFirst) {
    if (total <= COMMIT_LIMIT_BYTES) break;
    const result = results[index];
    if (!result || result.blocks.length === 0) continue;
    const smaller = withoutBlocks(result, size);
    bounded[index] = smaller;
    total -= size - payloadBytes(smaller);
  }
  return bounded;
}

/** The outcome stays: what the call did, it did. */
function withoutBlocks(result: CommittedResult, sizeBytes: number): CommittedResult {
  const { server, tool, blocks, file } = result;
  const what = `Tool \`${tool}\` of server \`${server}\` answered with ${blocks.length} further content blocks`;
  const why = `their list (${sizeBytes} bytes) is more than one step can record`;
  const words = `[${what}; ${why}, and they are not available. Ask for fewer items, or make fewer such calls in one step.]`;
  const pointer = file && 'text' in result.context ? `${result.context.text}\n` : '';
  const { text, tokens } = spoken(result.outcome, `${pointer}${words}`);
  return { ...result, context: { text }, tokens, images: [], blocks: [] };
}
