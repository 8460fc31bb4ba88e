// The form of a user's message: text, or parts with images and files in the OpenAI form. Addresses are checked here, so
// that a broken one is named at once and not by a provider after a model call.
import { z } from 'zod';
import { someText, textThat } from './spec-form.ts';

/** The bytes behind a `data:` address, still as base64. */
export interface DataAddress {
  /** In lower case, without parameters, as in `image/png`. */
  readonly mediaType: string;
  readonly base64: string;
}

const HEAD_CHARACTERS = 300;
// The base64 of `%PDF-`: what every PDF starts with.
const PDF_START = 'JVBERi0';

/** Reads `data:MEDIA/TYPE;base64,…`; null if it is no such address or its base64 is broken or empty. */
export function parseDataAddress(address: string): DataAddress | null {
  const head = /^data:([a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+)(?:;[a-z0-9_-]+=[^,;]*)*;base64,/i.exec(
    address.slice(0, HEAD_CHARACTERS),
  );
  const base64 = head ? address.slice(head[0].length) : '';
  if (!head?.[1] || !isBase64(base64)) return null;
  return { mediaType: head[1].toLowerCase(), base64 };
}

/** Whether a text is base64 (RFC 4648 section 4), padded, without line breaks, and not empty. */
function isBase64(text: string): boolean {
  return text !== '' && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

const imageAddress = textThat(
  (url) => isHttps(url) || (parseDataAddress(url)?.mediaType.startsWith('image/') ?? false),
  'the address of an image, https: or data:image/…;base64,',
  'Give an https: address, or the bytes as data:image/png;base64,… in padded base64.',
);

const fileData = textThat(
  (data) => isHttps(data) || parseDataAddress(data) !== null || (data.startsWith(PDF_START) && isBase64(data)),
  'a file as data:MEDIA/TYPE;base64,…, as an https: address, or a PDF as bare base64',
  'Give the bytes as data:text/csv;base64,… with their media type, in padded base64.',
);

const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: someText() }),
  z.strictObject({
    type: z.literal('image_url'),
    image_url: z.strictObject({ url: imageAddress, detail: someText().optional() }),
  }),
  z.strictObject({
    type: z.literal('file'),
    file: z.strictObject({ file_data: fileData, filename: someText().optional() }),
  }),
]);

const parts = z.array(part, { error: 'a list of parts' }).min(1, { error: 'at least one part' });

/** The form of a user's message; an unknown key is a fault. */
export const userMessageSchema = z.strictObject({
  type: z.literal('user.message'),
  content: z.union([someText(), parts], { error: 'a text or a list of parts' }),
});

function isHttps(address: string): boolean {
  return /^https:\/\/[^\s/?#]\S*$/i.test(address);
}
