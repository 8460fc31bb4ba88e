// Strings of JSON as bytes: where one ends, and its content unescaped within its own memory. Neither makes anything, not even
// garbage: at 50 MB the young generation of V8's heap would grow by what is saved.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SMALL_U = 0x75;
/** Bytes of `\uXXXX`. */
const UNICODE_BYTES = 6;
const REPLACEMENT = 0xfffd;

/** What the letters of short escapes stand for; 0 for those that are none. */
const ESCAPED = new Uint8Array(256);
for (const pair of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
  ESCAPED[pair.charCodeAt(0)] = pair.charCodeAt(1);
}

/**
 * Where the string ends whose content begins at `from`: the offset of its closing quotation mark; -1 where there is none, or
 * where the content is no valid JSON (raw control characters, unknown escapes). Does not look at whether it is UTF-8.
 */
export function endOfString(bytes: Buffer, from: number): number {
  const shift = (4 - (bytes.byteOffset % 4)) % 4;
  const count = Math.max(0, bytes.length - shift) >> 2;
  const words = new Int32Array(bytes.buffer, count === 0 ? 0 : bytes.byteOffset + shift, count);
  for (let at = from; at < bytes.length;) {
    if (((at - shift) & 3) === 0 && at >= shift) {
      at = (plainUntil(words, (at - shift) >> 2) << 2) + shift;
      if (at >= bytes.length) return -1;
    }
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return at;
    if (byte < 0x20) return -1;
    if (byte !== BACKSLASH) at += 1;
    else {
      const size = escapeBytes(bytes, at);
      if (size === 0) return -1;
      at += size;
    }
  }
  return -1;
}

/**
 * The content of a string as UTF-8, in the same memory: it is never longer than with its escapes. `content` is what
 * `endOfString` found valid, without quotation marks. A lone surrogate becomes U+FFFD, as everywhere in UTF-8.
 */
export function unescapeInPlace(content: Buffer): Buffer {
  let at = content.indexOf(BACKSLASH);
  if (at === -1) return content;
  let end = at;
  // Each round: one escape, and what is plain after it.
  while (at < content.length) {
    const letter = content[at + 1] ?? 0;
    if (letter === SMALL_U) {
      const code = codePointAt(content, at);
      at += code > 0xffff ? 2 * UNICODE_BYTES : UNICODE_BYTES;
      end = writeCodePoint(content, end, code);
    } else {
      content[end] = ESCAPED[letter] ?? 0;
      at += 2;
      end += 1;
    }
    for (; at < content.length; at += 1, end += 1) {
      const byte = content[at] ?? 0;
      if (byte === BACKSLASH) break;
      content[end] = byte;
    }
  }
  return content.subarray(0, end);
}

/** The first word with a byte that means something in a string, four bytes at a time. Source: Bit Twiddling Hacks, "haszero". */
function plainUntil(words: Int32Array, from: number): number {
  let at = from;
  for (; at < words.length; at += 1) {
    const word = words[at] ?? 0;
    const quote = word ^ 0x22222222;
    const backslash = word ^ 0x5c5c5c5c;
    const found =
      ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash) | ((word - 0x20202020) & ~word);
    if ((found & 0x80808080) !== 0) break;
  }
  return at;
}

/** The length of the escape that begins here; 0 where it is none. */
function escapeBytes(bytes: Buffer, at: number): number {
  const letter = bytes[at + 1] ?? 0;
  if (letter !== SMALL_U) return ESCAPED[letter] === 0 ? 0 : 2;
  for (let digit = at + 2; digit < at + UNICODE_BYTES; digit += 1) if (hexOf(bytes[digit] ?? 0) === -1) return 0;
  return UNICODE_BYTES;
}

/** The code point of a valid `\uXXXX`, with the other half of a pair where one follows. */
function codePointAt(content: Buffer, at: number): number {
  const unit = unitAt(content, at);
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  const next = at + UNICODE_BYTES;
  if (unit > 0xdbff || content[next] !== BACKSLASH || content[next + 1] !== SMALL_U) return REPLACEMENT;
  const low = unitAt(content, next);
  return low >= 0xdc00 && low <= 0xdfff ? 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00) : REPLACEMENT;
}

function unitAt(content: Buffer, at: number): number {
  let unit = 0;
  for (let digit = at + 2; digit < at + UNICODE_BYTES; digit += 1) unit = unit * 16 + hexOf(content[digit] ?? 0);
  return unit;
}

function hexOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** Writes UTF-8; gives where it ends. */
function writeCodePoint(target: Buffer, at: number, code: number): number {
  if (code < 0x80) {
    target[at] = code;
    return at + 1;
  }
  const size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (let byte = size - 1; byte > 0; byte -= 1) target[at + byte] = 0x80 | ((code >> (6 * (size - 1 - byte))) & 0x3f);
  target[at] = ((0xf00 >> size) & 0xff) | (code >> (6 * (size - 1)));
  return at + size;
}
