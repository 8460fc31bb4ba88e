// Goes along the members of one object or the items of one array in JSON bytes, and over whole values, without building them.
// No recursion: how deep a value is nested does not matter.
import { scanJson, skipBlanks, type JsonListener } from '../measure/json-scan.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const CLOSE = { '{': 0x7d, '[': 0x5d } as const;
/** A longer key is none that anybody asks for. */
const LONGEST_KEY_BYTES = 200;

/** The bytes are no JSON. */
export class NotJson extends Error {}

/** A part of JSON bytes, `to` exclusive. */
export interface JsonSpan {
  readonly from: number;
  readonly to: number;
}

/** The first character of the value that begins at `at`. */
export function kindAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(bytes[at] ?? 0);
}

/**
 * Goes along an object that begins at `at`. `visit` gets each member's name (empty for one above 200 bytes) and where its
 * value begins, and gives where that ends. Gives where the object ends; raises `NotJson`.
 */
export function walkObject(bytes: Buffer, at: number, visit: (name: string, at: number) => number): number {
  return walk(bytes, at, '{', (from) => {
    if (bytes[from] !== QUOTE) throw new NotJson();
    const keyEnd = skipValue(bytes, from);
    const colon = skipBlanks(bytes, keyEnd);
    if (bytes[colon] !== COLON) throw new NotJson();
    return visit(nameOf(bytes, { from, to: keyEnd }), skipBlanks(bytes, colon + 1));
  });
}

/** Goes along an array, as `walkObject` does along an object. */
export function walkArray(bytes: Buffer, at: number, visit: (at: number) => number): number {
  return walk(bytes, at, '[', visit);
}

/** Where the value ends that begins at `at`; raises `NotJson`. */
export function skipValue(bytes: Buffer, at: number): number {
  return endOf(bytes, at, SILENT);
}

/** The same, and how deep arrays and objects are nested in it. */
export function skipAndMeasure(bytes: Buffer, at: number): { readonly end: number; readonly depth: number } {
  let open = 0;
  let depth = 0;
  const end = endOf(bytes, at, {
    ...SILENT,
    open: () => {
      open += 1;
      if (open > depth) depth = open;
    },
    close: () => {
      open -= 1;
    },
  });
  return { end, depth };
}

const SILENT: JsonListener = { open: () => {}, close: () => {}, key: () => {}, scalar: () => {} };

function endOf(bytes: Buffer, at: number, listener: JsonListener): number {
  const scan = scanJson(bytes, at, listener);
  if ('problem' in scan) throw new NotJson();
  return scan.end;
}

function walk(bytes: Buffer, at: number, open: keyof typeof CLOSE, item: (at: number) => number): number {
  if (kindAt(bytes, at) !== open) throw new NotJson();
  const close = CLOSE[open];
  let next = skipBlanks(bytes, at + 1);
  if (bytes[next] === close) return next + 1;
  for (;;) {
    next = skipBlanks(bytes, item(next));
    if (bytes[next] === close) return next + 1;
    if (bytes[next] !== COMMA) throw new NotJson();
    next = skipBlanks(bytes, next + 1);
  }
}

function nameOf(bytes: Buffer, { from, to }: JsonSpan): string {
  if (to - from > LONGEST_KEY_BYTES) return '';
  // The scan has found it to be a string.
  return JSON.parse(bytes.toString('utf8', from, to)) as string;
}
