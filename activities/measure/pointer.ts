// The text that stands in the context for a result in a file. It is plain text for a model; nothing ever parses it, so a tool
// whose output looks like a pointer gains nothing by it.
import { countTokensSync, warmUpMeasure } from '../measure.ts';
import { countCharacters, escapeForDisplay, firstCharacters, lastCharacters } from './preview.ts';
import type { BlockFacts, Measurement, Shape } from '../../shared/facts.ts';

/** What a pointer tells of. */
export interface PointerInput {
  /** Where the payload can be read. */
  readonly path: string;
  readonly tool: string;
  readonly isError: boolean;
  readonly measurement: Measurement;
  /** Further content blocks, each in a file of its own. */
  readonly blocks: readonly BlockFacts[];
  readonly limits?: { /** @default 300 */ readonly tokens?: number };
}

/** @default of a pointer's tokens, whatever the payload */
export const POINTER_TOKENS = 300;

/** Of each end; code units at most, too. */
const ERROR_END_CHARACTERS = 2_000;
/** A name in any script: a character of some costs three tokens. */
const NAME_CHARACTERS = 32;
const NUMBER = new Intl.NumberFormat('en-US');

/** How much of what may give way is shown. */
interface Extent {
  /** Characters of each end of the preview. */
  readonly preview: number;
  readonly shape: number;
  readonly blocks: number;
}

/**
 * Builds the pointer, of at most `limits.tokens`. If it is too long the preview gives way first, then the shape, then the
 * names of further blocks; path, size and type always stay.
 */
export async function buildPointer(input: PointerInput): Promise<{ readonly text: string; readonly tokens: number }> {
  await warmUpMeasure();
  const limit = input.limits?.tokens ?? POINTER_TOKENS;
  const full: Extent = {
    preview: Math.max(countCharacters(input.measurement.preview.head), countCharacters(input.measurement.preview.tail)),
    shape: describeShape(input.measurement.shape).length,
    blocks: input.blocks.length,
  };
  const fits = (extent: Extent): boolean => countTokensSync(render(input, extent)) <= limit;
  const extent = fits(full) ? full : shrink(full, fits);
  const text = render(input, extent);
  return { text, tokens: countTokensSync(text) };
}

/**
 * The text of a large error: both ends, because the cause is as often in the last line as in the first, and between them a
 * line that says what is left out and where the whole is. At most about 4,200 characters.
 */
export function buildErrorHead(text: string, path: string, tokens: number): string {
  const head = firstCharacters(text, ERROR_END_CHARACTERS, ERROR_END_CHARACTERS);
  const tail = lastCharacters(text.slice(head.length), ERROR_END_CHARACTERS, ERROR_END_CHARACTERS);
  const left = text.length - head.length - tail.length;
  if (left <= 0) return text.toWellFormed();
  const whole = `${NUMBER.format(tokens)} tokens`;
  const note = `[${NUMBER.format(left)} characters left out here. The whole error (${whole}) is in ${path}; see it with search_file or read_file of server sandbox.]`;
  return `${head}\n${note}\n${tail}`;
}

/** Takes away what gives way first until the rest fits; each amount is the largest that does. */
function shrink(full: Extent, fits: (extent: Extent) => boolean): Extent {
  const none: Extent = { preview: 0, shape: 0, blocks: 0 };
  const blocks = largest(full.blocks, (amount) => fits({ ...none, blocks: amount }));
  const shape = largest(full.shape, (amount) => fits({ ...none, blocks, shape: amount }));
  const preview = largest(full.preview, (amount) => fits({ blocks, shape, preview: amount }));
  return { blocks, shape, preview };
}

