// The commit of a step: pins first, then the transcript. Running it again changes nothing but times. One manifest write
// carries all that a commit changes: what it pins and supersedes, the head, and what else the turn refers to.
import { readBlocks } from './compact-facts.ts';
import { filesOf, type CommittedFiles } from './commit-files.ts';
import type { CommitInput } from './commit-input.ts';
import { changeAsRun, type RunAsked } from './store/change-as-run.ts';
import {
  endTurn,
  enterRun,
  inheritFiles,
  pinFiles,
  saveHead,
  settleStaged,
  stageFile,
  unheldBlobs,
  type ChangeContext,
} from './store/manifest-changes.ts';
import { beforeContinuing, requireKept } from './store/inherited.ts';
import type {
  CommittedResult,
  CommitStepInput,
  RetriedResult,
  StepCommit,
  TurnIdentity,
} from '../shared/activities.ts';
import type { BlobRef, FileStore } from '../shared/file-store.ts';
import type { Manifest } from '../shared/manifest.ts';

/** Which runs this Worker has seen write: a run that is new to a manifest is a reset, or a Workflow's retry. */
export interface SeenRuns {
  /** At which step a run came to a turn that another had worked on, or `first`; null for one that this Worker has not seen. */
  since(turn: TurnIdentity, run: string): number | 'first' | null;
  see(turn: TurnIdentity, run: string, since: number | 'first'): void;
}

/** What the manifest became. */
export interface CommittedPins {
  /** Null where it was neither read nor written. */
  readonly manifest: Manifest | null;
  /** Whether this is the step at which a run came to a turn that another had worked on. */
  readonly entered: boolean;
}

/** The input with the lists of blocks that went by reference. */
export async function withBlocks<T extends Pick<CommitInput, 'commit' | 'retried'>>(
  input: T,
  store: FileStore,
): Promise<T> {
  const { commit, retried } = input;
  const results = [...(commit?.results ?? []), ...(retried ?? []).map((one) => one.result)];
  if (!results.some((result) => result.blocksRef)) return input;
  const read = (result: CommittedResult): Promise<CommittedResult> => resultWithBlocks(result, store);
  return {
    ...input,
    ...(commit && { commit: { ...commit, results: await Promise.all(commit.results.map(read)) } }),
    ...(retried && {
      retried: await Promise.all(retried.map(async (one) => ({ ...one, result: await read(one.result) }))),
    }),
  };
}

async function resultWithBlocks(result: CommittedResult, store: FileStore): Promise<CommittedResult> {
  if (!result.blocksRef) return result;
  const blocks = await readBlocks(result.blocksRef, store);
  const shown = new Set(result.imageBlocks);
  return { ...result, blocks, images: blocks.filter((block) => shown.has(block.block)) };
}

/**
 * Pins what the step's context will refer to and what an earlier turn's refers to, supersedes what is made anew, and holds
 * what a pause names. Writes nothing where nothing of that is to be done.
 */
export async function commitPins(
  store: FileStore,
  input: CommitInput,
  attempt: RunAsked,
  runs: SeenRuns,
): Promise<CommittedPins> {
  const { run } = attempt;
  const { turn, pause, retried = [], continueFrom } = input;
  const seen = runs.since(turn, run);
  const files = await filesOf(store, input, { mayHaveEarlier: seen !== 'first' || retried.length > 0 });
  const isNeeded =
    [files.added, files.staged, retried].some((list) => list.length > 0) ||
    [input.frame, input.saveHead, input.resume, continueFrom, pause, input.rebuild].some(Boolean);
  const isKnown = seen === 'first' || (seen !== null && seen !== input.step);
  if (!isNeeded && (isKnown || input.step === undefined)) return { manifest: null, entered: false };
  const before = continueFrom
    ? await beforeContinuing(store, turn, { from: continueFrom, isKnown: input.rebuild !== undefined })
    : null;
  const changed = (current: Manifest): Manifest => {
    const context: ChangeContext = { run, now: Date.now() };
    // Whoever does not know the step leaves it to the next model call to find out that the run is new.
    const open = input.step === undefined ? current : enterRun(current, input.step, context);
    return isNeeded || open !== current
      ? change(open, { input, files, before: before?.manifest ?? null }, context)
      : current;
  };
  const manifest = await changeAsRun(store, turn, { ...attempt, mustExist: hasManifest(input) }, changed);
  // Once this turn's manifest stands, no sweep lets go what it names; one that was quicker has let go all of it.
  if (before?.isFirst && continueFrom) await requireKept(store, continueFrom);
  if (input.step === undefined) return { manifest, entered: false };
  runs.see(turn, run, manifest.runSince ?? 'first');
  return { manifest, entered: manifest.runSince === input.step };
}

