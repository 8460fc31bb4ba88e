// Finds out what a text is: JSON (or where it stops being that), JSON lines, CSV, or plain lines.
import { shapeOfCsv, sniffCsv } from './csv.ts';
import { OutlineListener } from './json-outline.ts';
import { scanJson, skipBlanks, type JsonListener, type JsonScan } from './json-scan.ts';
import type { GivenType } from './media-type.ts';
import type { Shape } from '../../shared/facts.ts';

const OUTLINE_CHARACTERS = 400;
const NEWLINE = 0x0a;
const SILENT: JsonListener = { open() {}, close() {}, key() {}, scalar() {} };

/** A text, or its beginning. */
export interface ShapeInput {
  /** Valid UTF-8. */
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
  readonly given: GivenType | null;
}

/** The shape of a text; `partial` where only its beginning was seen. */
export function shapeOfText(input: ShapeInput): Shape {
  const { bytes, isWhole, given } = input;
  if (bytes.length === 0) return { kind: 'empty' };
  if (given?.isJson || looksLikeJson(bytes)) return shapeOfJson(bytes, isWhole);
  const separator = given?.isCsv ? givenSeparator(given, bytes, isWhole) : sniffCsv(bytes, isWhole);
  if (separator !== null) return { kind: 'csv', ...shapeOfCsv(bytes, separator, isWhole), ...partialUnless(isWhole) };
  return { ...linesOf(bytes), ...partialUnless(isWhole) };
}

/**
 * Whether a text begins as an object or array does: `{` and a quotation mark or `}`; `[` and a value that is followed by a
 * comma or `]`. `[INFO] started` and `{{name}}` do not.
 */
function looksLikeJson(bytes: Uint8Array): boolean {
  const start = skipBlanks(bytes, afterByteOrderMark(bytes));
  const head = new TextDecoder().decode(bytes.subarray(start, start + 400));
  if (head.startsWith('{')) return /^\{\s*["}]/.test(head) || /^\{\s*$/.test(head);
  return /^\[\s*(["{[\]]|$|(-?\d[\d.eE+-]*|true|false|null)\s*[,\]])/.test(head);
}

function shapeOfJson(bytes: Uint8Array, isWhole: boolean): Shape {
  const start = afterByteOrderMark(bytes);
  const listener = new OutlineListener(bytes);
  const scan = scanJson(bytes, start, listener);
  if (isBroken(scan)) {
    if (scan.isCut && !isWhole) return { kind: 'json', outline: listener.outline(OUTLINE_CHARACTERS), partial: true };
    return broken(bytes, scan.offset, scan.problem);
  }
  const next = skipBlanks(bytes, scan.end);
  const outline = listener.outline(OUTLINE_CHARACTERS);
  if (next >= bytes.length) return { kind: 'json', outline, ...partialUnless(isWhole) };
  if (!hasNewline(bytes, scan.end, next) || hasNewline(bytes, start, scan.end)) {
    return broken(bytes, next, 'more text after the end of the value');
  }
  return shapeOfLines(bytes, next, { outline, isWhole });
}

function shapeOfLines(
  bytes: Uint8Array,
  from: number,
  { outline, isWhole }: { readonly outline: string; readonly isWhole: boolean },
): Shape {
  let rows = 1;
  for (let at = from; at < bytes.length; rows++) {
    const scan = scanJson(bytes, at, SILENT);
    if (isBroken(scan)) {
      if (scan.isCut && !isWhole) break;
      return broken(bytes, scan.offset, `${scan.problem} (JSON lines)`);
    }
    at = skipBlanks(bytes, scan.end);
    if (at < bytes.length && !hasNewline(bytes, scan.end, at)) {
      return broken(bytes, at, 'more text after the end of the value (JSON lines)');
    }
  }
  return { kind: 'json-lines', rows, outline, ...partialUnless(isWhole) };
}

function isBroken(scan: JsonScan): scan is Extract<JsonScan, { problem: string }> {
  return 'problem' in scan;
}

function broken(bytes: Uint8Array, offset: number, problem: string): Shape {
  return { kind: 'invalid-json', offset, line: countNewlines(bytes, 0, offset) + 1, problem };
}

function givenSeparator(given: GivenType, bytes: Uint8Array, isWhole: boolean): number {
  return sniffCsv(bytes, isWhole) ?? (given.mediaType === 'text/csv' ? 0x2c : 0x09);
}

/** Lines, and the longest in characters (code points), its line break not counted. */
function linesOf(bytes: Uint8Array): { kind: 'text'; lines: number; longestLine: number } {
  let lines = 0;
  let longestLine = 0;
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    if (byte === NEWLINE) {
      const line = bytes[at - 1] === 0x0d ? length - 1 : length;
      if (line > longestLine) longestLine = line;
      lines++;
      length = 0;
    } else if ((byte & 0xc0) !== 0x80) length++;
  }
  if (bytes.at(-1) !== NEWLINE) lines++;
  return { kind: 'text', lines, longestLine: Math.max(longestLine, length) };
}

function hasNewline(bytes: Uint8Array, from: number, to: number): boolean {
  const at = bytes.indexOf(NEWLINE, from);
  return at >= 0 && at < to;
}

function countNewlines(bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE, from); at >= 0 && at < to; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

function afterByteOrderMark(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

function partialUnless(isWhole: boolean): { readonly partial?: true } {
  return isWhole ? {} : { partial: true };
}