/** The largest amount up to `most` that fits, by bisection; 0 if none does. */
function largest(most: number, fits: (amount: number) => boolean): number {
  if (fits(most)) return most;
  let low = 0;
  let high = most;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function render(input: PointerInput, extent: Extent): string {
  const { path, isError, measurement } = input;
  const { bytes, tokens, tokensAreExact, mediaType, shape } = measurement;
  const about = tokensAreExact ? '' : 'about ';
  const shapeText = describeShape(shape);
  const shownShape = shapeText.length > extent.shape ? cutShape(shapeText, extent.shape) : shapeText;
  return [
    `[Large ${isError ? 'error' : 'result'} of ${toolName(input.tool)}, saved as a file]`,
    `path: ${path}`,
    `size: ${NUMBER.format(bytes)} bytes, ${about}${NUMBER.format(tokens)} tokens`,
    `type: ${mediaType.slice(0, 100)}`,
    ...(shownShape === '' ? [] : [`shape: ${shownShape}`]),
    `inspect: ${howToInspect(shape)}`,
    ...blockLines(input.blocks, extent.blocks),
    ...previewLines(measurement, extent.preview),
  ].join('\n');
}

/** The tools of the built-in server that serve a shape. */
function howToInspect(shape: Shape): string {
  const { kind } = shape;
  if (kind === 'binary') return 'binary data; read_file of server sandbox gives ranges of its bytes.';
  const first =
    kind === 'json'
      ? 'infer_schema, query_json (count, filter, sum), '
      : kind === 'json-lines' || kind === 'csv'
        ? 'infer_schema, query_json (rows as an array), '
        : '';
  return `${first}search_file, read_file (ranges) of server sandbox. Get only what you need.`;
}

function describeShape(shape: Shape): string {
  switch (shape.kind) {
    case 'empty':
      return 'empty';
    case 'json':
      return `JSON, ${shape.outline}${shape.partial ? ' (seen in its beginning only)' : ''}`;
    case 'invalid-json':
      return `not valid JSON: breaks at byte ${NUMBER.format(shape.offset)}, line ${NUMBER.format(shape.line)}: ${shape.problem}`;
    case 'json-lines':
      return `JSON lines, ${counted(shape.rows, 'row', shape.partial)} of ${shape.outline}`;
    case 'csv':
      return `table, ${counted(shape.rows, 'row', shape.partial)}, ${counted(shape.columns, 'column')}: ${headerText(shape)}`;
    case 'text':
      return `text, ${counted(shape.lines, 'line', shape.partial)}, the longest ${counted(shape.longestLine, 'character', shape.partial)}`;
    case 'binary':
      return shape.signature ? `binary, ${shape.signature}` : 'binary';
  }
  return shape satisfies never;
}

function headerText(shape: { readonly header: readonly string[]; readonly columns: number }): string {
  return shape.header.length < shape.columns ? [...shape.header, '…'].join(', ') : shape.header.join(', ');
}

function counted(count: number, unit: string, partial?: true): string {
  return `${partial ? 'at least ' : ''}${NUMBER.format(count)} ${unit}${count === 1 ? '' : 's'}`;
}

function cutShape(text: string, length: number): string {
  return length < 8 ? '' : `${text.slice(0, length - 1).toWellFormed()}…`;
}

/** A line for each of the first `shown` blocks, then how many more there are. */
export function blockLines(blocks: readonly BlockFacts[], shown: number): readonly string[] {
  if (blocks.length === 0) return [];
  const lines = blocks.slice(0, shown).map(describeBlock);
  const more = blocks.length - lines.length;
  if (more > 0) lines.push(lines.length === 0 ? `also saved: ${more} further files` : `and ${more} more`);
  return lines;
}

function describeBlock(block: BlockFacts): string {
  const label = block.label ? ` "${escapeForDisplay(firstCharacters(block.label, 60)).replaceAll('"', "'")}"` : '';
  return `also saved: ${block.path} (${block.kind}${label}, ${block.mediaType.slice(0, 100)}, ${NUMBER.format(block.bytes)} bytes)`;
}

function previewLines({ preview }: Measurement, characters: number): readonly string[] {
  if (characters === 0 || preview.head === '') return [];
  const head = firstCharacters(preview.head, characters);
  const tail = lastCharacters(preview.tail, characters);
  const isWhole = preview.tail === '' && head.length === preview.head.length;
  if (isWhole) return ['preview (untrusted data):', head];
  return ['begins (untrusted data):', head, ...(tail === '' ? [] : ['ends (untrusted data):', tail])];
}

/** A tool by the name its server gives it, in quotes where it could pass for words of ours. */
export function toolName(tool: string): string {
  const name = escapeForDisplay(firstCharacters(tool, 64, 64));
  if (/^[\x21-\x7e]{1,64}$/.test(name)) return name;
  const short = escapeForDisplay(firstCharacters(tool, NAME_CHARACTERS, NAME_CHARACTERS)).replaceAll('"', "'");
  return short === '' ? 'a tool' : `the tool "${short}"`;
}
