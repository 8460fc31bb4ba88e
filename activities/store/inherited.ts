// Before a turn keeps files of one that ended long ago: a sweep may be about to delete them, and must learn of it first.
import { relyOnBlob } from './intents.ts';
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

function mayGo(file: ManifestFile, { retention, endedAt = 0 }: Manifest, nowMs: number): boolean {
  if (file.state === 'deleted') return false;
  if (file.state === 'released') return true;
  const { afterTurnMs, maxAgeMs } = file.retention ?? retention ?? { afterTurnMs: DEFAULT_AFTER_TURN_MS };
  const atMs = Math.min(endedAt + afterTurnMs, maxAgeMs === undefined ? Infinity : (file.pinnedAt ?? 0) + maxAgeMs);
  return nowMs + SWEEP_MS > atMs;
}
