// What stands in the context for a result without text: images, links, resources. Its file is a list of them, since each is
// saved under a path of its own and a pointer has room for a few.
import { countTokensSync, warmUpMeasure } from '../measure.ts';
import type { BlockFacts } from '../../shared/facts.ts';
import { blockLines, POINTER_TOKENS, toolName } from './pointer.ts';

const NUMBER = new Intl.NumberFormat('en-US');

/** What such a pointer tells of. */
export interface BlocksPointerInput {
  /** Where the list can be read. */
  readonly path: string;
  readonly tool: string;
  readonly isError: boolean;
  /** At least one. */
  readonly blocks: readonly BlockFacts[];
}

/** The list of a result's blocks as JSON, one block a line. */
export function blockList(blocks: readonly BlockFacts[]): Uint8Array {
  return Buffer.from(`[\n${blocks.map((block) => JSON.stringify(block)).join(',\n')}\n]\n`);
}

/** Builds the pointer, of at most 300 tokens: how many blocks of which kinds, their bytes, and as many paths as fit. */
export async function buildBlocksPointer(
  input: BlocksPointerInput,
): Promise<{ readonly text: string; readonly tokens: number }> {
  await warmUpMeasure();
  let shown = Math.min(input.blocks.length, 20);
  let text = render(input, shown);
  for (; shown > 0 && countTokensSync(text) > POINTER_TOKENS; shown -= 1) text = render(input, shown - 1);
  return { text, tokens: countTokensSync(text) };
}

/** Such as `300 content blocks (298 image, 2 audio), 1,234,567 bytes in all`. */
export function describeBlocks(blocks: readonly BlockFacts[]): string {
  const kinds = Object.entries(Object.groupBy(blocks, ({ kind }) => kind));
  const counts = kinds.map(([kind, those]) => `${NUMBER.format(those.length)} ${kind}`).join(', ');
  const bytes = blocks.reduce((sum, block) => sum + block.bytes, 0);
  const noun = blocks.length === 1 ? 'content block' : 'content blocks';
  return `${NUMBER.format(blocks.length)} ${noun} (${counts}), ${NUMBER.format(bytes)} bytes in all`;
}

function render({ path, tool, isError, blocks }: BlocksPointerInput, shown: number): string {
  return [
    `[Large ${isError ? 'error' : 'result'} of ${toolName(tool)}, without text: saved as files]`,
    `holds: ${describeBlocks(blocks)}`,
    `path: ${path}`,
    'type: application/json, the list of the blocks with the path of each',
    'inspect: query_json, read_file (ranges) of server sandbox on the list; read_file on a block.',
    ...blockLines(blocks, shown),
  ].join('\n');
}
