// Keeps answers within a number of tokens; counts are o200k_base's, exact up to the limit.
import { countTokens, DEFAULT_EXACT_UP_TO_TOKENS } from '../measure.ts';
import { INLINE_BYTES } from '../../shared/placement.ts';
import { characterStart, decode } from './text.ts';

// No token of the encoding is longer than 128 bytes, but such are runs of one character; text has some 4 bytes a token.
const MOST_BYTES_A_TOKEN = 16;
// An answer stands in history and in context, so it stays below what may be inline, whatever its tokens.
const MOST_BYTES = INLINE_BYTES - 2048;

/** The tokens of a text: exact up to twice the limit, above it an estimate that is above the limit too. */
export async function tokensOf(text: string, limit: number): Promise<number> {
  const { tokens } = await countTokens(text, Math.max(DEFAULT_EXACT_UP_TO_TOKENS, limit * 2));
  return tokens;
}

/** Whether a text has at most so many tokens; bytes that cannot be more tokens are not counted. */
export async function fits(text: string, limit: number): Promise<boolean> {
  if (text.length * 3 <= limit) return true;
  return (await tokensOf(text, limit)) <= limit;
}

/** How many bytes are worth looking at for an answer of so many tokens. */
export function bytesWorthReading(limit: number): number {
  return Math.max(256, Math.min(MOST_BYTES, limit * MOST_BYTES_A_TOKEN));
}

/**
 * How many of the first bytes, cut between characters, have at most `limit` tokens as text: all of them, or nearly as
 * many as fit. At least one character, so that a reader always gets on.
 */
export async function prefixThatFits(bytes: Uint8Array, limit: number): Promise<number> {
  let length = bytes.length;
  for (let round = 0; round < 12; round++) {
    const tokens = await tokensOf(decode(bytes.subarray(0, length)), limit);
    if (tokens <= limit) return length;
    const shrunk = Math.floor(length * Math.min(0.98, (limit / tokens) * 0.99));
    length = characterStart(bytes, shrunk);
    if (length <= limit) break;
  }
  // A token has at least one byte.
  const least = characterStart(bytes, Math.min(bytes.length, Math.max(0, limit)));
  return least > 0 ? least : firstCharacter(bytes);
}

/** A text of at most so many tokens: itself, or its beginning with a note that it was cut. */
export async function clampText(text: string, limit: number): Promise<string> {
  const whole = Buffer.from(text);
  if (whole.length <= INLINE_BYTES && (await fits(text, limit))) return text;
  const bytes = whole.subarray(0, characterStart(whole, Math.min(whole.length, INLINE_BYTES - 16)));
  const length = await prefixThatFits(bytes, Math.max(1, limit - 4));
  return `${decode(bytes.subarray(0, length))}\n[cut]`;
}

/** The items, in order, that fit together; each is counted with the separator that follows it. */
export async function itemsThatFit(items: readonly string[], limit: number): Promise<number> {
  let spent = 0;
  for (const [index, item] of items.entries()) {
    spent += (await tokensOf(item, limit)) + 1;
    if (spent > limit) return index;
  }
  return items.length;
}

function firstCharacter(bytes: Uint8Array): number {
  let end = 1;
  while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end += 1;
  return Math.min(end, bytes.length);
}
