// Words of servers as they may stand in one line of an answer: names that can be given back, first sentences, short lists.
import type { CatalogTool } from '../../shared/catalog.ts';
import { clip } from '../sandbox/text.ts';

/** Longer names, and such with control characters, are told by the name that the tool array would have. */
const NAME_CHARACTERS = 128;
const SHORTEST_SENTENCE = 12;

/** A name that finds the tool again when it is given back: its own where that can be written, else its exposed name. */
export function shownName({ tool, exposedName }: Pick<CatalogTool, 'tool' | 'exposedName'>): string {
  return tool.length <= NAME_CHARACTERS && /^[\p{L}\p{N}\p{M}\p{P}\p{S}]+$/u.test(tool) ? tool : exposedName;
}

/** A text in one line, without markup and control characters, of at most so many characters. */
export function oneLine(text: string, characters: number): string {
  const plain = text
    .slice(0, characters * 8)
    .replace(/<\/?[a-z][^<>]{0,200}>/gi, ' ')
    .replace(/\[([^[\]]{1,200})\]\([^()\s]{1,500}\)/g, '$1')
    .replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .toWellFormed();
  return clip(plain, characters);
}

/** The first sentence of a text, as one line of at most so many characters. */
export function firstSentence(text: string, characters: number): string {
  const line = oneLine(text, characters * 2);
  const end = /[.!?](?=\s)|[。！？]/gu;
  for (const match of line.matchAll(end)) {
    if (match.index >= SHORTEST_SENTENCE) return clip(line.slice(0, match.index + match[0].length), characters);
  }
  return clip(line, characters);
}

/** A name in quotes, cut where it is long. */
export function quoted(name: string): string {
  return JSON.stringify(clip(name, 80).toWellFormed());
}

/** Names with commas between, as many as fit so many characters, the rest counted. */
export function nameList(names: readonly string[], characters: number): string {
  const shown: string[] = [];
  let length = 0;
  for (const name of names) {
    const text = oneLine(name, 80);
    length += text.length + 2;
    if (length > characters) break;
    shown.push(text);
  }
  const more = names.length - shown.length;
  if (more === 0) return shown.join(', ');
  return shown.length === 0 ? `${more} with long names` : `${shown.join(', ')} and ${more} more`;
}
