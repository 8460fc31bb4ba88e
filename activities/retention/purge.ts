// Deletes all of a session from the store, at once: files, transcripts, manifests, journals, tombstones. What another session refers to
// stays, and so does what a turn of another session may have come upon and not said yet. Holds and open turns refuse it.
import { randomUUID } from 'node:crypto';
import { sha256Hex } from '../../shared/digest.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { objectKey, type BlobRef, type FileStore } from '../../shared/file-store.ts';
import { describeTarget, isHeldBy, type Hold } from '../../shared/holds.ts';
import type { Manifest } from '../../shared/manifest.ts';
import { isReleased } from '../../shared/retention-verdict.ts';
import { addTally, DEFAULT_GRACE_MS, earlier, EMPTY_TALLY, type SweepTally } from '../../shared/sweep.ts';
import { shardOf } from '../store/intents.ts';
import { listHolds } from '../store/holds.ts';
import { listManifests, manifestKey } from '../store/manifest.ts';
import { listTombstones } from '../store/tombstones.ts';
import { deleteInShard } from './delete-blobs.ts';
import { deleteObjects, eachOf } from './paging.ts';
import { addCatalogRecords, addManifest, noReferences, type References } from './references.ts';
import type { RunningTurn, TemporalView } from './temporal-view.ts';

