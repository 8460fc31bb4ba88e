// What a discovery call looks at: the catalogs of the servers, as the turn has them.
import type { CatalogTool } from '../../shared/catalog.ts';
import { DiscoveryFault } from './fault.ts';
import { nameList, quoted, shownName } from './lines.ts';
import { nearestNames } from './nearest-names.ts';

/** What one server offers to the agent: after selection, under exposed names. */
export interface ServerCatalog {
  readonly server: string;
  /** Of the content: equal hashes, equal tools in equal order. Indexes are kept by it. */
  readonly hash: string;
  readonly tools: readonly CatalogTool[];
  /** Set when the server could not be asked: what to tell the model. */
  readonly unavailable?: string;
}

/** What a discovery call gets. */
export interface DiscoveryContext {
  readonly catalogs: readonly ServerCatalog[];
  /** Tokens that the answer may have. @default DEFAULT_DISCOVERY_TOKENS */
  readonly budget?: number;
}

/** A call's context with its budget settled. */
export interface Asked {
  /** By name of the server. */
  readonly catalogs: readonly ServerCatalog[];
  readonly budget: number;
}

/** The catalog of a server; raises `DiscoveryFault` where there is none, with the servers there are. */
export function catalogOf({ catalogs }: Asked, server: string): ServerCatalog {
  const found = catalogs.find((catalog) => catalog.server === server);
  if (!found) {
    const names = nearestNames(
      server,
      catalogs.map((catalog) => catalog.server),
      catalogs.length,
    );
    const known = names.length === 0 ? 'There are none.' : `Servers: ${nameList(names, 600)}.`;
    throw new DiscoveryFault(`There is no tool server ${quoted(server)}. ${known}`);
  }
  if (found.unavailable === undefined) return found;
  throw new DiscoveryFault(`Server ${quoted(server)} is not available now: ${quoted(found.unavailable)}`);
}

/**
 * The tool of that name, or of that exposed name. Own names come first. Raises `DiscoveryFault` with the nearest names, and
 * with the server that has it where another one does.
 */
export function toolOf(asked: Asked, server: string, name: string): CatalogTool {
  const catalog = catalogOf(asked, server);
  const found = findTool(catalog.tools, name);
  if (found) return found;
  throw new DiscoveryFault(noSuchTool(asked, catalog, name));
}

/** A tool by its name, else by its exposed name. */
export function findTool(tools: readonly CatalogTool[], name: string): CatalogTool | undefined {
  return tools.find(({ tool }) => tool === name) ?? tools.find(({ exposedName }) => exposedName === name);
}

function noSuchTool({ catalogs }: Asked, { server, tools }: ServerCatalog, name: string): string {
  const elsewhere = catalogs.find((catalog) => catalog.server !== server && findTool(catalog.tools, name));
  const none = `Server ${quoted(server)} has no tool ${quoted(name)}.`;
  if (elsewhere) return `${none} Server ${quoted(elsewhere.server)} has it.`;
  if (tools.length === 0) return `${none} It has no tools.`;
  const near = nearestNames(name, tools.map(shownName), 5);
  return `${none} Nearest: ${nameList(near, 600)}. search_tools finds tools by what they do.`;
}
