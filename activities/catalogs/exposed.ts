// From what servers offer to a catalog: tools under the names that the model uses, sorted by them.
import type { Catalog, CatalogServer, CatalogTool } from '../../shared/catalog.ts';
import { DISCOVERY_SERVER } from '../../shared/discovery-tools.ts';
import { exposeNames } from '../../shared/exposed-names.ts';
import { PEOPLE_SERVER } from '../../shared/sandbox-tools.ts';
import type { Offer, Selected } from './ask-server.ts';
import { cut, NAME_CHARACTERS } from './words.ts';

/** Of the tools left out, this many stand in history one by one. */
const PROBLEMS_TOLD = 20;
/** Built-in servers whose tools keep their own names. */
const BARE = [PEOPLE_SERVER, DISCOVERY_SERVER];

/** The catalog of these offers. */
export function catalogOf(offers: readonly Offer[]): Catalog {
  const selected = offers.flatMap((offer) => offer.tools);
  const names = exposeNames(selected.map(({ server, tool }) => ({ server, tool })));
  const tools = selected
    .map((tool, index) => withName(tool, names[index] ?? tool.tool))
    .sort((a, b) => (a.exposedName < b.exposedName ? -1 : 1));
  return { version: 1, servers: offers.flatMap((offer) => offer.server ?? []), tools };
}

/** As history has it; the stored catalog names every problem. */
export function briefly(server: CatalogServer): CatalogServer {
  const more = server.problems.length - PROBLEMS_TOLD;
  if (more <= 0) return server;
  const rest = { tool: '', problem: `${more} more tools were left out; the stored catalog names them` };
  return { ...server, problems: [...server.problems.slice(0, PROBLEMS_TOLD), rest] };
}

/** A name that cannot be exposed as it is stands in the description: a model is told it by people, and by other tools. */
function withName(tool: Selected, exposedName: string): CatalogTool {
  if (BARE.includes(tool.server)) return { ...tool, exposedName: tool.tool };
  if (exposedName.endsWith(`__${tool.tool}`)) return { ...tool, exposedName };
  const name = cut(tool.tool.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' '), NAME_CHARACTERS);
  return { ...tool, exposedName, description: `Tool "${name}" of server "${tool.server}". ${tool.description}`.trim() };
}
