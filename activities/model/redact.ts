// Takes secrets out of what people will read. Every message of a model error passes through here, because providers
// and HTTP libraries repeat keys and headers in their own messages.
import { redact, REDACTED } from '../../shared/secret-redaction.ts';

/** Removes every secret from a text. */
export type Redact = (text: string) => string;

/** Shorter values are no secrets, and replacing them would only spoil messages. */
const MINIMUM_SECRET_LENGTH = 4;

/** What looks like a key or a bearer token, whole or shown in part, whoever's it is. */
const KEY_LIKE = /\bsk-[\w*.-]{6,}|\bBearer\s+[\w.~+/=*-]{6,}/gi;

/** Makes a redactor of the given secrets: each occurrence, encoded ones too, becomes `[redacted]`. */
export function createRedact(secrets: readonly (string | undefined)[]): Redact {
  const values = [...new Set(secrets.map((secret) => secret?.trim() ?? ''))].filter(
    (secret) => secret.length >= MINIMUM_SECRET_LENGTH,
  );
  return (text) => redact(text, values).replace(KEY_LIKE, REDACTED);
}

/** A text as part of a one-line message: one line, bounded to 2 KB, without a final full stop. */
export function asPhrase(text: string): string {
  return boundText(text.replace(/\s+/g, ' ').trim(), 2048).replace(/[.\s]+$/, '');
}

/** Cuts a text to a number of UTF-8 bytes, never inside a character, and says with `…` that it was cut. */
export function boundText(text: string, maxBytes: number): string {
  // A UTF-16 unit is at least one byte, so what lies beyond `maxBytes` units cannot be kept: no need to encode it.
  const head = Buffer.from(text.slice(0, maxBytes + 1), 'utf8');
  if (text.length <= maxBytes && head.length <= maxBytes) return text;
  let end = Math.max(0, maxBytes - 3);
  while (end > 0 && ((head[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return `${head.subarray(0, end).toString('utf8')}…`;
}
