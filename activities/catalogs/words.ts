// What servers say of themselves, as it stands in catalogs: without secrets, and bounded.
import type { CatalogServer } from '../../shared/catalog.ts';
import type { ToolListing } from '../../shared/tool-server.ts';

/** It stands in history and in every request; the file store has no more of it either. */
const DESCRIPTION_CHARACTERS = 1_000;
/** Names have no end that the protocol sets. */
export const NAME_CHARACTERS = 200;

/** The configured description comes first, and the server's own instructions are told beside it. Source: case cat-5. */
export function wordsOf(
  configured: string | undefined,
  { instructions, title }: Pick<ToolListing, 'instructions' | 'title'>,
  redact: (text: string) => string,
): Pick<CatalogServer, 'description' | 'instructions'> {
  const clean = (text: string): string => cut(redact(text).trim(), DESCRIPTION_CHARACTERS);
  const description = clean(configured ?? title ?? '');
  const own = clean(instructions ?? '');
  return {
    ...(description !== '' && (configured !== undefined || own === '') && { description }),
    ...(own !== '' && own !== description && { instructions: own }),
  };
}

/** At most so many characters, well-formed. */
export function cut(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters - 1).toWellFormed()}…`;
}
