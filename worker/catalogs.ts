// Catalogs of tool servers as the command line uses them: records and versions in the store, servers asked now, and what tools
// take of a request.
import { questionOffer, sandboxOffer } from '../activities/catalogs/built-in.ts';
import { definitionTokensOf } from '../activities/catalogs/definitions.ts';
import { catalogOf } from '../activities/catalogs/exposed.ts';
import { refreshCatalogs, type RefreshedServer } from '../activities/catalogs/refresh.ts';
import { callDiscoveryTool } from '../activities/discovery/server.ts';
import { countTokens } from '../activities/measure.ts';
import type { LocalServer } from '../activities/mcp/local.ts';
import { createMcpPool } from '../activities/mcp/pool.ts';
import type { CatalogTool } from '../shared/catalog.ts';
import type { FileStore } from '../shared/file-store.ts';
import { redact } from '../shared/mcp-config-schema.ts';
import type { McpConfig } from '../shared/mcp-config.ts';
import { splitWords } from '../shared/words.ts';
import { ownSecrets } from './secrets.ts';

export { definitionTokensOf, discoveryTokens } from '../activities/catalogs/definitions.ts';
export { modeOf } from '../activities/catalogs/modes.ts';
export { createCatalogReader, type ReadCatalog } from '../activities/catalogs/read-catalog.ts';
export { listCatalogRecords, loadCatalogRecord } from '../activities/catalogs/record.ts';
export type { RefreshedServer } from '../activities/catalogs/refresh.ts';

/** Which servers to ask, and where their records are. */
export interface RefreshOptions {
  readonly mcp: McpConfig;
  readonly localServers: readonly LocalServer[];
  readonly configFolder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly store: FileStore;
  /** @default all that are configured */
  readonly servers?: readonly string[];
}

/** Starts the servers, asks them what they offer, records it, and ends them. Raises as `refreshCatalogs` does. */
export async function askServersNow(options: RefreshOptions): Promise<readonly RefreshedServer[]> {
  const { mcp, localServers, configFolder, env, store } = options;
  const pool = createMcpPool({ config: mcp, localServers, env, configFolder, log: () => {} });
  try {
    const secrets = (): readonly string[] => [...pool.secrets(), ...ownSecrets(env)];
    const dependencies = { pool, store, redact: (text: string) => redact(text, secrets()) };
    return await refreshCatalogs(options.servers ?? pool.names(), dependencies);
  } finally {
    await pool.close();
  }
}

/** Tokens of the definitions of Longshore's own tools, the discovery tools left out. */
export async function builtInTokens(): Promise<number> {
  return definitionTokensOf(catalogOf([sandboxOffer(), questionOffer()]).tools);
}

/** Tokens of the answer to a search by a tool's own words, among the tools of its server: what it takes to find it. */
export async function findTokensOf(
  tool: CatalogTool,
  catalog: { readonly hash: string; readonly tools: readonly CatalogTool[] },
): Promise<number> {
  const { server, title = '' } = tool;
  const query = [...new Set(splitWords(`${tool.tool} ${title}`))].join(' ');
  const { text } = await callDiscoveryTool(
    'search_tools',
    { query, mcp_server: server },
    { catalogs: [{ server, ...catalog }] },
  );
  return (await countTokens(text)).tokens;
}
