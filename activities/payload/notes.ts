// Short lines that name a result's further blocks, for the text that stands inline.
import type { BlockFacts } from '../../shared/facts.ts';

const MOST_LINES = 20;
const LONGEST_LABEL = 120;

const LEADS: Readonly<Record<Exclude<BlockFacts['kind'], 'image'>, (label: string) => string>> = {
  audio: () => '',
  resource: (label) => `resource${label}: `,
  'resource-link': (label) => `link to a resource${label}: `,
  structured: () => 'structured content beside the text: ',
  text: (label) => `further block${label}: `,
};

/**
 * One line a block, in order: what it is, how large, where it is saved, and whether it is shown below as an image.
 * The first 20 by name, then `and N more`; the empty string for no blocks. No trailing newline.
 */
export function blockNotes(blocks: readonly BlockFacts[], options: { readonly imagesShown: boolean }): string {
  const lines = blocks.slice(0, MOST_LINES).map((block) => noteOf(block, options.imagesShown));
  const more = blocks.length - lines.length;
  if (more > 0) lines.push(`[and ${more} more]`);
  return lines.join('\n');
}

function noteOf(block: BlockFacts, imagesShown: boolean): string {
  const saved = `${block.mediaType}, ${grouped(block.bytes)} bytes, saved as ${block.path}`;
  if (block.kind === 'image') return `[${saved}${imagesShown ? '; shown below' : ''}]`;
  return `[${LEADS[block.kind](labelOf(block))}${saved}]`;
}

function labelOf(block: BlockFacts): string {
  if (block.label === undefined || block.label === '') return '';
  if (block.label.length <= LONGEST_LABEL) return ` ${block.label}`;
  return ` ${block.label.slice(0, LONGEST_LABEL).toWellFormed()}…`;
}

function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}
