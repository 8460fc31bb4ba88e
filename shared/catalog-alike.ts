// Tools whose descriptions are too much alike to tell them apart: those with nearly the same words. Only pairs that share a
// rare word are compared, so that a thousand tools take no million comparisons (prefix filtering, as in PPJoin).
import type { CatalogTool } from './catalog.ts';
import { splitWords, STOP_WORDS } from './words.ts';

/** Shared words over all words of both, from which on two descriptions say the same. */
const ALIKE = 0.9;
/** Shorter descriptions say too little, which is another matter. */
const LEAST_WORDS = 3;
const MOST_WORDS = 200;

/** Groups of tools of one server, each in the order given; in a group every tool is like another one of it. */
export function alikeGroups(tools: readonly CatalogTool[]): readonly (readonly CatalogTool[])[] {
  const described = tools
    .map((tool) => ({ tool, words: wordsOf(tool) }))
    .filter(({ words }) => words.size >= LEAST_WORDS);
  const leaders = described.map((_, index) => index);
  const leaderOf = (index: number): number => {
    let at = index;
    for (let next = leaders[at] ?? at; next !== at; next = leaders[at] ?? at) at = next;
    return at;
  };
  for (const [a, b] of candidates(described)) {
    const [first, second] = [leaderOf(a), leaderOf(b)];
    const [one, other] = [described[a]?.words, described[b]?.words];
    if (first !== second && one && other && likeness(one, other) >= ALIKE)
      leaders[Math.max(first, second)] = Math.min(first, second);
  }
  const groups = new Map<number, CatalogTool[]>();
  for (const [index, { tool }] of described.entries()) addTo(groups, leaderOf(index), tool);
  return [...groups.values()].filter((group) => group.length > 1);
}

interface Described {
  readonly tool: CatalogTool;
  readonly words: ReadonlySet<string>;
}

function wordsOf({ description }: CatalogTool): ReadonlySet<string> {
  const words = splitWords(description.slice(0, 4_000)).filter((word) => !STOP_WORDS.has(word));
  return new Set(words.slice(0, MOST_WORDS));
}

/** Pairs that may be alike: of one server, with a word in common among the rarest of each. Equal sets are chained. */
function* candidates(described: readonly Described[]): Generator<readonly [number, number]> {
  const counts = new Map<string, number>();
  for (const { words } of described) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const seen = new Map<string, number[]>();
  const equals = new Map<string, number>();
  for (const [index, { tool, words }] of described.entries()) {
    const rarest = [...words].sort((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0) || (a < b ? -1 : 1));
    const whole = JSON.stringify([tool.server, ...rarest]);
    const twin = equals.get(whole);
    if (twin !== undefined) {
      yield [twin, index];
      continue;
    }
    equals.set(whole, index);
    const met = new Set<number>();
    for (const word of rarest.slice(0, rarest.length - Math.ceil(ALIKE * rarest.length) + 1)) {
      const key = JSON.stringify([tool.server, word]);
      for (const other of seen.get(key) ?? []) met.add(other);
      addTo(seen, key, index);
    }
    for (const other of met) yield [other, index];
  }
}

function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  if (small.size < ALIKE * large.size) return 0;
  let shared = 0;
  for (const word of small) if (large.has(word)) shared += 1;
  return shared / (a.size + b.size - shared);
}
