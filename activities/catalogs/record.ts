// The record of a server's catalogs in the store: a named object that many Workers write, each on what the others wrote.
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import {
  CATALOG_RECORDS,
  MOST_VERSIONS,
  type CatalogRecord,
  type CatalogVersion,
} from '../../shared/catalog-record.ts';
import { sha256Hex } from '../../shared/digest.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { objectKey, type FileStore, type StoredObject } from '../../shared/file-store.ts';

/** Of one record by many writers. */
const MAX_ATTEMPTS = 8;
const LONGEST_PAUSE_MS = 50;
/** A version that was seen a moment ago is not written again. */
const FRESH_MS = 60_000;
/** Dates end here. */
const LAST_DATE_MS = 8.64e15;

const recordSchema = z.looseObject({
  version: z.literal(1),
  server: z.string(),
  versions: z.array(
    z.looseObject({
      hash: z.string(),
      ref: z.looseObject({ sha256: z.string(), bytes: z.number() }),
      firstSeen: z.number().min(0).max(LAST_DATE_MS),
      lastSeen: z.number().min(0).max(LAST_DATE_MS),
      toolCount: z.number(),
      definitionTokens: z.number(),
      description: z.string().exactOptional(),
    }),
  ),
}) satisfies z.ZodType<CatalogRecord>;

/** What was listed. */
export type SeenVersion = Omit<CatalogVersion, 'firstSeen' | 'lastSeen'>;

/** Where a server's record stands. */
export function catalogRecordKey(server: string): string {
  return objectKey(sha256Hex, CATALOG_RECORDS, server);
}

/** A server's record, or null. Raises `BlobCorrupt`, naming the key, for one that cannot be read. */
export async function loadCatalogRecord(store: FileStore, server: string): Promise<CatalogRecord | null> {
  const key = catalogRecordKey(server);
  const stored = await store.getObject(key);
  return stored === null ? null : parseRecord(store, key, stored);
}

/** Every server's record, sorted by server; those that cannot be read are told and left out. */
export async function listCatalogRecords(
  store: FileStore,
  onUnreadable: (error: LongshoreError) => void,
): Promise<readonly CatalogRecord[]> {
  const records: CatalogRecord[] = [];
  for await (const key of store.listObjects(CATALOG_RECORDS)) {
    try {
      const stored = await store.getObject(key);
      if (stored !== null) records.push(parseRecord(store, key, stored)); // else taken away since it was listed
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      onUnreadable(error);
    }
  }
  return records.sort((a, b) => (a.server < b.server ? -1 : 1));
}

/** Whether the record has this version as its newest, seen a moment ago. */
export function isFresh(record: CatalogRecord | null, seen: Pick<SeenVersion, 'hash'>, nowMs: number): boolean {
  const newest = record?.versions[0];
  return newest?.hash === seen.hash && Math.abs(nowMs - newest.lastSeen) < FRESH_MS;
}

/** The record after a version was seen. Pure. */
export function withVersion(
  record: CatalogRecord | null,
  { server, seen, nowMs }: { readonly server: string; readonly seen: SeenVersion; readonly nowMs: number },
): CatalogRecord {
  const versions = record?.versions ?? [];
  const before = versions.find(({ hash }) => hash === seen.hash);
  const version: CatalogVersion = {
    ...seen,
    firstSeen: before?.firstSeen ?? nowMs,
    lastSeen: Math.max(before?.lastSeen ?? nowMs, nowMs),
  };
  const others = versions.filter(({ hash }) => hash !== seen.hash);
  return { version: 1, server, versions: [version, ...others].slice(0, MOST_VERSIONS) };
}

/**
 * Adds what was listed. One that cannot be read is begun anew: it is no writer's work.
 * Raises `StoreConflict` after 8 attempts, `StoreUnavailable`, `StoreFull`.
 */
export async function updateCatalogRecord(
  store: FileStore,
  server: string,
  seen: SeenVersion,
  nowMs: number = Date.now(),
): Promise<void> {
  const key = catalogRecordKey(server);
  for (let attempt = 1; ; attempt += 1) {
    const stored = await undamaged(store, key);
    const record = stored === null ? null : readable(store, key, stored);
    if (attempt > 1 && isFresh(record, seen, nowMs)) return;
    const body = new TextEncoder().encode(JSON.stringify(withVersion(record, { server, seen, nowMs })));
    try {
      await store.putObject(key, body, stored === null ? { ifAbsent: true } : { ifMatch: stored.etag });
      return;
    } catch (error) {
      const isConflict = error instanceof LongshoreError && error.type === 'StoreConflict';
      if (!isConflict || attempt >= MAX_ATTEMPTS) throw error;
      await delay(Math.random() * LONGEST_PAUSE_MS);
    }
  }
}

/** A damaged object has no etag to write on: it makes room. */
async function undamaged(store: FileStore, key: string): Promise<StoredObject | null> {
  try {
    return await store.getObject(key);
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    await store.deleteObject(key);
    return null;
  }
}

/** Damaged where it lies, or no record by what it says. */
function isUnreadable(error: unknown): error is LongshoreError {
  return error instanceof LongshoreError && error.type === 'BlobCorrupt';
}

function readable(store: FileStore, key: string, stored: StoredObject): CatalogRecord | null {
  try {
    return parseRecord(store, key, stored);
  } catch {
    return null;
  }
}

function parseRecord(store: FileStore, key: string, { body }: StoredObject): CatalogRecord {
  try {
    return recordSchema.parse(JSON.parse(new TextDecoder().decode(body)));
  } catch (error) {
    throw new LongshoreError(
      'BlobCorrupt',
      `The record of a tool server's catalogs \`${key}\` in the ${store.description} cannot be read: ${messageOf(error)}`,
      'The next listing of that server begins it anew; or bring the object back from a copy of the store.',
      { cause: error },
    );
  }
}
