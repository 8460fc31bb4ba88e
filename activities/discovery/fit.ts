// Answers within their budget of tokens: as many lines, or as much of a schema, as fit. Every answer is counted as it goes out.
import { INLINE_BYTES } from '../../shared/placement.ts';
import { clampText, tokensOf } from '../sandbox/fit.ts';

/** An answer stands in history too, so it has an end whatever its tokens. */
const MOST_BYTES = INLINE_BYTES - 2048;
/** No JSON of words has more characters a token, by far. */
const CHARACTERS_A_TOKEN = 6;
const MOST_ROUNDS = 10;

/** A text that fits, or its beginning with a note that it was cut. */
export async function clampAnswer(text: string, budget: number): Promise<string> {
  if ((await excess(text, budget)) <= 1) return text;
  const clamped = await clampText(text, budget);
  if ((await tokensOf(clamped, budget)) <= budget) return clamped;
  // Only where the note itself does not fit: a token has at least one byte.
  return Buffer.from(clamped)
    .subarray(0, Math.max(0, budget))
    .toString('latin1')
    .replaceAll(/[^\x20-\x7e]/g, '?');
}

/**
 * The text of as many lines as fit.
 *
 * @param compose the text with so many of the lines; one with none of them if not even one fits
 */
export async function fitLines(
  lines: readonly string[],
  budget: number,
  compose: (shown: number) => string,
): Promise<string> {
  let shown = roughly(lines, budget);
  for (;;) {
    const text = compose(shown);
    const over = await excess(text, budget);
    if (over <= 1) return text;
    if (shown === 0) return clampAnswer(text, budget);
    shown = Math.min(shown - 1, Math.floor(shown / over));
  }
}

/**
 * The text with as much room as fits; with none where even that is too much, cut.
 *
 * @param render the text with so much room for what can be cut, in characters
 */
export async function fitRoom(budget: number, render: (room: number) => string): Promise<string> {
  let room = Math.min(MOST_BYTES, budget * CHARACTERS_A_TOKEN);
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const text = render(room);
    const over = await excess(text, budget);
    if (over <= 1) return text;
    room = Math.floor(room * Math.min(0.9, 0.98 / over));
  }
  return clampAnswer(render(0), budget);
}

/** How many times too large a text is. */
async function excess(text: string, budget: number): Promise<number> {
  const bytes = Buffer.byteLength(text);
  if (bytes <= budget) return 0;
  if (bytes > MOST_BYTES) return Math.max(1.01, bytes / MOST_BYTES);
  return (await tokensOf(text, budget)) / Math.max(1, budget);
}

function roughly(lines: readonly string[], budget: number): number {
  let spent = 0;
  for (const [index, line] of lines.entries()) {
    spent += Math.max(2, line.length / CHARACTERS_A_TOKEN);
    if (spent > budget) return index;
  }
  return lines.length;
}
