// What a sweep let go and a hold should have kept, because the sweep died between the two: given back as long as it is there.
import { eachOf } from './paging.ts';
import { addManifest, noReferences } from './references.ts';
import { relyOnBlob } from '../store/intents.ts';
import { updateManifest } from '../store/manifest.ts';
import { removeTombstone } from '../store/tombstones.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { Hold } from '../../shared/holds.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';
import { heldThoughLetGo } from '../../shared/retention-verdict.ts';

/**
 * The manifest with what holds keep of it. The bytes of what was let go stand until a sweep deletes them, which learns here that
 * they are relied on. Raises the store's errors.
 */
export async function giveBackHeld(store: FileStore, manifest: Manifest, holds: readonly Hold[]): Promise<Manifest> {
  const held = heldThoughLetGo(manifest, holds);
  if (held.files.length === 0 && held.transcript === undefined) return manifest;
  const isThere = await eachOf(held.files, async ({ sha256 }) => isStill(store, sha256));
  const files = new Set(held.files.filter((_, index) => isThere[index]).map(({ path }) => path));
  const transcript = held.transcript && (await isWhole(store, manifest, held.transcript)) ? held.transcript : undefined;
  if (files.size === 0 && transcript === undefined) return manifest;
  const given = await updateManifest(store, manifest.turn, (current) => giveBack(current, files, transcript));
  await eachOf([...files], async (path) => removeTombstone(store, { path, workflowId: manifest.turn.workflowId }));
  return given;
}

function giveBack(manifest: Manifest, paths: ReadonlySet<string>, transcript: Manifest['letGo']): Manifest {
  const files = manifest.files.map((file): ManifestFile =>
    file.state === 'deleted' && paths.has(file.path) ? { ...file, state: 'released' } : file,
  );
  if (transcript === undefined || manifest.head !== null) return { ...manifest, files };
  const { letGo: _letGo, ...rest } = manifest;
  return { ...rest, ...transcript, files };
}

async function isStill(store: FileStore, sha256: string): Promise<boolean> {
  return relyOnBlob(store, sha256, async () => (await store.statBlob(sha256)) !== null);
}

/** Whether each segment of the chain can still be read. */
async function isWhole(
  store: FileStore,
  manifest: Manifest,
  transcript: NonNullable<Manifest['letGo']>,
): Promise<boolean> {
  const found = noReferences();
  const { refs: _refs, ...rest } = manifest;
  await addManifest(found, { ...rest, ...transcript, files: [] }, { store, holds: [], isOpen: false });
  const isThere = await eachOf([...found.hashes], async (sha256) => isStill(store, sha256));
  return found.problems.length === 0 && isThere.every(Boolean);
}
