// `read_file`: shows a file by bytes or by lines, never more than the limit, and says exactly where to go on.
// The first line of an answer is the reader's; everything below it is the file's own bytes, unchanged.
import { isUtf8 } from 'node:buffer';
import type { z } from 'zod';
import type { ManifestFile } from '../../shared/manifest.ts';
import type { readFileArguments } from './arguments.ts';
import {
  findFile,
  isBinary,
  readRange,
  SandboxFault,
  streamFile,
  type SandboxAnswer,
  type SandboxContext,
} from './files.ts';
import { bytesWorthReading, prefixThatFits } from './fit.ts';
import { characterStart, count, decode, plural } from './text.ts';

// What the first line may cost, in tokens.
const HEADER_TOKENS = 90;
const HEX_BYTES = 64;
const LINE_BREAK = 10;

type Arguments = z.output<typeof readFileArguments>;

interface Slice {
  readonly start: number;
  readonly end: number;
}

/** Reads by bytes, or by lines where `start_line` is given. */
export async function readFile(args: Arguments, context: SandboxContext): Promise<SandboxAnswer> {
  const file = await findFile(context, args.path);
  if (file.bytes === 0) return { text: '[The file is empty: 0 bytes.]', isError: false };
  if (await isBinary(context, file)) return describeBinary(context, file, offsetOf(args));
  return 'start_line' in args ? readLines(args, file, context) : readBytes(args, file, context);
}

function offsetOf(args: Arguments): number {
  return 'offset_bytes' in args ? args.offset_bytes : 0;
}

async function readBytes(
  args: Extract<Arguments, { offset_bytes: number }>,
  file: ManifestFile,
  context: SandboxContext,
): Promise<SandboxAnswer> {
  if (args.offset_bytes >= file.bytes) throw pastEnd(args.offset_bytes, file);
  const asked = Math.min(file.bytes, args.offset_bytes + (args.length_bytes ?? file.bytes));
  const shown = await fittingSlice(context, file, { start: args.offset_bytes, end: asked });
  const range = `bytes ${count(shown.start)} to ${count(shown.end - 1)} of ${count(file.bytes)}`;
  return answer(range, shown.end < file.bytes ? `go on with offset_bytes ${shown.end}` : 'this is the end', shown);
}

function answer(range: string, next: string, { bytes }: Shown): SandboxAnswer {
  const note = isUtf8(bytes) ? '' : '; what is not UTF-8 is shown as \uFFFD';
  return { text: `[${range}; ${next}${note}]\n${decode(bytes)}`, isError: false };
}

async function readLines(
  args: Extract<Arguments, { start_line: number }>,
  file: ManifestFile,
  context: SandboxContext,
): Promise<SandboxAnswer> {
  const found = await locateLines(context, file, args.start_line, args.line_count ?? Infinity);
  if (found.start === null) {
    throw new SandboxFault(
      `Line ${count(args.start_line)} is past the end: ${file.path} has ${plural(found.lines, 'line')}. Choose start_line from 1 to ${found.lines}.`,
    );
  }
  const slice = await fittingSlice(context, file, { start: found.start, end: found.end });
  const shown = atLineEnd(slice, found.end);
  const endsWithBreak = shown.bytes.at(-1) === LINE_BREAK;
  const last = args.start_line + breaksIn(shown.bytes) - (endsWithBreak ? 1 : 0);
  const range = `lines ${count(args.start_line)} to ${count(last)} of ${count(found.lines)}, bytes ${count(shown.start)} to ${count(shown.end - 1)} of ${count(file.bytes)}`;
  if (shown.end === file.bytes) return answer(range, 'this is the end', shown);
  if (endsWithBreak) return answer(range, `go on with start_line ${last + 1}`, shown);
  return answer(range, `line ${count(last)} goes on: offset_bytes ${shown.end}`, shown);
}

interface Shown extends Slice {
  readonly bytes: Uint8Array;
}

// The beginning of a slice that fits the limit; both ends fall between characters.
async function fittingSlice(context: SandboxContext, file: ManifestFile, slice: Slice): Promise<Shown> {
  const limit = Math.max(1, context.perResultTokens - HEADER_TOKENS);
  const start = Math.max(0, slice.start - 3);
  const stop = Math.min(slice.end, slice.start + bytesWorthReading(limit));
  // Three bytes more on each side: enough to find where a character begins and where it ends.
  const around = await readRange(context, file, start, Math.min(file.bytes, stop + 3));
  const from = characterStart(around, slice.start - start);
  const cut = characterStart(around, stop - start);
  const end = cut > from ? cut : nextCharacter(around, from);
  const bytes = around.subarray(from, stop === file.bytes ? around.length : end);
  const length = await prefixThatFits(bytes, limit);
  return { start: start + from, end: start + from + length, bytes: bytes.subarray(0, length) };
}

function nextCharacter(bytes: Uint8Array, from: number): number {
  let end = from + 1;
  while (end < bytes.length && characterStart(bytes, end) !== end) end += 1;
  return end;
}

// Cuts back to the last whole line, if there is one and the cut was the limit's.
function atLineEnd(slice: Shown, wanted: number): Shown {
  const length = slice.bytes.lastIndexOf(LINE_BREAK) + 1;
  if (slice.end >= wanted || length === 0) return slice;
  return { start: slice.start, end: slice.start + length, bytes: slice.bytes.subarray(0, length) };
}

interface Located {
  /** Null when the file has fewer lines. */
  readonly start: number | null;
  readonly end: number;
  readonly lines: number;
}

async function locateLines(
  context: SandboxContext,
  file: ManifestFile,
  first: number,
  wanted: number,
): Promise<Located> {
  let start: number | null = first === 1 ? 0 : null;
  let end = file.bytes;
  let breaks = 0;
  let at = 0;
  let endsWithBreak = false;
  for await (const chunk of streamFile(context, file)) {
    const part = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    for (let hit = part.indexOf(LINE_BREAK); hit >= 0; hit = part.indexOf(LINE_BREAK, hit + 1)) {
      breaks += 1;
      const after = at + hit + 1;
      if (breaks === first - 1 && after < file.bytes) start = after;
      if (breaks === first - 1 + wanted) end = after;
    }
    at += part.length;
    endsWithBreak = part.at(-1) === LINE_BREAK;
  }
  return { start, end, lines: breaks + (endsWithBreak ? 0 : 1) };
}

async function describeBinary(context: SandboxContext, file: ManifestFile, offset: number): Promise<SandboxAnswer> {
  if (offset >= file.bytes) throw pastEnd(offset, file);
  const head = await readRange(context, file, offset, Math.min(file.bytes, offset + HEX_BYTES));
  const hex = Buffer.from(head)
    .toString('hex')
    .replace(/(..)(?=.)/g, '$1 ');
  const text =
    `${file.path} is binary: ${file.mediaType}, ${plural(file.bytes, 'byte')}. It cannot be shown as text. ` +
    `The ${plural(head.length, 'byte')} from ${count(offset)}: ${hex}`;
  return { text, isError: false };
}

function pastEnd(offset: number, file: ManifestFile): SandboxFault {
  return new SandboxFault(
    `offset_bytes ${count(offset)} is past the end: ${file.path} has ${plural(file.bytes, 'byte')}. Choose from 0 to ${file.bytes - 1}.`,
  );
}

function breaksIn(bytes: Uint8Array): number {
  let breaks = 0;
  for (let at = bytes.indexOf(LINE_BREAK); at >= 0; at = bytes.indexOf(LINE_BREAK, at + 1)) breaks += 1;
  return breaks;
}
