// The files that a commit or a pause brings: those of its results, and those that a result made anew needs so that the path
// of the older one has something to answer with.
import { readBlocks } from './compact-facts.ts';
import type { CommitInput } from './commit-input.ts';
import { answeringFile, blockOf, type AddedFile, type NewFile } from './store/manifest-changes.ts';
import { loadManifest } from './store/manifest.ts';
import type { CommittedResult, RecordedFiles, StagedFiles, TurnIdentity } from '../shared/activities.ts';
import { resultPath } from '../shared/call-key.ts';
import type { FileFacts } from '../shared/facts.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { Manifest } from '../shared/manifest.ts';

/** Files to pin, in order, and files to hold. */
export interface CommittedFiles {
  readonly added: readonly AddedFile[];
  readonly staged: readonly NewFile[];
}

/**
 * The files of an input whose lists of blocks are filled in. `mayHaveEarlier`: whether a call of it may have left files before,
 * which is looked up then. Raises the store's errors.
 */
export async function filesOf(
  store: FileStore,
  { turn, commit, retried = [], pause, rebuild = [] }: CommitInput,
  { mayHaveEarlier }: { readonly mayHaveEarlier: boolean },
): Promise<CommittedFiles> {
  const results = [...(commit?.results ?? []), ...retried.map((one) => one.result)];
  const earlier = mayHaveEarlier && results.length > 0 ? await loadManifest(store, turn) : null;
  const added = await Promise.all(results.map((result) => filesOfResult(store, result, { turn, earlier })));
  const staged = await Promise.all((pause?.staged ?? []).map((one) => filesOfStaged(store, one, turn)));
  const again = await Promise.all(rebuild.map((one) => filesOfRecord(store, one, turn)));
  return { added: [...again, ...added].flat(), staged: staged.flat() };
}

async function filesOfResult(
  store: FileStore,
  result: CommittedResult,
  { turn, earlier }: { readonly turn: TurnIdentity; readonly earlier: Manifest | null },
): Promise<CommittedFiles['added']> {
  const supersedes = result.outcome === 'ok';
  const files: FileFacts[] = [...(result.file ? [result.file] : []), ...result.blocks, ...result.written];
  const named = files.map((file) => ({ file: newFile(file, result, turn), supersedes }));
  const inline = earlier && !result.file ? await inlineAsFile(store, result, { turn, earlier }) : null;
  if (!inline) return named;
  return [{ file: { ...newFile(inline, result, turn), inline: true }, supersedes }, ...named];
}

/** What stands inline has no path; where the same call left a file before, its path is to answer with what is newer. */
async function inlineAsFile(
  store: FileStore,
  { callKey, tool, outcome, context }: CommittedResult,
  { turn, earlier }: { readonly turn: TurnIdentity; readonly earlier: Manifest },
): Promise<FileFacts | null> {
  if (outcome !== 'ok') return null;
  const before = earlier.files.find(
    (file) =>
      file.origin === turn.workflowId &&
      file.callKey === callKey &&
      file.state !== 'staged' &&
      blockOf(file.path) === 0,
  );
  if (!before) return null;
  const ref = 'blob' in context ? context.blob : await store.putBlob(Buffer.from(context.text));
  if (answeringFile(earlier, before)?.sha256 === ref.sha256) return null;
  const path = resultPath({ callKey, tool, sha256: ref.sha256, extension: 'txt' });
  return { path, sha256: ref.sha256, bytes: ref.bytes, mediaType: 'text/plain' };
}

async function filesOfStaged(store: FileStore, staged: StagedFiles, turn: TurnIdentity): Promise<readonly NewFile[]> {
  const blocks = staged.blocksRef ? await readBlocks(staged.blocksRef, store) : [];
  return [...staged.files, ...blocks].map((file) => newFile(file, staged, turn));
}

async function filesOfRecord(
  store: FileStore,
  record: RecordedFiles,
  turn: TurnIdentity,
): Promise<CommittedFiles['added']> {
  const blocks = record.blocksRef ? await readBlocks(record.blocksRef, store) : [];
  return [...record.files, ...blocks].map((file) => {
    return { file: newFile(file, record, turn), supersedes: record.supersedes };
  });
}

function newFile(
  { path, sha256, bytes, mediaType }: FileFacts,
  call: Pick<CommittedResult, 'callKey' | 'server' | 'tool' | 'retention' | 'generation'>,
  turn: TurnIdentity,
): NewFile {
  const { callKey, server, tool, retention, generation } = call;
  return {
    path,
    sha256,
    bytes,
    mediaType,
    callKey,
    server,
    tool,
    origin: turn.workflowId,
    ...(retention && { retention }),
    ...(generation !== undefined && generation > 0 && { generation }),
  };
}
