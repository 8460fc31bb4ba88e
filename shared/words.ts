// Text as words: names in snake_case and camelCase taken apart, Chinese and Japanese in pairs of characters.

/** Longer words are data, not language. */
const WORD_CHARACTERS = 40;
const WITHOUT_SPACES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/** English words that say nothing about what a tool does. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  'a an the to of in on at by for from with and or is are be this that it its as into via me my i you your'.split(' '),
);

/** The words of a text in order, in lower case. */
export function splitWords(text: string): string[] {
  return text
    .normalize('NFKC')
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}\p{M}]+/u)
    .filter((word) => word !== '')
    .flatMap((word) => (WITHOUT_SPACES.test(word) ? pairs(word) : [word.slice(0, WORD_CHARACTERS)]));
}

function pairs(word: string): string[] {
  const characters = Array.from(word);
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
