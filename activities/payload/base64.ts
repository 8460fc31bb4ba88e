// Base64 as servers really send it: with line breaks, in the URL's alphabet, behind a `data:` prefix, and not at all.

const DATA_URL = /^data:[^,]{0,200};base64,/;
const PADDED = /^[A-Za-z0-9+/_-]*={0,2}$/;
const SPACE = /[\t\n\r ]+/g;
/** Whole groups of four characters. */
const PIECE_BYTES = 32 * 1024;
const PREFIX_BYTES = 1_200;

/**
 * The bytes, in the memory of the text, which is then overwritten; `undefined`, and the text as it was, when it is not base64.
 * Node's own decoder skips what it does not know.
 */
export function decodeBase64(text: Buffer): Buffer | undefined {
  const start = DATA_URL.exec(text.toString('utf8', 0, PREFIX_BYTES).slice(0, 300))?.[0] ?? '';
  const body = text.subarray(Buffer.byteLength(start));
  if (!isBase64(body)) return undefined;
  let written = 0;
  for (const group of groupsOf(body)) written += body.write(group, written, 'base64');
  return body.subarray(0, written);
}

function isBase64(body: Buffer): boolean {
  let length = 0;
  let padding = '';
  for (const piece of compactPieces(body)) {
    const whole = padding + piece;
    if (!PADDED.test(whole)) return false;
    padding = /=*$/.exec(whole)?.[0] ?? '';
    length += whole.length - padding.length;
  }
  return length % 4 !== 1;
}

/** Groups of four characters, many at a time; the last may be shorter. What was read may be overwritten meanwhile. */
function* groupsOf(body: Buffer): Generator<string> {
  let rest = '';
  for (const piece of compactPieces(body)) {
    const whole = rest + piece;
    const end = whole.length - (whole.length % 4);
    yield whole.slice(0, end);
    rest = whole.slice(end);
  }
  yield rest;
}

function* compactPieces(body: Buffer): Generator<string> {
  for (let at = 0; at < body.length; at += PIECE_BYTES) {
    const piece = body.toString('latin1', at, at + PIECE_BYTES);
    yield piece.replaceAll(SPACE, '');
  }
}
