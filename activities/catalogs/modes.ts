// How each server of a turn reaches the model: as the spec says, but for catalogs so small that deferring them saves nothing.
import type { ActivityDependencies } from '../dependencies.ts';
import type { SpecServer } from '../../shared/agent-spec.ts';
import type { CatalogMode, CatalogServer } from '../../shared/catalog.ts';
import type { CatalogRecord, CatalogVersion } from '../../shared/catalog-record.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { selects } from '../../shared/policy.ts';
import { log } from '@temporalio/activity';
import { askServer, type Asked, type Asking, type Offer, type Selected } from './ask-server.ts';
import { definitionTokensOf, discoveryTokens } from './definitions.ts';
import { catalogOf } from './exposed.ts';
import { loadCatalogRecord } from './record.ts';
import { cut } from './words.ts';

/** One server of the turn, asked or not. */
export interface Standing {
  readonly spec: SpecServer;
  readonly mode: CatalogMode;
  readonly modeReason?: 'small';
  /** Null where it need not be asked. */
  readonly asked: Asked | null;
  /** The newest version in its record. */
  readonly recorded?: CatalogVersion;
}

/** What the spec asks for. */
export function modeOf({ preload, preload_tools: preloaded }: SpecServer): CatalogMode {
  if (preload) return 'preloaded';
  return preloaded.length > 0 ? 'selective' : 'deferred';
}

/**
 * Asks the servers whose tools are needed now, all at once, and of the deferred ones those of which nothing is known; then
 * those too that are to be preloaded since all the deferred ones together are small. Raises what `askServer` raises.
 */
export async function standServers(specs: readonly SpecServer[], asking: Asking): Promise<readonly Standing[]> {
  const first = await Promise.all(specs.map((spec) => standServer(spec, asking)));
  const deferred = first.filter(({ mode }) => mode === 'deferred');
  // The discovery tools stay for a selective server: whatever is preloaded beside them makes requests larger.
  if (deferred.length === 0 || first.some(({ mode }) => mode === 'selective')) return first;
  if (!(await areSmall(deferred))) return first;
  const all = await Promise.all(
    first.map(async (one) => (one.asked ? one : { ...one, asked: await askServer(one.spec, asking) })),
  );
  // A record may be older than the server.
  if (!(await areSmall(all.filter(({ mode }) => mode === 'deferred')))) return all;
  return all.map((one) => (one.mode === 'deferred' ? { ...one, mode: 'preloaded', modeReason: 'small' } : one));
}

async function standServer(spec: SpecServer, asking: Asking): Promise<Standing> {
  const { pool, store, redact } = asking.dependencies;
  const mode = modeOf(spec);
  // Raises `McpServerUnknown`, for servers too that are not asked.
  const { description } = pool.settings(spec.name);
  if (mode !== 'deferred') return { spec, mode, asked: await askServer(spec, asking) };
  const recorded = (await recordOf(store, spec.name, redact))?.versions[0];
  const isKnown = description !== undefined || recorded !== undefined;
  return { spec, mode, asked: isKnown ? null : await askServer(spec, asking), ...(recorded && { recorded }) };
}

/** Without its record a server is asked again, and the turn needs nothing else of it. */
async function recordOf(
  store: ActivityDependencies['store'],
  server: string,
  redact: (text: string) => string,
): Promise<CatalogRecord | null> {
  try {
    return await loadCatalogRecord(store, server);
  } catch (error) {
    if (!(error instanceof LongshoreError)) throw error;
    log.warn('the record of a tool server was not read', {
      server,
      errorType: error.type,
      error: redact(messageOf(error)),
    });
    return null;
  }
}

/** Whether all of them together take no more of a request than the discovery tools, as far as is known. */
async function areSmall(servers: readonly Standing[]): Promise<boolean> {
  let left = await discoveryTokens();
  for (const { asked, recorded } of servers) {
    if (asked ? asked.all === null : !recorded) return false;
    left -= asked ? await tokensWithin(asked.tools, left) : (recorded?.definitionTokens ?? Infinity);
    if (left < 0) return false;
  }
  return true;
}

/** Tokens of definitions, counted exactly where they may fit. */
async function tokensWithin(tools: readonly Selected[], limit: number): Promise<number> {
  if (tools.length === 0) return 0;
  return definitionTokensOf(catalogOf([{ tools }]).tools, limit * 2);
}

/** What a server contributes to the tool array, and its entry in the turn's catalog. */
export function offerOf(standing: Standing, asking: Asking): Offer & { readonly server: CatalogServer } {
  const { spec, mode, modeReason, asked } = standing;
  if (!asked) return { server: unaskedServer(standing, asking), tools: [] };
  const server = { ...asked.server, mode, ...(modeReason && { modeReason }) };
  if (mode === 'preloaded') return { server, tools: asked.tools };
  const shown = mode === 'deferred' ? [] : spec.preload_tools;
  return { server, tools: asked.tools.filter(({ tool, tags }) => selects(shown, tool, tags)) };
}

function unaskedServer({ spec, mode, recorded }: Standing, { dependencies }: Asking): CatalogServer {
  const { pool, redact } = dependencies;
  const { timeoutMs, description: configured } = pool.settings(spec.name);
  const description = configured === undefined ? recorded?.description : cut(redact(configured).trim(), 1_000);
  return {
    name: spec.name,
    mode,
    unasked: true,
    ...(description !== undefined && description !== '' && { description }),
    toolCount: recorded?.toolCount ?? 0,
    timeoutMs,
    problems: [],
  };
}
