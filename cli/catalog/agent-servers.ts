// What an agent's servers offer it, with what each tool takes of a request: from the records of the servers, else from what the
// agent's newest turns saw.
import type { TurnRecord } from '../../client/turn-record.ts';
import {
  createCatalogReader,
  definitionTokensOf,
  discoveryTokens,
  findTokensOf,
  loadCatalogRecord,
  modeOf,
  type ReadCatalog,
} from '../../worker/catalogs.ts';
import type { SpecServer } from '../../shared/agent-spec.ts';
import type { AdvisedServer, ServerSetting } from '../../shared/catalog-choice.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { isEnabled, selects } from '../../shared/policy.ts';
import type { AgentTurns } from './recorded-turns.ts';

/** An agent's servers as its newest turn has them. */
export interface AgentServers {
  readonly servers: readonly AdvisedServer[];
  /** Of which no catalog is known. */
  readonly unknown: readonly string[];
  /** Of these, those that are preloaded against the spec, since they are small. */
  readonly small: readonly string[];
}

/** Looks them up and counts. Raises what the store raises, but for catalogs that are gone. */
export async function agentServers({ agent, turns, records }: AgentTurns, store: FileStore): Promise<AgentServers> {
  const read = createCatalogReader(store);
  const spec = turns[0]?.spec ?? [];
  const servers: AdvisedServer[] = [];
  const unknown: string[] = [];
  for (const server of spec) {
    const found = await catalogOf(server, { records, store, read });
    if (!found) {
      unknown.push(server.name);
      continue;
    }
    const called = new Set(
      turns
        .flatMap((turn) => turn.requests.flatMap(({ calls }) => calls))
        .flatMap((call) => (call.server === server.name ? [call.tool] : [])),
    );
    const hash = `${found.hash} ${agent}`;
    const tools = await Promise.all(
      found.tools.map(async (tool) => ({
        tool: tool.tool,
        definitionTokens: await definitionTokensOf([tool]),
        findTokens: called.has(tool.tool) ? await findTokensOf(tool, { hash, tools: found.tools }) : 0,
      })),
    );
    servers.push({ server: server.name, tools, now: settingOf(server, found.tools) });
  }
  return withSmall(servers, unknown);
}

interface Known {
  readonly hash: string;
  /** After the spec's selection. */
  readonly tools: readonly CatalogTool[];
}

interface Places {
  readonly records: readonly TurnRecord[];
  readonly store: FileStore;
  readonly read: ReadCatalog;
}

async function catalogOf(spec: SpecServer, { records, store, read }: Places): Promise<Known | null> {
  const version = (await loadCatalogRecord(store, spec.name))?.versions[0];
  const recorded = version ? await read(version.ref).catch(unlessGone) : null;
  if (version && recorded) {
    return { hash: version.hash, tools: recorded.tools.filter(({ tool, tags }) => isEnabled(spec, tool, tags)) };
  }
  for (const { catalog, loaded } of records) {
    const facts = [...(catalog?.catalogs ?? []), ...loaded].findLast(({ server }) => server === spec.name);
    const entry = catalog?.servers.find(({ name }) => name === spec.name);
    const ref = facts?.ref ?? (entry && !entry.unasked && entry.unavailable === undefined ? catalog?.ref : undefined);
    const seen = ref && (await read(ref).catch(unlessGone));
    if (ref && seen) return { hash: ref.sha256, tools: seen.tools.filter(({ server }) => server === spec.name) };
  }
  return null;
}

function unlessGone(error: unknown): null {
  if (error instanceof LongshoreError && error.type === 'BlobMissing') return null;
  throw error;
}

function settingOf(spec: SpecServer, tools: readonly CatalogTool[]): ServerSetting {
  const mode = modeOf(spec);
  const preloaded = tools.filter(({ tool, tags }) => selects(spec.preload_tools, tool, tags)).map(({ tool }) => tool);
  return { mode, preloadTools: mode === 'selective' ? preloaded.sort() : [] };
}

/** As a turn does it: where all that is deferred takes no more than the discovery tools, it is preloaded. */
async function withSmall(servers: readonly AdvisedServer[], unknown: readonly string[]): Promise<AgentServers> {
  const hidden = servers.filter(({ now }) => now.mode !== 'preloaded');
  const tokens = hidden.flatMap(({ tools }) => tools).reduce((sum, tool) => sum + tool.definitionTokens, 0);
  const isSmall =
    unknown.length === 0 && hidden.every(({ now }) => now.mode === 'deferred') && tokens <= (await discoveryTokens());
  if (!isSmall || hidden.length === 0) return { servers, unknown, small: [] };
  const preloaded = servers.map((server) => ({ ...server, now: { mode: 'preloaded', preloadTools: [] } as const }));
  return { servers: preloaded, unknown, small: hidden.map(({ server }) => server) };
}