type ManifestSigns = Pick<CommitInput, 'head' | 'frame' | 'continueFrom' | 'rebuild'>;

/**
 * Whether an earlier Activity of the turn has written its manifest. The first one that writes carries the frame, or the turn that
 * this one continues; a turn that ended before it has no head.
 */
function hasManifest({ head, frame, continueFrom, rebuild }: ManifestSigns): boolean {
  return head !== null && !frame && !continueFrom && !rebuild;
}

/** Records the head, all that the result refers to, and the end of a turn. Raises `ManifestMissing`. */
export async function closeManifest(
  store: FileStore,
  input: Pick<CommitStepInput, 'turn' | 'ended' | 'refs' | 'catalogs'> & ManifestSigns,
  head: BlobRef | null,
  attempt: RunAsked,
): Promise<void> {
  const { turn, ended, refs = [], catalogs = [] } = input;
  const closed = (current: Manifest): Manifest => {
    const now = Date.now();
    return endTurn(saveHead(current, head, [...refs, ...catalogRefs({ catalogs })], now), ended, now);
  };
  await changeAsRun(store, turn, { ...attempt, mustExist: hasManifest(input) }, closed);
}

interface Changes {
  readonly input: CommitInput;
  readonly files: CommittedFiles;
  /** The manifest of the turn that this one continues. */
  readonly before: Manifest | null;
}

function change(current: Manifest, { input, files, before }: Changes, context: ChangeContext): Manifest {
  const { continueFrom, frame, pause, commit } = input;
  let next: Manifest = {
    ...current,
    ...(continueFrom && { continues: continueFrom.workflowId }),
    ...(frame?.retention && { retention: frame.retention }),
  };
  if (before) next = inheritFiles(next, before.files);
  next = pinFiles(next, files.added, context);
  next = settleStaged(next, new Set(committedCalls(commit, input.retried)));
  for (const file of files.staged) next = stageFile(next, file, context);
  const own = pause ? [...pause.refs, ...unheldBlobs(next, files.staged)] : refsOf(input);
  const refs = [...own, ...catalogRefs(input)];
  next = saveHead(next, input.head, refs, context.now);
  if (!pause) return next;
  return { ...next, waiting: pause.waiting.map(({ callKey, kind, since }) => ({ callKey, kind, since })) };
}

function committedCalls(commit: StepCommit | undefined, retried: readonly RetriedResult[] = []): readonly string[] {
  return [...(commit?.results ?? []), ...retried.map((one) => one.result)].map((result) => result.callKey);
}

/** What the turn goes by beside its tool array; it stands in no segment. */
function catalogRefs({ catalogs = [] }: Pick<CommitInput, 'catalogs'>): readonly BlobRef[] {
  return catalogs.map(({ ref }) => ref);
}

/** What the segment that is still to be written will name. */
function refsOf({ commit, retried = [], frame }: CommitInput): readonly BlobRef[] {
  const results = [...(commit?.results ?? []), ...retried.map((one) => one.result)];
  const blobs = results.flatMap(({ context, images, blocksRef }) => [
    ...('blob' in context ? [context.blob] : []),
    ...images.map(({ sha256, bytes }) => ({ sha256, bytes })),
    ...(blocksRef ? [blocksRef] : []),
  ]);
  return [...(frame ? [frame.catalog] : []), ...blobs];
}
