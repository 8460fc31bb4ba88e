// Asks configured servers what they offer outside of any turn, and adds it to their records.
import type { SpecServer } from '../../shared/agent-spec.ts';
import type { CatalogServer } from '../../shared/catalog.ts';
import { askServer, type ListingDependencies } from './ask-server.ts';
import { catalogOf } from './exposed.ts';
import { recordCatalog } from './server-catalog.ts';

/** What asking a server came to. */
export interface RefreshedServer {
  readonly server: string;
  /** Why it could not be asked; its record is as before. */
  readonly unavailable?: string;
  /** Tools that were left out, and why. */
  readonly problems: CatalogServer['problems'];
}

/**
 * Asks all of these at once. Raises `McpServerUnknown` for one that is not configured, `StoreUnavailable`, `StoreFull` and
 * `StoreConflict`; a server that fails is told in its result.
 */
export async function refreshCatalogs(
  servers: readonly string[],
  dependencies: ListingDependencies,
): Promise<readonly RefreshedServer[]> {
  for (const name of servers) dependencies.pool.server(name);
  const signal = new AbortController().signal;
  return Promise.all(
    servers.map(async (name): Promise<RefreshedServer> => {
      const asking = { dependencies, signal, workflowId: 'catalog', detailed: true, isLate: true };
      const { server, all } = await askServer(wholeServer(name), asking);
      if (all !== null) await recordCatalog(catalogOf([{ server, tools: all }]), server, dependencies.store);
      const { problems, unavailable } = server;
      return { server: name, problems, ...(unavailable !== undefined && { unavailable }) };
    }),
  );
}

/** All of its tools, whatever a spec selects. */
function wholeServer(name: string): SpecServer {
  return {
    name,
    enable_tools: ['@all'],
    disable_tools: [],
    preload: true,
    preload_tools: [],
    require_approval_for_tools: [],
    tool_settings: {},
  };
}
