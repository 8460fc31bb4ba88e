// The first and last characters of a text, made safe to show: whole graphemes, no control characters, always well formed.
import { sequenceStart } from './count.ts';
import type { Preview } from '../../shared/facts.ts';

/** A grapheme may be endless (a letter with a million accents): each end shows at most this many code units a character. */
const UNITS_PER_CHARACTER = 16;
/** Read beyond what is shown, so that no grapheme at the cut is judged by half of it. */
const SLACK_UNITS = 256;

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
  const window = characters * UNITS_PER_CHARACTER + SLACK_UNITS;
  const isShort = isWhole && head.length <= window;
  if (isShort) return previewOfText(decode(head, 0, head.length), characters);
  return {
    head: escapeForDisplay(firstCharacters(decode(head, 0, window), characters)),
    tail: escapeForDisplay(lastCharacters(decode(tail, tail.length - window * 2, tail.length), characters)),
  };
}

/** The first `characters` graphemes of a text, at most 16 code units each on average. */
export function firstCharacters(text: string, characters: number): string {
  const budget = characters * UNITS_PER_CHARACTER;
  const window = text.slice(0, budget + SLACK_UNITS).toWellFormed();
  const isCut = window.length < text.length;
  let end = 0;
  let count = 0;
  for (const { index, segment } of segmenter.segment(window)) {
    const segmentEnd = index + segment.length;
    // The last one of a cut text may go on beyond the window.
    if (count === characters || segmentEnd > budget || (isCut && segmentEnd === window.length)) break;
    end = segmentEnd;
    count++;
  }
  return end === 0 ? withoutHalfPair(window.slice(0, budget)) : window.slice(0, end);
}

/** The last `characters` graphemes of a text, at most 16 code units each on average. */
export function lastCharacters(text: string, characters: number): string {
  const budget = characters * UNITS_PER_CHARACTER;
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

/** Controls, format characters, separators, fillers and invisible variation selectors; not a joiner between two emoji. */
const UNSAFE =
  /(?!(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic}))[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u{e0100}-\u{e01ef}]/gu;

function previewOfText(text: string, characters: number): Preview {
  const starts = Array.from(segmenter.segment(text), ({ index }) => index);
  const fits = starts.length <= 2 * characters && text.length <= 2 * characters * UNITS_PER_CHARACTER;
  if (fits) return { head: escapeForDisplay(text), tail: '' };
  return {
    head: escapeForDisplay(firstCharacters(text, characters)),
    tail: escapeForDisplay(lastCharacters(text, characters)),
  };
}

/** Not within a run of regional indicators: those pair up from the run's beginning. */
function windowStart(text: string, wanted: number): number {
  let start = Math.max(0, wanted);
  while (start > 1 && isRegionalIndicator(text, start - 2)) start -= 2;
  return start;
}

function isRegionalIndicator(text: string, index: number): boolean {
  const point = text.codePointAt(index) ?? 0;
  return point >= 0x1f1e6 && point <= 0x1f1ff;
}

function decode(bytes: Uint8Array, from: number, to: number): string {
  const start = sequenceStart(bytes, Math.max(0, from));
  const end = to >= bytes.length ? bytes.length : sequenceStart(bytes, to);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(start, end));
}

function withoutHalfPair(text: string): string {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last < 0xdc00 ? text.slice(0, -1) : text;
}

function withoutLeadingHalf(text: string): string {
  const first = text.charCodeAt(0);
  return first >= 0xdc00 && first < 0xe000 ? text.slice(1) : text;
}
