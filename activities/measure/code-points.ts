// Which class of o200k's pattern a code point belongs to, as bits. Classes are asked of the regular-expression engine
// itself, once for each code point, so that they are those of js-tiktoken under the same Node.

/** Bits of a code point's class; a code point may carry several. */
export const CLASS = {
  /** Upper, title, modifier and other letters, and marks: what may open a word. */
  opener: 1,
  /** Lower, modifier and other letters, and marks: what may go on in a word. */
  follower: 2,
  letter: 4,
  digit: 8,
  space: 16,
  newline: 32,
  /** Set for every code point looked up, so that a class is never 0. */
  known: 128,
} as const;

const classes = new Uint8Array(0x110000);

/** The class bits of a code point. */
export function classOf(codePoint: number): number {
  return (classes[codePoint] as number) || learn(codePoint); // in bounds: code points are below 0x110000
}

function learn(codePoint: number): number {
  const text = String.fromCodePoint(codePoint);
  let bits: number = CLASS.known;
  if (/[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]/u.test(text)) bits |= CLASS.opener;
  if (/[\p{Ll}\p{Lm}\p{Lo}\p{M}]/u.test(text)) bits |= CLASS.follower;
  if (/\p{L}/u.test(text)) bits |= CLASS.letter;
  if (/\p{N}/u.test(text)) bits |= CLASS.digit;
  if (/\s/u.test(text)) bits |= CLASS.space;
  if (/[\r\n]/u.test(text)) bits |= CLASS.newline;
  classes[codePoint] = bits;
  return bits;
}

/** How many bytes the UTF-8 sequence that begins with this byte has. */
export function sequenceLength(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/** The code point at `at` of valid UTF-8. A sequence cut off by the end of the bytes reads as if zeros followed. */
export function codePointAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return first;
  const second = (bytes[at + 1] ?? 0) & 0x3f;
  if (first < 0xe0) return ((first & 0x1f) << 6) | second;
  const third = (bytes[at + 2] ?? 0) & 0x3f;
  if (first < 0xf0) return ((first & 0x0f) << 12) | (second << 6) | third;
  return Math.min(((first & 0x07) << 18) | (second << 12) | (third << 6) | ((bytes[at + 3] ?? 0) & 0x3f), 0x10ffff);
}
