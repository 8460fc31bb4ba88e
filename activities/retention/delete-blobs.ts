// Deletes the blobs that nothing refers to, one part of the store after another, beside writers: see `store/intents.ts`.
import { deleteObjects, eachOf } from './paging.ts';
import { intentsFolder, markShard, readIntent } from '../store/intents.ts';
import type { BlobListing, FileStore } from '../../shared/file-store.ts';
import type { KeptReason, SweepFrame, SweepTally } from '../../shared/sweep.ts';

/** What decides which blobs may go. */
export interface DeletionContext {
  readonly store: FileStore;
  /** Whether something refers to a blob. */
  readonly isReferenced: (sha256: string) => boolean;
  /** Why a blob that nothing refers to is kept all the same, by when it was last written or meant to be used; null: it goes. */
  readonly keptBecause: (effectiveMs: number, blob: { readonly intentMs: number | null }) => KeptReason | null;
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

interface Candidates {
  readonly going: readonly BlobListing[];
  /** Intents of blobs that are not there. */
  readonly idleIntents: readonly string[];
  readonly tally: Partial<SweepTally>;
}

/** Sweeps the blobs whose hash begins with two digits. Raises `StoreUnavailable`. */
export async function deleteInShard(shard: string, context: DeletionContext): Promise<Partial<SweepTally>> {
  const { store, by, dryRun } = context;
  const seen = await candidatesIn(shard, context);
  if (dryRun) return { ...seen.tally, blobsDeleted: seen.going.length, bytesDeleted: sumOf(seen.going) };
  if (seen.going.length === 0 && seen.idleIntents.length === 0) return seen.tally;
  const mark = await markShard(store, shard, by);
  if (mark === null) return { ...seen.tally, kept: { ...seen.tally.kept, busy: seen.going.length } };
  try {
    // Looked at again under the mark: what was meant to be used since has an intent, what was written since is younger.
    const { going, idleIntents, tally } = await candidatesIn(shard, context);
    const gone: BlobListing[] = [];
    await eachOf(going, async (blob) => {
      if (!mark.isLive()) return;
      await store.deleteBlob(blob.sha256);
      gone.push(blob);
    });
    const folder = intentsFolder(shard);
    const theirs = (await intentsIn(store, shard)).filter((sha256) => gone.some((blob) => blob.sha256 === sha256));
    // A writer who waits for the mark finds its blob missing, and writes it: its intent is not needed any more.
    if (mark.isLive())
      await deleteObjects(
        store,
        [...theirs, ...idleIntents].map((sha256) => `${folder}/${sha256}`),
      );
    const busy = going.length - gone.length;
    return { ...tally, blobsDeleted: gone.length, bytesDeleted: sumOf(gone), kept: { ...tally.kept, busy } };
  } finally {
    await mark.release();
  }
}

async function candidatesIn(shard: string, context: DeletionContext): Promise<Candidates> {
  const { store } = context;
  const intents = new Set(await intentsIn(store, shard));
  const going: BlobListing[] = [];
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
    if (reason === null) going.push(blob);
    else kept[reason] = (kept[reason] ?? 0) + 1;
  }
  return { going, idleIntents: [...intents], tally: { blobsReferenced, kept } };
}

async function intentsIn(store: FileStore, shard: string): Promise<string[]> {
  const keys = await Array.fromAsync(store.listObjects(intentsFolder(shard)));
  return keys.map((key) => key.slice(key.lastIndexOf('/') + 1));
}

function sumOf(blobs: readonly BlobListing[]): number {
  return blobs.reduce((sum, { bytes }) => sum + bytes, 0);
}