/** What a purge works with. */
export interface PurgeContext {
  readonly store: FileStore;
  readonly temporal: TemporalView;
  readonly session: string;
  /** Turns of the session that Temporal knows, beside those that the store knows. */
  readonly listed: readonly string[];
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** What a purge would delete. */
export interface PurgePlan {
  readonly manifests: readonly Manifest[];
  /** All turns of the session. */
  readonly turns: readonly string[];
  readonly own: References;
  readonly others: References;
  /** What other turns that run may have come upon since, and not said yet. */
  readonly oldestSavedMs: number | null;
}

/** What went. */
export interface PurgedStore {
  readonly turns: readonly {
    readonly workflowId: string;
    readonly transcript: BlobRef | null;
    readonly files: readonly { readonly path: string; readonly sha256: string; readonly bytes: number }[];
  }[];
  readonly blobsDeleted: number;
  readonly bytesDeleted: number;
  readonly journalsDeleted: number;
  readonly tombstonesDeleted: number;
  /** Blobs that other sessions refer to: they stay until those let go. */
  readonly blobsShared: number;
  /** Blobs that a running turn of another session may have come upon: a later sweep deletes them. */
  readonly blobsLeft: number;
}

/** A turn that begins while its session is purged, or goes on from one of it. */
interface Newcomer {
  readonly workflowId: string;
  readonly continues: string | null;
}

/**
 * Finds all of a session. Raises `TurnNotFound` where nothing is known of it, `TurnRunning` for open turns, `FileHeld` for holds,
 * `BlobCorrupt` where it cannot be told what others refer to.
 */
export async function planPurge(context: PurgeContext): Promise<PurgePlan> {
  const { store, session, temporal, listed } = context;
  const all = await Array.fromAsync(listManifests(store));
  const manifests = all.filter((manifest) => manifest.turn.session === session);
  const swept = await tombstonesOf(store, session);
  const known = [...manifests.map((manifest) => manifest.turn.workflowId), ...swept.map((one) => one.workflowId)];
  const turns = [...new Set([...known, ...listed])];
  const unknown = await unknownTurns(temporal, all);
  refuseStarting(session, await newcomersIn(unknown, { session, turns, temporal }));
  await refuseOpen(session, turns, temporal);
  const holds = await listHolds(store);
  if (turns.length === 0) throw sessionUnknown(session);
  refuseHeld(session, manifests, holds);
  const own = noReferences();
  for (const manifest of manifests) await addOwn(own, manifest, store);
  const others = noReferences();
  await addCatalogRecords(others, store);
  let oldestSavedMs = unknown.reduce<number | null>((oldest, { startedMs }) => earlier(oldest, startedMs), null);
  for (const manifest of all) {
    if (manifest.turn.session === session) continue;
    const isOpen = !isReleased(manifest);
    await addManifest(others, manifest, { store, holds, isOpen });
    if (isOpen) oldestSavedMs = earlier(oldestSavedMs, await savedIfRunning(manifest, temporal));
  }
  const [problem] = others.problems;
  if (others.blocking > 0 && problem) throw new LongshoreError('BlobCorrupt', problem.message, problem.mend);
  return { manifests, turns, own, others, oldestSavedMs };
}

/** Deletes what was found. Blobs go first, so that a purge that was cut off can be run again. */
export async function purgeStore({ store, session }: PurgeContext, plan: PurgePlan): Promise<PurgedStore> {
  const blobs = await deleteBlobs(store, plan);
  const journals: string[] = [];
  for (const workflowId of plan.turns) {
    for await (const key of store.listObjects(objectKey(sha256Hex, 'journal', workflowId))) journals.push(key);
  }
  await deleteObjects(store, journals);
  const tombstones = await tombstonesOf(store, session);
  await deleteObjects(
    store,
    tombstones.map(({ key }) => key),
  );
  await deleteObjects(
    store,
    plan.manifests.map((manifest) => manifestKey(manifest.turn)),
  );
  const { kept, blobsDeleted, bytesDeleted } = blobs;
  return {
    turns: plan.turns.map((workflowId) => ({ workflowId, ...whatWent(plan, workflowId) })),
    blobsDeleted,
    bytesDeleted,
    journalsDeleted: journals.length,
    tombstonesDeleted: tombstones.length,
    blobsShared: [...plan.own.hashes].filter((sha256) => plan.others.hashes.has(sha256)).length,
    blobsLeft: (kept.running ?? 0) + (kept.busy ?? 0),
  };
}

/** What says of files of the session that they were deleted, and of which turns they were. */
async function tombstonesOf(
  store: FileStore,
  session: string,
): Promise<readonly { readonly key: string; readonly workflowId: string }[]> {
  const own: { key: string; workflowId: string }[] = [];
  for await (const { key, tombstone } of listTombstones(store)) {
    if (tombstone.session === session) own.push({ key, workflowId: tombstone.workflowId });
  }
  return own;
}

async function deleteBlobs(store: FileStore, { own, others, oldestSavedMs }: PurgePlan): Promise<SweepTally> {
  const going = new Set([...own.hashes].filter((sha256) => !others.hashes.has(sha256)));
  const shards = [...new Set([...going].map(shardOf))];
  const by = `purge ${randomUUID()}`;
  const tallies = await eachOf(shards, async (shard) =>
    deleteInShard(shard, {
      store,
      by,
      dryRun: false,
      isReferenced: (sha256) => !going.has(sha256),
      keptBecause: (_, { intentMs }) =>
        intentMs !== null && oldestSavedMs !== null && intentMs > oldestSavedMs - DEFAULT_GRACE_MS / 2
          ? 'running'
          : null,
    }),
  );
  return tallies.reduce<SweepTally>(addTally, EMPTY_TALLY);
}

function whatWent({ manifests }: PurgePlan, workflowId: string): Omit<PurgedStore['turns'][number], 'workflowId'> {
  const manifest = manifests.find(({ turn }) => turn.workflowId === workflowId);
  const files = (manifest?.files ?? []).filter(({ state }) => state !== 'deleted');
  return {
    transcript: manifest?.head ?? null,
    files: files.map(({ path, sha256, bytes }) => ({ path, sha256, bytes })),
  };
}

/** Superseded and deleted files too: their bytes may still be there. */
async function addOwn(into: References, manifest: Manifest, store: FileStore): Promise<void> {
  for (const file of manifest.files) into.hashes.add(file.sha256);
  // As of an open turn, so that journals and lists are read; a chain with gaps is what a purge that was cut off leaves.
  await addManifest(into, manifest, { store, holds: [], isOpen: true });
  if (manifest.letGo) await addManifest(into, { ...manifest, ...manifest.letGo }, { store, holds: [], isOpen: false });
}

async function savedIfRunning(manifest: Manifest, temporal: TemporalView): Promise<number | null> {
  const standing = await temporal.describe(manifest.turn.workflowId);
  if (standing.status !== 'open') return null;
  const isParked = (manifest.waiting ?? []).length > 0 && standing.isIdle;
  return isParked ? null : (manifest.savedAt ?? standing.startedMs);
}

/** Turns that run and have no manifest. */
async function unknownTurns(temporal: TemporalView, all: readonly Manifest[]): Promise<readonly RunningTurn[]> {
  const known = new Set(all.map((manifest) => manifest.turn.workflowId));
  return (await Array.fromAsync(temporal.running())).filter(({ workflowId }) => !known.has(workflowId));
}

/** Those of them that are of the session, or go on from a turn of it: what they wrote, or read, is known to no manifest. */
async function newcomersIn(
  unknown: readonly RunningTurn[],
  { session, turns, temporal }: Pick<PurgeContext, 'session' | 'temporal'> & Pick<PurgePlan, 'turns'>,
): Promise<readonly Newcomer[]> {
  const origins = await eachOf(unknown, async ({ workflowId }) => ({
    workflowId,
    origin: await temporal.originOf(workflowId),
  }));
  return origins.flatMap(({ workflowId, origin }) => {
    const continues = origin?.continues ?? null;
    const isOfIt = origin?.session === session || (continues !== null && turns.includes(continues));
    return isOfIt ? [{ workflowId, continues }] : [];
  });
}

/**
 * Turns that came into the session, or went on from one of it, while it was purged: what they keep is left. To be asked when all
 * else is done. Raises what `planPurge` raises for Temporal and the store.
 */
export async function turnsSince(
  { store, temporal, session }: PurgeContext,
  { turns }: Pick<PurgePlan, 'turns'>,
): Promise<readonly string[]> {
  const all = await Array.fromAsync(listManifests(store));
  const manifests = all.filter(({ turn }) => turn.session === session).map(({ turn }) => turn.workflowId);
  const newcomers = await newcomersIn(await unknownTurns(temporal, all), { session, turns, temporal });
  return [...new Set([...manifests, ...newcomers.map(({ workflowId }) => workflowId)])];
}

function refuseStarting(session: string, newcomers: readonly Newcomer[]): void {
  if (newcomers.length === 0) return;
  const list = newcomers.map(({ workflowId, continues }) =>
    continues === null ? workflowId : `${workflowId} (goes on from ${continues})`,
  );
  throw new LongshoreError(
    'TurnRunning',
    `Session \`${session}\` has turns that have just begun: ${list.join(', ')}`,
    `End them first: ${newcomers.map(({ workflowId }) => `longshore turns cancel ${workflowId}`).join('; ')}`,
  );
}

async function refuseOpen(session: string, turns: readonly string[], temporal: TemporalView): Promise<void> {
  const standings = await eachOf(turns, async (id) => ({ id, standing: await temporal.describe(id) }));
  const open = standings.filter(({ standing }) => standing.status === 'open').map(({ id }) => id);
  if (open.length === 0) return;
  throw new LongshoreError(
    'TurnRunning',
    `Session \`${session}\` has turns that are open: ${open.join(', ')}`,
    `End them first: ${open.map((id) => `longshore turns cancel ${id}`).join('; ')}`,
  );
}

function refuseHeld(session: string, manifests: readonly Manifest[], holds: readonly Hold[]): void {
  const subjects = manifests.flatMap(({ turn, files }) => [
    { session, workflowId: turn.workflowId },
    ...files.map(({ path }) => ({ session, workflowId: turn.workflowId, path })),
  ]);
  const holding = holds.filter(
    (hold) =>
      (hold.target.type === 'session' && hold.target.session === session) ||
      subjects.some((subject) => isHeldBy(hold, subject)),
  );
  if (holding.length === 0) return;
  const list = holding.map(({ target, by }) => `${describeTarget(target)} (by ${by})`).join(', ');
  throw new LongshoreError(
    'FileHeld',
    `Session \`${session}\` cannot be purged while holds are on it: ${list}`,
    'Take the holds away with `longshore files unhold`, if that is allowed.',
  );
}

function sessionUnknown(session: string): LongshoreError {
  return new LongshoreError(
    'TurnNotFound',
    `Neither the file store nor Temporal knows a turn of session \`${session}\``,
    'A session is what `run --session` gave it, else the id of its first turn: see `longshore turns list`.',
  );
}
