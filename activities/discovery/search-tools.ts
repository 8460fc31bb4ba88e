// The answer of `search_tools`: the best hits, a line each.
import type { z } from 'zod';
import type { CatalogTool } from '../../shared/catalog.ts';
import { DEFAULT_SEARCH_LIMIT, MOST_SEARCH_LIMIT } from '../../shared/discovery-tools.ts';
import type { searchToolsArguments } from './arguments.ts';
import { catalogOf, type Asked, type ServerCatalog } from './context.ts';
import { DiscoveryFault } from './fault.ts';
import { fitLines } from './fit.ts';
import { nameList, oneLine, quoted } from './lines.ts';
import { searchIndexOf } from './search-index.ts';
import { signatureLine } from './signature.ts';
import { stemsOf } from './words.ts';

/** Searches one server, or all that can be asked. */
export async function searchTools(args: z.output<typeof searchToolsArguments>, asked: Asked): Promise<string> {
  const { query, mcp_server: server = '', limit = DEFAULT_SEARCH_LIMIT } = args;
  if (stemsOf(query.slice(0, 1_000)).length === 0) {
    throw new DiscoveryFault(
      'The query has no word to search for. Say what the tool should do, as in "send a message".',
    );
  }
  const catalogs = server === '' ? asked.catalogs : [catalogOf(asked, server)];
  const tools = catalogs.flatMap((catalog) => catalog.tools);
  const index = await searchIndexOf(JSON.stringify(catalogs.map(({ server, hash }) => [server, hash])), tools);
  const found = index.search(query);
  const best = found.slice(0, Math.min(limit, MOST_SEARCH_LIMIT)).flatMap((place) => tools[place] ?? []);
  const missing = missingWords(catalogs);
  if (best.length === 0) return nothingFound(query, catalogs, missing);
  const prefix = (tool: CatalogTool): string => (catalogs.length === 1 ? '' : `[${oneLine(tool.server, 64)}] `);
  const lines = best.map((tool) => prefix(tool) + signatureLine(tool, index.common));
  const where = catalogs.length === 1 ? ` of server ${quoted(catalogs[0]?.server ?? '')}` : '';
  return fitLines(lines, asked.budget, (shown) =>
    [`${shown} of ${found.length} matching tools${where}, best first:`, ...lines.slice(0, shown), ...missing].join(
      '\n',
    ),
  );
}

function nothingFound(query: string, catalogs: readonly ServerCatalog[], missing: readonly string[]): string {
  const servers = nameList(
    catalogs.map((catalog) => catalog.server),
    300,
  );
  const searched = catalogs.length === 0 ? 'There are no tool servers.' : `Searched: ${servers}.`;
  return [`No tool matches ${quoted(query)}. ${searched} Try other words, or list_tools.`, ...missing].join('\n');
}

function missingWords(catalogs: readonly ServerCatalog[]): readonly string[] {
  const names = catalogs.filter((catalog) => catalog.unavailable !== undefined).map((catalog) => catalog.server);
  return names.length === 0 ? [] : [`Not available now, and so not searched: ${nameList(names, 300)}.`];
}
