// Before a turn keeps files of one that ended long ago, or is opened again itself: a sweep may be about to delete them, and
// must learn of it first.
import { relyOnBlob } from './intents.ts';
import { listManifests, loadManifest, updateManifest } from './manifest.ts';
import type { ContinueFrom, TurnIdentity } from '../../shared/activities.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';
import { DEFAULT_AFTER_TURN_MS } from '../../shared/retention.ts';

/** Far above what a sweep takes from its look at the manifests to its last deletion. */
const SWEEP_MS = 6 * 3_600_000;
const AT_ONCE = 8;

/**
 * Tells sweeps of every file of a closed turn that its retention may let go by now. A file that is gone already is no error
 * here: the check of the files that follows says so. Raises `StoreUnavailable`.
 */
export async function relyOnInherited(store: FileStore, before: Manifest, nowMs: number = Date.now()): Promise<void> {
  const hashes = new Set(before.files.filter((file) => mayGo(file, before, nowMs)).map((file) => file.sha256));
  const queue = [...hashes];
  const work = async (): Promise<void> => {
    for (let sha256 = queue.pop(); sha256 !== undefined; sha256 = queue.pop()) {
      const wanted = sha256;
      await relyOnBlob(store, wanted, async () => (await store.statBlob(wanted)) !== null);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** What a turn finds of the one that it goes on from. */
export interface Before {
  /** Null where it is gone, though this turn has kept what it needs of it. */
  readonly manifest: Manifest | null;
  /** This turn's manifest does not say yet what it goes on from. */
  readonly isFirst: boolean;
}

/**
 * Looks what a turn goes on from. `isKnown`: it has done so before, though its manifest is lost.
 * Raises what `requireKept` does, where it is asked for the first time.
 */
export async function beforeContinuing(
  store: FileStore,
  turn: TurnIdentity,
  { from, isKnown }: { readonly from: ContinueFrom; readonly isKnown: boolean },
): Promise<Before> {
  const isFirst = !isKnown && (await loadManifest(store, turn))?.continues === undefined;
  const manifest = isFirst ? await requireKept(store, from) : await loadManifest(store, from);
  if (manifest) await relyOnInherited(store, manifest);
  return { manifest, isFirst };
}

/** Raises `TurnNotContinuable` where a sweep or a purge has let go what the earlier turn said. */
export async function requireKept(store: FileStore, from: ContinueFrom): Promise<Manifest> {
  const manifest = await loadManifest(store, from);
  const isLetGo = manifest?.head === null && manifest.endedAt !== undefined;
  if (manifest !== null && !isLetGo) return manifest;
  throw new LongshoreError(
    'TurnNotContinuable',
    `Turn \`${from.workflowId}\` cannot be continued: its transcript was deleted, by its retention or a purge of session \`${from.session}\``,
    'Start a new turn.',
  );
}

/**
 * Runs `reset`, which opens a turn again, so that no sweep takes its files on the way: sweeps learn before it that they are
 * relied on, and after it the manifest says that the turn is open. Raises what `reset` raises, and the store's errors.
 */
export async function reopeningTurn<T>(store: FileStore, workflowId: string, reset: () => Promise<T>): Promise<T> {
  const manifests = await Array.fromAsync(listManifests(store, { workflowId }));
  for (const manifest of manifests) await relyOnInherited(store, manifest);
  const done = await reset();
  for (const { turn } of manifests) await updateManifest(store, turn, reopened);
  return done;
}

function reopened({ ended: _ended, endedAt: _endedAt, ...open }: Manifest): Manifest {
  const pinned = (file: ManifestFile): ManifestFile =>
    file.state === 'released' ? { ...file, state: 'pinned' } : file;
  return { ...open, files: open.files.map(pinned) };
}

function mayGo(file: ManifestFile, { retention, endedAt = 0 }: Manifest, nowMs: number): boolean {
  if (file.state === 'deleted') return false;
  if (file.state === 'released') return true;
  const { afterTurnMs, maxAgeMs } = file.retention ?? retention ?? { afterTurnMs: DEFAULT_AFTER_TURN_MS };
  const atMs = Math.min(endedAt + afterTurnMs, maxAgeMs === undefined ? Infinity : (file.pinnedAt ?? 0) + maxAgeMs);
  return nowMs + SWEEP_MS > atMs;
}
