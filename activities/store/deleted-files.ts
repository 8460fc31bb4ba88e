// What readers are told of a file that is gone for good: by its tombstone, else by the manifest that knew it.
import type { TurnIdentity } from '../../shared/activities.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { ManifestFile } from '../../shared/manifest.ts';
import { findTombstones, tombstoneText, type Tombstone } from './tombstones.ts';

/** Who asks. */
export interface DeletedFileAsked {
  /** Of this turn and the one that made the file alone: other sessions' tombstones are not for it. @default of any turn */
  readonly turn?: Pick<TurnIdentity, 'workflowId'>;
  /** The manifest's entry for the path, where it has one. */
  readonly entry?: ManifestFile | null;
}

/** Words on a deleted file and how to get its data again; null for a path that never was one. Raises the store's errors. */
export async function deletedFileText(
  store: FileStore,
  path: string,
  asked: DeletedFileAsked = {},
): Promise<string | null> {
  const tombstone = await tombstoneOf(store, path, asked);
  if (tombstone) return tombstoneText(tombstone);
  const { entry } = asked;
  if (!entry) return null;
  return `${entry.path} was deleted. It was made by call ${entry.callKey} (${entry.server}/${entry.tool}): repeat that call to get the data again.`;
}

async function tombstoneOf(
  store: FileStore,
  path: string,
  { turn, entry }: DeletedFileAsked,
): Promise<Tombstone | null> {
  const found = await findTombstones(store, path);
  if (!turn) return found[0] ?? null;
  const makers = [turn.workflowId, entry?.origin];
  return found.find(({ workflowId, origin }) => makers.includes(workflowId) || makers.includes(origin)) ?? null;
}
