// Deletes the blobs that nothing refers to, one part of the store after another, beside writers: see `store/intents.ts`.
import { deleteObjects, eachOf } from './paging.ts';
import {
  intentKey,
  INTENTS_FOLDER,
  intentsFolder,
  markShard,
  readIntent,
  shardOf,
  type Mark,
} from '../store/intents.ts';
import { keysBelow, type BlobListing, type FileStore } from '../../shared/file-store.ts';
import type { KeptReason, SweepFrame, SweepTally } from '../../shared/sweep.ts';

/** What decides which blobs may go. */
export interface DeletionContext {
  readonly store: FileStore;
  /** Whether something refers to a blob. */
  readonly isReferenced: (sha256: string) => boolean;
  /** Why a blob that nothing refers to is kept all the same, by when it was last written or meant to be used; null: it goes. */
  readonly keptBecause: (effectiveMs: number, blob: { readonly intentMs: number | null }) => KeptReason | null;
  /** Which blobs had intents a while ago, by shard: for the first look. @default looked up */
  readonly intents?: ReadonlyMap<string, readonly string[]>;
  /** Who deletes, for the mark. */
  readonly by: string;
  readonly dryRun: boolean;
}

/** The rule of a sweep: past the grace age, and older than what a running turn may have written since it was last known. */
export function sweepRule(
  { nowMs, graceMs }: SweepFrame,
  oldestSavedMs: number | null,
): DeletionContext['keptBecause'] {
  return (effectiveMs) => {
    if (effectiveMs > nowMs - graceMs) return 'young';
    return oldestSavedMs !== null && effectiveMs > oldestSavedMs - graceMs / 2 ? 'running' : null;
  };
}

/** A second's work for a server, so that a mark outlives what was begun under it. */
const BATCH_BLOBS = 250;

interface Going extends BlobListing {
  readonly hasIntent: boolean;
}

interface Candidates {
  readonly going: readonly Going[];
  /** Intents of blobs that are not there. */
  readonly idleIntents: readonly string[];
  readonly tally: Partial<SweepTally>;
}

/** Sweeps the blobs whose hash begins with two digits. Raises `StoreUnavailable`. */
export async function deleteInShard(shard: string, context: DeletionContext): Promise<Partial<SweepTally>> {
  const { store, by, dryRun } = context;
  const seen = await candidatesIn(shard, context, context.intents?.get(shard) ?? (context.intents ? [] : undefined));
  if (dryRun) return { ...seen.tally, blobsDeleted: seen.going.length, bytesDeleted: sumOf(seen.going) };
  if (seen.going.length === 0 && seen.idleIntents.length === 0) return seen.tally;
  const mark = await markShard(store, shard, by);
  if (mark === null) return { ...seen.tally, kept: { ...seen.tally.kept, busy: seen.going.length } };
  try {
    // Looked at again under the mark: what was meant to be used since has an intent, what was written since is younger.
    const { going, idleIntents, tally } = await candidatesIn(shard, context);
    const gone = await deleteMarked(store, going, mark);
    const isGone = new Set(gone);
    const theirs = going.flatMap((blob) => (blob.hasIntent && isGone.has(blob) ? [blob.sha256] : []));
    // A writer who waits for the mark finds its blob missing, and writes it: its intent is not needed any more.
    if (mark.isLive()) await deleteObjects(store, [...theirs, ...idleIntents].map(intentKey));
    const busy = going.length - gone.length;
    return { ...tally, blobsDeleted: gone.length, bytesDeleted: sumOf(gone), kept: { ...tally.kept, busy } };
  } finally {
    await mark.release();
  }
}

/** Deletes until the mark's life is over; gives what went. */
async function deleteMarked(store: FileStore, going: readonly Going[], mark: Mark): Promise<readonly Going[]> {
  const gone: Going[] = [];
  const step = store.deleteBlobs ? BATCH_BLOBS : 1;
  const batches = Array.from({ length: Math.ceil(going.length / step) }, (_, n) =>
    going.slice(n * step, (n + 1) * step),
  );
  await eachOf(batches, async (batch) => {
    if (!mark.isLive()) return;
    const hashes = batch.map(({ sha256 }) => sha256);
    if (store.deleteBlobs) await store.deleteBlobs(hashes);
    else for (const sha256 of hashes) await store.deleteBlob(sha256);
    gone.push(...batch);
  });
  return gone;
}

async function candidatesIn(shard: string, context: DeletionContext, seen?: readonly string[]): Promise<Candidates> {
  const { store } = context;
  const intents = new Set(seen ?? (await intentsIn(store, shard)));
  const going: Going[] = [];
  const kept: { [reason in KeptReason]?: number } = {};
  let blobsReferenced = 0;
  for await (const blob of store.listBlobs(shard)) {
    const hasIntent = intents.delete(blob.sha256);
    if (context.isReferenced(blob.sha256)) {
      blobsReferenced += 1;
      continue;
    }
    const intentMs = hasIntent ? await readIntent(store, blob.sha256) : null;
    const reason = context.keptBecause(Math.max(blob.modifiedMs, intentMs ?? 0), { intentMs });
    if (reason === null) going.push({ ...blob, hasIntent });
    else kept[reason] = (kept[reason] ?? 0) + 1;
  }
  return { going, idleIntents: [...intents], tally: { blobsReferenced, kept } };
}

async function intentsIn(store: FileStore, shard: string): Promise<string[]> {
  const keys = await Array.fromAsync(keysBelow(store, intentsFolder(shard)));
  return keys.map((key) => key.slice(key.lastIndexOf('/') + 1));
}

/** Up to so many are worth a listing of all of them. */
const MOST_INTENTS = 4_000;

/** All intents by shard, in few requests; undefined where there are many. */
export async function intentsByShard(store: FileStore): Promise<DeletionContext['intents']> {
  const shards = new Map<string, string[]>();
  let count = 0;
  for await (const key of keysBelow(store, INTENTS_FOLDER)) {
    if (++count > MOST_INTENTS) return undefined;
    const sha256 = key.slice(key.lastIndexOf('/') + 1);
    shards.set(shardOf(sha256), [...(shards.get(shardOf(sha256)) ?? []), sha256]);
  }
  return shards;
}

function sumOf(blobs: readonly BlobListing[]): number {
  return blobs.reduce((sum, { bytes }) => sum + bytes, 0);
}
