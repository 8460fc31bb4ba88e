// Finds a sandbox file by its path for `files show` and `files get`, with the file that answers for it, and says what there is
// to say of one that is deleted.
import { LongshoreError } from '../shared/errors.ts';
import { holdersOf } from '../shared/file-standing.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { Hold } from '../shared/holds.ts';
import type { ManifestFile } from '../shared/manifest.ts';
import type { FoundFile } from '../worker/files.ts';

/** A path as the store knows it. */
export interface FoundPath {
  /** By the turn that made it, where that is known. */
  readonly first: FoundFile;
  /** In every turn that knows it. */
  readonly all: readonly FoundFile[];
  /** Whose content the path has: its own, or that of what superseded it. */
  readonly answer: ManifestFile;
}

/**
 * Finds a path in all turns, or in one. Raises `FileNotFound`, `FileDeleted`, and `UsageInvalid` where turns have other contents
 * under it.
 */
export async function findPath(store: FileStore, path: string, turn: string | undefined): Promise<FoundPath> {
  const { answeringFile, findFile } = await import('../worker/files.ts');
  const all = await findFile(store, path, turn === undefined ? {} : { workflowId: turn });
  const answers = all.flatMap((found) => {
    const answer = answeringFile(found.manifest, found.file);
    return answer && answer.state !== 'deleted' ? [{ found, answer }] : [];
  });
  const [first] = answers;
  if (!first) throw await goneError(store, path, { turn, entry: all[0]?.file });
  if (new Set(answers.map(({ answer }) => answer.sha256)).size > 1) {
    const turns = answers.map(({ found }) => found.manifest.turn.workflowId).join(', ');
    throw new LongshoreError(
      'UsageInvalid',
      `\`${path}\` has other contents in each of these turns: ${turns}`,
      'Say whose with --turn ID.',
    );
  }
  return { first: first.found, all, answer: first.answer };
}

/** A file as `--json` shows it. */
export function fileDocument({ manifest, file }: FoundFile, holds: readonly Hold[]): Record<string, unknown> {
  const { path, bytes, sha256, mediaType, state, callKey, server, tool, origin, generation = 0 } = file;
  const { workflowId, session } = manifest.turn;
  return {
    path,
    bytes,
    sha256,
    mediaType,
    state,
    workflowId,
    session,
    callKey,
    server,
    tool,
    origin,
    generation,
    supersededBy: file.supersededBy ?? null,
    pinnedAt: file.pinnedAt === undefined ? null : new Date(file.pinnedAt).toISOString(),
    heldBy: holdersOf(manifest, file, holds),
  };
}

async function goneError(
  store: FileStore,
  path: string,
  { turn, entry }: { readonly turn: string | undefined; readonly entry: ManifestFile | undefined },
): Promise<LongshoreError> {
  const { deletedFileText } = await import('../worker/files.ts');
  const asked = { ...(turn !== undefined && { turn: { workflowId: turn } }), ...(entry && { entry }) };
  const deleted = await deletedFileText(store, entry?.path ?? path, asked);
  if (deleted !== null)
    return new LongshoreError('FileDeleted', deleted, 'See what there is with `longshore files list`.');
  const whose = turn === undefined ? 'any turn' : `turn \`${turn}\``;
  return new LongshoreError(
    'FileNotFound',
    `There is no sandbox file \`${path}\` in ${whose}`,
    'See what there is with `longshore files list`.',
  );
}
