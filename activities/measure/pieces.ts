// Cuts text into the pieces of o200k's pattern, on UTF-8 bytes, in one pass and without backtracking: the regular expression
// itself keeps a backtracking stack that overflows on endless pieces. Its alternatives are followed one by one, in order.
// Source of the pattern: `pat_str` in js-tiktoken/ranks/o200k_base; a property test compares the two.
import { CLASS, classOf, codePointAt, sequenceLength } from './code-points.ts';

const { opener, follower, letter, digit, space, newline } = CLASS;
const SLASH = 0x2f;
const APOSTROPHE = 0x27;

/** Where the piece that begins at `start` ends. `bytes` is valid UTF-8 up to `end`, and `start` is below `end`. */
export function pieceEnd(bytes: Uint8Array, start: number, end: number): number {
  const first = classAt(bytes, start);
  const second = start + sequenceLength(bytes[start] ?? 0);
  const isPrefix = (first & (letter | digit | newline)) === 0;
  const word =
    (isPrefix ? lowerWord(bytes, second, end) : 0) ||
    lowerWord(bytes, start, end) ||
    (isPrefix ? upperWord(bytes, second, end) : 0) ||
    upperWord(bytes, start, end);
  if (word > 0) return contraction(bytes, word, end);
  if (first & digit) return digits(bytes, start, end);
  const symbols =
    first & space ? (bytes[start] === 0x20 ? symbolRun(bytes, second, end) : 0) : symbolRun(bytes, start, end);
  return symbols > 0 ? symbols : spaces(bytes, start, end);
}

/** `[openers]*[followers]+`: the end, or 0. Followers that are openers too are given back by the first run as needed. */
function lowerWord(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let lastFollower = 0;
  while (at < end) {
    const bits = classAt(bytes, at);
    if ((bits & opener) === 0) {
      if (bits & follower) return run(bytes, at, end, follower);
      break;
    }
    at += sequenceLength(bytes[at] ?? 0);
    if (bits & follower) lastFollower = at;
  }
  return lastFollower;
}

/** `[openers]+[followers]*`: the end, or 0. */
function upperWord(bytes: Uint8Array, start: number, end: number): number {
  const openers = run(bytes, start, end, opener);
  return openers === start ? 0 : run(bytes, openers, end, follower);
}

/** `('s|'t|'re|'ve|'m|'ll|'d)?` in any case. */
function contraction(bytes: Uint8Array, at: number, end: number): number {
  if (bytes[at] !== APOSTROPHE || at + 1 >= end) return at;
  const one = String.fromCharCode((bytes[at + 1] ?? 0) | 0x20);
  if (isAsciiLetter(bytes[at + 1] ?? 0) && 'stmd'.includes(one)) return at + 2;
  if (at + 2 >= end || !isAsciiLetter(bytes[at + 1] ?? 0) || !isAsciiLetter(bytes[at + 2] ?? 0)) return at;
  const two = one + String.fromCharCode((bytes[at + 2] ?? 0) | 0x20);
  return two === 're' || two === 've' || two === 'll' ? at + 3 : at;
}

/** `\p{N}{1,3}` */
function digits(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  for (let count = 0; count < 3 && at < end && classAt(bytes, at) & digit; count++)
    at += sequenceLength(bytes[at] ?? 0);
  return at;
}

/** `[^\s\p{L}\p{N}]+[\r\n/]*`: the end, or 0. */
function symbolRun(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && (classAt(bytes, at) & (space | letter | digit)) === 0) at += sequenceLength(bytes[at] ?? 0);
  if (at === start) return 0;
  while (at < end && (bytes[at] === SLASH || bytes[at] === 0x0d || bytes[at] === 0x0a)) at++;
  return at;
}

/** `\s*[\r\n]+|\s+(?!\S)|\s+` */
function spaces(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let last = start;
  let afterNewline = 0;
  while (at < end) {
    const bits = classAt(bytes, at);
    if ((bits & space) === 0) break;
    last = at;
    at += sequenceLength(bytes[at] ?? 0);
    if (bits & newline) afterNewline = at;
  }
  if (afterNewline > 0) return afterNewline;
  return at === end || last === start ? at : last;
}

function run(bytes: Uint8Array, start: number, end: number, bits: number): number {
  let at = start;
  while (at < end && classAt(bytes, at) & bits) at += sequenceLength(bytes[at] ?? 0);
  return at;
}

function classAt(bytes: Uint8Array, at: number): number {
  return classOf(codePointAt(bytes, at));
}

function isAsciiLetter(byte: number): boolean {
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}
