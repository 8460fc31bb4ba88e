// What the commands about catalogs go by: recorded versions of servers, found by name and hash, and servers asked now.
import type { LocalServer } from '../../worker/services.ts';
import { askServersNow, createCatalogReader, listCatalogRecords, loadCatalogRecord } from '../../worker/catalogs.ts';
import type { CatalogRecord, CatalogVersion } from '../../shared/catalog-record.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { CommandContext } from '../command.ts';
import { errorLines } from '../failure.ts';
import { openProject } from '../project.ts';
import { openStore } from '../store.ts';
import { visible } from '../waiting-lines.ts';

/** As much of a hash is shown; as much is enough to name a version. */
export const HASH_SHOWN = 12;

/** What commands that may ask servers now are given. */
export interface CatalogOptions {
  readonly refresh?: true;
  readonly mcp?: string;
}

/** What was recorded, and how complete it is. */
export interface Recorded {
  readonly store: FileStore;
  /** Sorted by server. */
  readonly records: readonly CatalogRecord[];
  /** Whether a record could not be read, or a server could not be asked: told on standard error. */
  readonly isPartial: boolean;
}

/** A version with what it holds. */
export interface LoadedVersion {
  readonly server: string;
  readonly version: CatalogVersion;
  readonly tools: readonly CatalogTool[];
}

/**
 * The records in the store; with `refresh` after the configured servers were asked, or the one named.
 * Raises `McpServerUnknown`, `CatalogNotFound` for a server that has no record, `StoreUnavailable`.
 */
export async function recordedCatalogs(
  context: CommandContext,
  options: CatalogOptions,
  server?: string,
): Promise<Recorded> {
  const project = await openProject(context, { mcp: options.mcp });
  const { env, output } = context;
  const store = openStore(project.home, env, project.config);
  let isPartial = false;
  if (options.refresh) {
    const { mcp, configFolder } = project.mcp;
    // `checkConfig` has proved that these came from `defineLocalServer`.
    const localServers = (project.config.localServers ?? []) as readonly LocalServer[];
    const named = server === undefined ? {} : { servers: [server] };
    for (const asked of await askServersNow({ mcp, localServers, configFolder, env, store, ...named })) {
      if (asked.unavailable !== undefined) {
        isPartial = true;
        output.note(visible(`${asked.server} could not be asked: ${asked.unavailable}`));
      }
      for (const { tool, problem } of asked.problems) {
        output.note(visible(`${asked.server}.${tool} is left out: ${problem}`));
      }
    }
  }
  if (server !== undefined) return { store, records: [await requireRecord(store, server)], isPartial };
  const records = await listCatalogRecords(store, (error) => {
    isPartial = true;
    for (const line of errorLines(error.toRecord())) output.note(line);
  });
  return { store, records, isPartial };
}

/** A server's record. Raises `CatalogNotFound`, naming those there are. */
export async function requireRecord(store: FileStore, server: string): Promise<CatalogRecord> {
  const record = await loadCatalogRecord(store, server);
  if (record !== null && record.versions.length > 0) return record;
  const others = (await listCatalogRecords(store, () => {})).map((one) => `\`${one.server}\``);
  const known = others.length === 0 ? 'None is recorded yet.' : `Recorded are ${others.join(', ')}.`;
  throw new LongshoreError(
    'CatalogNotFound',
    `No catalog of a server \`${server}\` is recorded. ${known}`,
    'A turn that asks the server records it, and so does `longshore catalog show --refresh`.',
  );
}

/** The newest version, or the one whose hash begins so. Raises `CatalogNotFound`. */
export function versionOf({ server, versions }: CatalogRecord, hash?: string): CatalogVersion {
  const found = hash === undefined ? versions.slice(0, 1) : versions.filter((one) => one.hash.startsWith(hash));
  const [version] = found;
  if (version && found.length === 1) return version;
  const known = versions.map((one) => one.hash.slice(0, HASH_SHOWN)).join(', ');
  throw new LongshoreError(
    'CatalogNotFound',
    `${found.length === 0 ? 'No' : 'More than one'} recorded catalog of server \`${server}\` has a hash that begins with \`${hash}\``,
    `Name one of ${known}.`,
  );
}

/** A version with its tools. Raises `BlobMissing`, `BlobCorrupt`. */
export async function loadVersion(store: FileStore, record: CatalogRecord, hash?: string): Promise<LoadedVersion> {
  const version = versionOf(record, hash);
  const { tools } = await createCatalogReader(store)(version.ref);
  return { server: record.server, version, tools };
}

/** A version as documents have it. */
export function versionDocument({ ref: _ref, firstSeen, lastSeen, ...rest }: CatalogVersion): Record<string, unknown> {
  return { ...rest, firstSeen: new Date(firstSeen).toISOString(), lastSeen: new Date(lastSeen).toISOString() };
}
