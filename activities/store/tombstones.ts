// What is left of a deleted file: who made it, by which call, when and why it went. Objects of their own, by path and
// turn, so that a path can be asked for whatever became of its manifest.
import { z } from 'zod';
import { sha256Hex } from '../../shared/digest.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { objectKey, type FileStore } from '../../shared/file-store.ts';

const FOLDER = 'tombstones';

/** A deleted file. */
export interface Tombstone {
  readonly version: 1;
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly mediaType: string;
  /** The call that made it. */
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  /** The Workflow that made it. */
  readonly origin: string;
  /** The turn that let it go. */
  readonly workflowId: string;
  readonly session: string;
  /** Milliseconds since 1970. */
  readonly deletedAt: number;
  /** In words, as in "its retention of 7d after the turn's end was over". */
  readonly why: string;
}

const schema = z.looseObject({
  version: z.literal(1),
  path: z.string(),
  sha256: z.string(),
  bytes: z.number(),
  mediaType: z.string(),
  callKey: z.string(),
  server: z.string(),
  tool: z.string(),
  origin: z.string(),
  workflowId: z.string(),
  session: z.string(),
  deletedAt: z.number(),
  why: z.string(),
}) satisfies z.ZodType<Tombstone>;

/** Writes a tombstone, in place of an earlier one of that path and turn. */
export async function putTombstone(store: FileStore, tombstone: Tombstone): Promise<void> {
  const key = tombstoneKey(tombstone);
  await store.putObject(key, new TextEncoder().encode(JSON.stringify(tombstone)));
}

/** Takes a tombstone away. */
export async function removeTombstone(
  store: FileStore,
  tombstone: Pick<Tombstone, 'path' | 'workflowId'>,
): Promise<void> {
  await store.deleteObject(tombstoneKey(tombstone));
}

/** The tombstones of a path, of one turn or of all, the latest first. To be asked when no manifest has the file. */
export async function findTombstones(
  store: FileStore,
  path: string,
  { workflowId }: { readonly workflowId?: string } = {},
): Promise<readonly Tombstone[]> {
  const found: Tombstone[] = [];
  for await (const key of store.listObjects(objectKey(sha256Hex, FOLDER, path))) {
    const tombstone = await readTombstone(store, key);
    if (tombstone !== null && (workflowId === undefined || tombstone.workflowId === workflowId)) found.push(tombstone);
  }
  return found.sort((a, b) => b.deletedAt - a.deletedAt);
}

/** Every tombstone with its key. */
export async function* listTombstones(
  store: FileStore,
): AsyncGenerator<{ readonly key: string; readonly tombstone: Tombstone }> {
  for await (const key of store.listObjects(FOLDER)) {
    const tombstone = await readTombstone(store, key);
    if (tombstone !== null) yield { key, tombstone };
  }
}

/**
 * The keys of tombstones of files that were deleted before a time. Where the store's listings have times, only those are read that
 * were written before it.
 */
export async function oldTombstones(store: FileStore, beforeMs: number): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const key of candidates(store, beforeMs)) {
    const tombstone = await readTombstone(store, key);
    if (tombstone !== null && tombstone.deletedAt < beforeMs) keys.push(key);
  }
  return keys;
}

async function* candidates(store: FileStore, beforeMs: number): AsyncGenerator<string> {
  if (!store.listObjectTimes) return yield* store.listObjects(FOLDER);
  for await (const { key, modifiedMs } of store.listObjectTimes(FOLDER)) if (modifiedMs < beforeMs) yield key;
}

/** What a reader is told of a deleted file: that it went, when, why, and how to have its data again. */
export function tombstoneText(tombstone: Tombstone): string {
  const { path, deletedAt, why, bytes, server, tool, callKey, origin } = tombstone;
  return (
    `${path} was deleted on ${new Date(deletedAt).toISOString()}: ${why}. ` +
    `It had ${bytes} bytes, made by ${server}.${tool} (call ${callKey} of turn ${origin}). ` +
    `To have its data again, call ${tool} again.`
  );
}

function tombstoneKey({ path, workflowId }: Pick<Tombstone, 'path' | 'workflowId'>): string {
  return objectKey(sha256Hex, FOLDER, path, workflowId);
}

async function readTombstone(store: FileStore, key: string): Promise<Tombstone | null> {
  const stored = await store.getObject(key);
  if (stored === null) return null;
  try {
    return schema.parse(JSON.parse(new TextDecoder().decode(stored.body)));
  } catch (error) {
    throw new LongshoreError(
      'BlobCorrupt',
      `The tombstone \`${key}\` in the ${store.description} cannot be read: ${messageOf(error)}.`,
      'Delete the object: it keeps no data, it only tells of a deleted file.',
      { cause: error },
    );
  }
}
