// A server's catalog as a turn has it, and the version in the server's record: both from one listing.
import { log } from '@temporalio/activity';
import type { ActivityDependencies } from '../dependencies.ts';
import type { Catalog, CatalogServer, ServerCatalogFacts } from '../../shared/catalog.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { Asked, Selected } from './ask-server.ts';
import { definitionTokensOf } from './definitions.ts';
import { encodeCatalog } from './encode.ts';
import { briefly, catalogOf } from './exposed.ts';
import { isFresh, loadCatalogRecord, updateCatalogRecord } from './record.ts';

/** Stores what a server offers to the agent; an empty catalog where it could not be asked. */
export async function keepServerCatalog(
  { server, tools }: Pick<Asked, 'server' | 'tools'>,
  { store }: Pick<ActivityDependencies, 'store'>,
): Promise<ServerCatalogFacts> {
  const catalog = catalogOf([{ server, tools }]);
  const { bytes, hash } = await encodeCatalog(catalog);
  const ref = await store.putBlob(bytes);
  const { name, unavailable } = server;
  return {
    server: name,
    ref,
    hash,
    toolCount: catalog.tools.length,
    definitionTokens: catalog.tools.length === 0 ? 0 : await definitionTokensOf(catalog.tools),
    problems: briefly(server).problems,
    ...(unavailable !== undefined && { unavailable }),
  };
}

/**
 * Adds all that a server offers to its record. What the turn needs does not depend on it: a store that refuses is logged.
 * Times are those of the Worker's clock.
 */
export async function recordListing(
  all: readonly Selected[],
  server: CatalogServer,
  { store, redact }: Pick<ActivityDependencies, 'store' | 'redact'>,
): Promise<void> {
  try {
    await recordCatalog(catalogOf([{ server, tools: all }]), server, store);
  } catch (error) {
    if (!(error instanceof LongshoreError)) throw error;
    const { type, message } = error;
    log.warn('the catalog of a tool server was not recorded', {
      server: server.name,
      errorType: type,
      error: redact(message),
    });
  }
}

/** Adds a catalog of all that a server offers to its record. Raises what the store raises. */
export async function recordCatalog(
  catalog: Catalog,
  server: CatalogServer,
  store: ActivityDependencies['store'],
): Promise<void> {
  const { bytes, hash } = await encodeCatalog(catalog);
  const before = await loadCatalogRecord(store, server.name).catch(unreadable);
  if (isFresh(before, { hash }, Date.now())) return;
  const ref = await store.putBlob(bytes);
  const known = before?.versions.find((version) => version.hash === hash);
  const definitionTokens = known?.definitionTokens ?? (await definitionTokensOf(catalog.tools));
  const description = describedBy(server);
  const seen = { hash, ref, toolCount: catalog.tools.length, definitionTokens };
  await updateCatalogRecord(store, server.name, { ...seen, ...(description !== undefined && { description }) });
}

/** What a model is told of a server of which it sees no tools: as configured, else in the server's own words. */
export function describedBy({ description, instructions }: CatalogServer): string | undefined {
  return description ?? instructions;
}

function unreadable(error: unknown): null {
  if (error instanceof LongshoreError && error.type === 'BlobCorrupt') return null;
  throw error;
}
