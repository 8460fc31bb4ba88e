// JSON of values in which placeholders stand for large values: the bytes of those are put in where their placeholder is,
// so that a large string is never built.
import type { LargeValue } from '../../shared/tool-server.ts';

/** Large values by their placeholder. */
export type LargeValues = ReadonlyMap<string, LargeValue>;

/** No large values. */
export const NOTHING_LARGE: LargeValues = new Map();

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The control characters that JSON can name by a letter. */
const LETTERS: ReadonlyMap<number, number> = new Map(
  ['\bb', '\ff', '\nn', '\rr', '\tt'].map((pair) => [pair.charCodeAt(0), pair.charCodeAt(1)]),
);

/** The JSON of a value, as `JSON.stringify` writes it, with large values in their place. */
export function jsonBytes(value: unknown, large: LargeValues = NOTHING_LARGE): Buffer {
  const text = JSON.stringify(value);
  const pieces: Buffer[] = [];
  let end = 0;
  for (const { start, token, found } of placesOf(text, large)) {
    pieces.push(Buffer.from(text.slice(end, start)), found.kind === 'json' ? viewOf(found.bytes) : quoted(found.bytes));
    end = start + token.length;
  }
  if (pieces.length === 0) return Buffer.from(text);
  if (end < text.length) pieces.push(Buffer.from(text.slice(end)));
  const filled = pieces.filter((piece) => piece.length > 0);
  const [only] = filled;
  return filled.length === 1 && only !== undefined ? only : Buffer.concat(filled);
}

/** The same memory as a Buffer. */
export function viewOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

interface Place {
  readonly start: number;
  /** As it stands in JSON. */
  readonly token: string;
  readonly found: LargeValue;
}

function placesOf(text: string, large: LargeValues): readonly Place[] {
  const places: Place[] = [];
  for (const [placeholder, found] of large) {
    const token = JSON.stringify(placeholder);
    for (let start = text.indexOf(token); start !== -1; start = text.indexOf(token, start + token.length)) {
      places.push({ start, token, found });
    }
  }
  return places.sort((one, other) => one.start - other.start);
}

/** UTF-8 as a JSON string: counted first, so that it is written once. */
function quoted(bytes: Uint8Array): Buffer {
  let length = 2;
  for (const byte of bytes) length += escapedLength(byte);
  const target = Buffer.allocUnsafe(length);
  let at = 0;
  target[at++] = QUOTE;
  for (const byte of bytes) {
    const size = escapedLength(byte);
    if (size === 1) {
      target[at++] = byte;
      continue;
    }
    target[at++] = BACKSLASH;
    if (size === 2) target[at++] = LETTERS.get(byte) ?? byte;
    else at += target.write(`u${byte.toString(16).padStart(4, '0')}`, at);
  }
  target[at] = QUOTE;
  return target;
}

function escapedLength(byte: number): 1 | 2 | 6 {
  if (byte >= 0x20) return byte === QUOTE || byte === BACKSLASH ? 2 : 1;
  return LETTERS.has(byte) ? 2 : 6;
}
