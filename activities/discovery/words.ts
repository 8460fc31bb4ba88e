// Words as the search index knows them: reduced to their stems, so that `messages` finds `message`.
import { stemmer } from 'stemmer';
import { splitWords, STOP_WORDS } from '../../shared/words.ts';

/** The form of a word that the index knows, or null where it says nothing. */
export function stemOf(word: string): string | null {
  return STOP_WORDS.has(word) ? null : stemmer(word);
}

/** The stems of a text, in order. */
export function stemsOf(text: string): string[] {
  return splitWords(text).flatMap((word) => stemOf(word) ?? []);
}
