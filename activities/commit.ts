// The commit of a step: pins first, then the transcript. Running it again changes nothing.
import { readBlocks } from './compact-facts.ts';
import { loadManifest, updateManifest } from './store/manifest.ts';
import type { CallModelInput, CommittedResult, StepCommit, TurnIdentity } from '../shared/activities.ts';
import type { FileFacts } from '../shared/facts.ts';
import type { BlobRef, FileStore } from '../shared/file-store.ts';
import type { Manifest, ManifestFile } from '../shared/manifest.ts';
import type { ToolResultMessage, ToolResultPart, TranscriptMessage } from '../shared/messages.ts';

/** What an Activity is to commit before its own work. */
export type CommitInput = Pick<CallModelInput, 'turn' | 'continueFrom' | 'messages' | 'commit'>;

/** The input with the lists of blocks that went by reference. */
export async function withBlocks<T extends Pick<CommitInput, 'commit'>>(input: T, store: FileStore): Promise<T> {
  if (!input.commit?.results.some((result) => result.blocksRef)) return input;
  const results = await Promise.all(input.commit.results.map((result) => resultWithBlocks(result, store)));
  return { ...input, commit: { ...input.commit, results } };
}

async function resultWithBlocks(result: CommittedResult, store: FileStore): Promise<CommittedResult> {
  if (!result.blocksRef) return result;
  const blocks = await readBlocks(result.blocksRef, store);
  const shown = new Set(result.imageBlocks);
  return { ...result, blocks, images: blocks.filter((block) => shown.has(block.block)) };
}

/** Pins what the step's context will refer to, and what an earlier turn's context refers to. */
export async function pinFiles(store: FileStore, input: CommitInput): Promise<void> {
  const inherited = input.continueFrom ? await inheritedFiles(store, input.continueFrom) : [];
  const added = (input.commit?.results ?? []).flatMap((result) => filesOf(result, input.turn));
  if (inherited.length === 0 && added.length === 0 && !input.continueFrom) return;
  await updateManifest(store, input.turn, (current) => ({
    ...current,
    ...(input.continueFrom && { continues: input.continueFrom.workflowId }),
    files: merge(current.files, [...inherited, ...added]),
  }));
}

/** Records the head, and the end of a turn. */
export async function closeManifest(
  store: FileStore,
  turn: TurnIdentity,
  head: BlobRef | null,
  ended: string | undefined,
): Promise<void> {
  await updateManifest(store, turn, (current): Manifest => ({
    ...current,
    head,
    ...(ended !== undefined && { ended }),
  }));
}

/** The messages that a commit and new user messages add to the transcript, with their tokens as recorded. */
export function committedMessages(commit: StepCommit | undefined): readonly TranscriptMessage[] {
  return (commit?.results ?? []).map(resultMessage);
}

/** Tokens that a commit's results cost in context. */
export function committedTokens(commit: StepCommit | undefined): number {
  return (commit?.results ?? []).reduce((sum, result) => sum + result.tokens, 0);
}

function resultMessage(result: CommittedResult): ToolResultMessage {
  const { callKey, callId, name, outcome, placement, rule } = result;
  const text: ToolResultPart =
    'text' in result.context
      ? { type: 'text', text: result.context.text }
      : { type: 'text-blob', ref: result.context.blob };
  const images = result.images.map(({ sha256, bytes, mediaType }) => ({
    type: 'image-blob' as const,
    ref: { sha256, bytes },
    mediaType,
  }));
  return { type: 'tool.result', callKey, callId, name, outcome, placement, rule, parts: [text, ...images] };
}

function filesOf(result: CommittedResult, turn: TurnIdentity): ManifestFile[] {
  const files: FileFacts[] = [...(result.file ? [result.file] : []), ...result.blocks, ...result.written];
  return files.map(({ path, sha256, bytes, mediaType }) => ({
    path,
    sha256,
    bytes,
    mediaType,
    state: 'pinned',
    callKey: result.callKey,
    server: result.server,
    tool: result.tool,
    origin: turn.workflowId,
  }));
}

async function inheritedFiles(
  store: FileStore,
  from: NonNullable<CommitInput['continueFrom']>,
): Promise<readonly ManifestFile[]> {
  return (await loadManifest(store, from))?.files ?? [];
}

/** The last entry for a path wins, in place of the earlier one. */
function merge(files: readonly ManifestFile[], added: readonly ManifestFile[]): readonly ManifestFile[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  for (const file of added) byPath.set(file.path, file);
  return [...byPath.values()];
}
