// Where a call's tool is looked for: the turn's tool array, and the catalogs of servers that the turn has loaded since.
import { findTool } from '../discovery/context.ts';
import type { Catalog, CatalogServer, CatalogTool } from '../../shared/catalog.ts';
import { DISCOVERY_SERVER } from '../../shared/discovery-tools.ts';
import { PEOPLE_SERVER } from '../../shared/sandbox-tools.ts';

/** What calls of a turn are judged by. */
export interface CallCatalogs {
  /** The tool array. */
  readonly frame: Catalog;
  /** One catalog a server. What was loaded since counts before the tool array. */
  readonly loaded: readonly Catalog[];
}

/** What is known of a server. */
export interface KnownServer {
  readonly name: string;
  /** Null while its catalog is not loaded, or could not be: then only a part of its tools is known. */
  readonly tools: readonly CatalogTool[] | null;
  /** What is known all the same: those in the tool array. */
  readonly shown: readonly CatalogTool[];
  /** Of one that is not asked again in this turn. */
  readonly unavailable?: CatalogServer;
}

/** Whether tools are found by discovery in this turn. */
export function hasDiscovery({ frame }: CallCatalogs): boolean {
  return frame.tools.some(({ server }) => server === DISCOVERY_SERVER);
}

/** Every tool that is known: those in the array, as the loaded catalogs have them now, and all others of those. */
export function knownTools({ frame, loaded }: CallCatalogs): readonly CatalogTool[] {
  const usable = loaded.filter(isAvailable);
  if (usable.length === 0) return frame.tools;
  const newer = new Set(usable.flatMap(({ servers }) => servers.map(({ name }) => name)));
  return [...usable.flatMap(({ tools }) => tools), ...frame.tools.filter(({ server }) => !newer.has(server))];
}

/** A server of the turn, or null. */
export function knownServer({ frame, loaded }: CallCatalogs, name: string): KnownServer | null {
  const shown = frame.tools.filter(({ server }) => server === name);
  const catalog = loaded.find((one) => isAvailable(one) && one.servers.some((server) => server.name === name));
  if (catalog) return { name, tools: catalog.tools, shown };
  const entry = frame.servers.find((server) => server.name === name);
  if (!entry) return shown.length > 0 ? { name, tools: shown, shown } : null; // a built-in one
  if (isDeferred(entry)) return { name, tools: null, shown };
  return { name, tools: shown, shown, ...(entry.unavailable !== undefined && { unavailable: entry }) };
}

/** The servers that a call can name, those that people configured first. */
export function serverNames({ frame }: CallCatalogs): readonly string[] {
  const configured = frame.servers.map(({ name }) => name);
  const builtIn = frame.tools.map(({ server }) => server).filter((name) => name !== PEOPLE_SERVER);
  return [...new Set([...configured, ...builtIn])].filter((name) => name !== DISCOVERY_SERVER);
}

/** A server whose tools are not all in the array. */
export function isDeferred({ mode }: CatalogServer): boolean {
  return mode === 'deferred' || mode === 'selective';
}

/** Whether discovery finds the tools of a server: of one that is deferred, or was loaded anew since it changed. */
export function isFound(name: string, { frame, loaded }: CallCatalogs): boolean {
  const isOfName = (server: CatalogServer): boolean => server.name === name;
  return (
    frame.servers.some((server) => isOfName(server) && isDeferred(server)) ||
    loaded.some(({ servers }) => servers.some(isOfName))
  );
}

/** A tool of a server by its own name, else by the exposed one. */
export function toolOfServer({ tools, shown }: KnownServer, name: string): CatalogTool | null {
  return findTool(tools ?? shown, name) ?? null;
}

function isAvailable({ servers }: Catalog): boolean {
  return servers.every(({ unavailable }) => unavailable === undefined);
}
