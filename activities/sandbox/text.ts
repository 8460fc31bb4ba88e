// Cutting UTF-8 and showing pieces of it: every cut here falls between characters, whatever the bytes are.

/** The nearest start of a character at or before `at`; bytes that are no UTF-8 count as a character each. */
export function characterStart(bytes: Uint8Array, at: number): number {
  for (let back = 0; back < 4 && at - back >= 0; back++) {
    const byte = bytes[at - back];
    if (byte === undefined) return at;
    if ((byte & 0xc0) !== 0x80) return back < characterBytes(byte) ? at - back : at;
  }
  return at;
}

/** How many bytes the character that begins with this byte has. */
export function characterBytes(first: number): number {
  if (first < 0xc0) return 1;
  if (first < 0xe0) return 2;
  return first < 0xf0 ? 3 : 4;
}

/** The first `characters` of a text, with an ellipsis where something was left out. */
export function clip(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const points = Array.from(text.slice(0, characters * 2));
  return points.length <= characters ? text : `${points.slice(0, characters).join('')}…`;
}

/** The beginning and the end of a text that is longer than both together, with what was left out counted. */
export function clipMiddle(text: string, head: number, tail: number): string {
  if (text.length <= head + tail) return text;
  const start = Array.from(text.slice(0, head * 2))
    .slice(0, head)
    .join('');
  const end = Array.from(text.slice(-tail * 2))
    .slice(-tail)
    .join('');
  return `${start}…(${text.length - start.length - end.length} characters)…${end}`.toWellFormed();
}

/** The first characters of UTF-8 bytes, at most `characters` of them. */
export function decodeHead(bytes: Uint8Array, characters: number): string {
  const part = bytes.subarray(0, characters * 4);
  const cut = part.length < bytes.length ? characterStart(bytes, part.length) : part.length;
  return Array.from(decode(part.subarray(0, cut)))
    .slice(0, characters)
    .join('');
}

/** The last characters of UTF-8 bytes, at most `characters` of them. */
export function decodeTail(bytes: Uint8Array, characters: number): string {
  const from = characterStart(bytes, Math.max(0, bytes.length - characters * 4));
  return Array.from(decode(bytes.subarray(from)))
    .slice(-characters)
    .join('');
}

/** UTF-8 as text; a byte-order mark stays, bytes that are no UTF-8 become U+FFFD. */
export function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** A number as people write it: `4,749,325`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 match`, `2 matches`, `3 rows`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
