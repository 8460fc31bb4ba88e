// The other spellings of a secret: as a part of a URL, in base64, in hexadecimal. What answers, headers and logs quote is often
// one of them. Source: architecture D15.

/** Shorter secrets, in bytes of UTF-8, are found as they stand alone: what they become could be anything. */
const SHORTEST_ENCODED = 8;

const PLAIN_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const URL_ALPHABET = `${PLAIN_ALPHABET.slice(0, -2)}-_`;

/**
 * A secret as it stands, percent-encoded (as in paths and as in forms, digits in both cases), in base64 (both alphabets, wherever
 * in the encoded bytes it begins) and in hexadecimal (both cases). Each once.
 */
export function formsOf(secret: string): readonly string[] {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.length < SHORTEST_ENCODED) return [secret];
  return [...new Set([secret, ...percentForms(bytes), ...hexForms(bytes), ...base64Forms(bytes)])];
}

function percentForms(bytes: Uint8Array): readonly string[] {
  const escaped = (isPlain: RegExp, space: string): string =>
    Array.from(bytes, (byte) => {
      const character = String.fromCharCode(byte);
      if (character === ' ') return space;
      return isPlain.test(character) ? character : `%${hexOf(byte).toUpperCase()}`;
    }).join('');
  // As `encodeURIComponent` writes it, as RFC 3986 would have it, and as forms are sent.
  const upper = [escaped(/[\w.!~*'()-]/, '%20'), escaped(/[\w.~-]/, '%20'), escaped(/[\w.*-]/, '+')];
  return [...upper, ...upper.map((text) => text.replace(/%../g, (digits) => digits.toLowerCase()))];
}

function hexForms(bytes: Uint8Array): readonly string[] {
  const lower = Array.from(bytes, hexOf).join('');
  return [lower, lower.toUpperCase()];
}

function hexOf(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

/** What of the encoded text depends on the secret alone, for each of the three places in a group where it may begin. */
function base64Forms(bytes: Uint8Array): readonly string[] {
  return [0, 1, 2].flatMap((offset) => {
    const padded = new Uint8Array(offset + bytes.length);
    padded.set(bytes, offset);
    const from = Math.ceil((offset * 8) / 6);
    const to = Math.floor((padded.length * 8) / 6);
    return [PLAIN_ALPHABET, URL_ALPHABET].map((alphabet) => digitsOf(padded, alphabet).slice(from, to));
  });
}

/** Base64 without padding. Workflow code has no `Buffer`. */
function digitsOf(bytes: Uint8Array, alphabet: string): string {
  let text = '';
  for (let bit = 0; bit < bytes.length * 8; bit += 6) {
    const at = bit >> 3;
    const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
    text += alphabet[(pair >> (10 - (bit & 7))) & 63] ?? '';
  }
  return text;
}
