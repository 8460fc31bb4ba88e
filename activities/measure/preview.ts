// The first and last characters of a text, made safe to show: whole graphemes, no control characters, always well formed.
import { codePointAt } from './code-points.ts';
import { sequenceStart } from './count.ts';
import type { Preview } from '../../shared/facts.ts';

/** A grapheme may be endless (a letter with a million accents): each end shows at most this many code units a character. */
const UNITS_PER_CHARACTER = 16;
/** Read beyond what is shown, so that no grapheme at the cut is judged by half of it. */
const SLACK_UNITS = 256;

/** A code unit is at most three bytes of UTF-8. */
const BYTES_PER_UNIT = 3;

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** Both ends of a payload's text; the same array twice where all of it is at hand. All valid UTF-8. */
export interface PreviewInput {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** Whether `head` is the whole text. */
  readonly isWhole: boolean;
  /** Characters (graphemes) to show of each end. */
  readonly characters: number;
}

/** The preview; `tail` is empty when `head` shows the whole. */
export function previewOf(input: PreviewInput): Preview {
  const { head, tail, isWhole, characters } = input;
  if (characters <= 0) return { head: '', tail: '' };
  const units = characters * UNITS_PER_CHARACTER;
  if (isWhole && head.length <= 2 * units * BYTES_PER_UNIT)
    return previewOfText(decode(head, 0, head.length), characters);
  const window = (units + SLACK_UNITS) * BYTES_PER_UNIT + 4;
  return {
    head: escapeForDisplay(firstCharacters(decode(head, 0, window), characters)),
    tail: escapeForDisplay(lastCharacters(decode(tail, tail.length - window, tail.length), characters)),
  };
}

/** How many graphemes a text has. */
export function countCharacters(text: string): number {
  if (isPlainAscii(text)) return text.length;
  return Array.from(segmenter.segment(text)).length;
}

/** The first `characters` graphemes of a text, as far as `budget` code units go: by default 16 for each. */
export function firstCharacters(
  text: string,
  characters: number,
  budget: number = characters * UNITS_PER_CHARACTER,
): string {
  const plain = text.slice(0, characters + 1);
  if (isPlainAscii(plain)) return plain.slice(0, characters);
  const window = text.slice(0, budget + SLACK_UNITS).toWellFormed();
  let end = 0;
  let count = 0;
  for (const { index, segment } of segmenter.segment(window)) {
    const segmentEnd = index + segment.length;
    // What the window cuts ends beyond the budget.
    if (count === characters || segmentEnd > budget) break;
    end = segmentEnd;
    count++;
  }
  return end === 0 ? withoutHalfPair(window.slice(0, budget)) : window.slice(0, end);
}

/** The last `characters` graphemes of a text, as far as `budget` code units go: by default 16 for each. */
export function lastCharacters(
  text: string,
  characters: number,
  budget: number = characters * UNITS_PER_CHARACTER,
): string {
  if (characters === 0) return '';
  const plain = text.slice(-characters - 1);
  if (isPlainAscii(plain)) return plain.slice(-characters);
  const start = windowStart(text, text.length - budget - SLACK_UNITS);
  const window = text.slice(start).toWellFormed();
  const floor = Math.max(0, window.length - budget);
  const starts: number[] = [];
  for (const { index } of segmenter.segment(window)) {
    // Where the window begins within a text, its first graphemes may be halves.
    if (index >= floor && (start === 0 || index > 0)) starts.push(index);
  }
  const from = starts.length === 0 ? floor : (starts.at(-characters) ?? starts[0] ?? floor);
  return withoutLeadingHalf(window.slice(from));
}

/**
 * Shows what would hide or reorder: line breaks as ⏎, tabs as ⇥, other controls and invisible or bidirectional format
 * characters as `\u{…}`. A joiner within an emoji stays.
 */
export function escapeForDisplay(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n|\n/g, '⏎')
    .replaceAll('\t', '⇥')
    .replace(UNSAFE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Controls, format characters, separators and all that is invisible; not a joiner between two emoji, nor their variants. */
const UNSAFE =
  /(?!(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic}))(?:[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]|(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point})/gu;

/** Each code unit is a grapheme then: a line feed may belong to a carriage return, a mark to the letter before it. */
function isPlainAscii(text: string): boolean {
  return /^[\t\n\x20-\x7e]*$/.test(text);
}

function previewOfText(text: string, characters: number): Preview {
  const mayFit = text.length <= 2 * characters * UNITS_PER_CHARACTER;
  const fits = mayFit && (text.length <= 2 * characters || countCharacters(text) <= 2 * characters);
  if (fits) return { head: escapeForDisplay(text), tail: '' };
  return {
    head: escapeForDisplay(firstCharacters(text, characters)),
    tail: escapeForDisplay(lastCharacters(text, characters)),
  };
}

/** A start from which graphemes are found as from the text's beginning: regional indicators pair up along their run. */
function windowStart(text: string, wanted: number): number {
  const start = Math.max(0, isHighSurrogate(text, wanted - 1) ? wanted - 1 : wanted);
  let before = 0;
  while (isRegionalIndicator(text.codePointAt(start - 2 * before - 2))) before++;
  return before % 2 === 1 ? start - 2 : start;
}

function isRegionalIndicator(codePoint: number | undefined): boolean {
  return codePoint !== undefined && codePoint >= 0x1f1e6 && codePoint <= 0x1f1ff;
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xd800 && unit < 0xdc00;
}

/** As `windowStart`, on bytes. */
function byteWindowStart(bytes: Uint8Array, wanted: number): number {
  const start = sequenceStart(bytes, Math.max(0, wanted));
  let before = 0;
  while (start >= 4 * before + 4 && isRegionalIndicator(codePointAt(bytes, start - 4 * before - 4))) before++;
  return before % 2 === 1 ? start - 4 : start;
}

function decode(bytes: Uint8Array, from: number, to: number): string {
  const start = byteWindowStart(bytes, from);
  const end = to >= bytes.length ? bytes.length : sequenceStart(bytes, to);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(start, end));
}

function withoutHalfPair(text: string): string {
  return isHighSurrogate(text, text.length - 1) ? text.slice(0, -1) : text;
}

function withoutLeadingHalf(text: string): string {
  const first = text.charCodeAt(0);
  return first >= 0xdc00 && first < 0xe000 ? text.slice(1) : text;
}
