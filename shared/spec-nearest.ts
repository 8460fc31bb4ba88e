// Finds what a misspelt word was meant to be.
import { closest, distance } from 'fastest-levenshtein';

// Longer words cost time, and a difference in their tails decides nothing.
const COMPARED_CHARACTERS = 100;

/** The known word nearest to one that is not known, or null when none is near. Case, `-` and camelCase do not count. */
export function nearest(word: string, known: readonly string[]): string | null {
  const plain = snakeCase(word);
  if (known.includes(plain)) return plain;
  const byPlain = new Map(known.map((candidate) => [snakeCase(candidate), candidate]));
  if (byPlain.size === 0) return null;
  const found = closest(plain, [...byPlain.keys()]);
  const limit = Math.max(2, Math.floor(Math.max(plain.length, found.length) * 0.4));
  return distance(plain, found) <= limit ? (byPlain.get(found) ?? null) : null;
}

/** The known words, those nearest to a word first. */
export function byNearness(word: string, known: readonly string[]): readonly string[] {
  const plain = snakeCase(word);
  return [...known].sort((a, b) => distance(plain, snakeCase(a)) - distance(plain, snakeCase(b)));
}

/** A word in snake_case: `mcpServers` and `MCP-Servers` are `mcp_servers`; at most 100 characters. */
export function snakeCase(word: string): string {
  return word
    .slice(0, COMPARED_CHARACTERS)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll('-', '_');
}
