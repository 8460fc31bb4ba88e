// Base64 as servers really send it: with line breaks, in the URL's alphabet, behind a `data:` prefix, and not at all.

const DATA_URL = /^data:[^,]{0,200};base64,/;
const ALPHABET = /^[A-Za-z0-9+/_-]*={0,2}$/;
const SPACE = /[\t\n\r ]+/g;

/** The bytes, or `undefined` when the text is not base64. Node's own decoder skips what it does not know. */
export function decodeBase64(text: string): Uint8Array | undefined {
  const prefix = DATA_URL.exec(text.slice(0, 300))?.[0].length ?? 0;
  const body = prefix === 0 ? text : text.slice(prefix);
  const isPlain = ALPHABET.test(body);
  const compact = isPlain ? body : body.replaceAll(SPACE, '');
  if (!isPlain && !ALPHABET.test(compact)) return undefined;
  const padding = compact.endsWith('==') ? 2 : compact.endsWith('=') ? 1 : 0;
  if ((compact.length - padding) % 4 === 1) return undefined;
  return Buffer.from(compact, 'base64');
}
