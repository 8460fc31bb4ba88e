// The names most like one that is not there.
import { distance } from 'fastest-levenshtein';
import { snakeCase } from '../../shared/spec-nearest.ts';

/** The `count` names nearest to a word, nearest first, equally near ones by name; each is compared once. */
export function nearestNames(word: string, names: readonly string[], count: number): readonly string[] {
  const plain = snakeCase(word);
  const near = names.map((name) => ({ name, far: farness(plain, snakeCase(name)) }));
  near.sort((a, b) => a.far - b.far || (a.name < b.name ? -1 : 1));
  return near.slice(0, count).map(({ name }) => name);
}

/** A name that holds the word, or is a part of it, is nearer than its length says. */
function farness(word: string, name: string): number {
  const edits = distance(word, name);
  return word.length >= 4 && name.length >= 4 && (name.includes(word) || word.includes(name)) ? edits / 4 : edits;
}
