// What an Activity that commits does first where a turn goes on after a wait, a reset, a Workflow's retry or another turn's end:
// it compares the two records of pins, commits, and checks every file. In a step without waits nothing of it costs anything.
import { LRUCache } from 'lru-cache';
import type { Attempt } from './attempt.ts';
import { checkFiles } from './check-files.ts';
import { commitPins, type SeenRuns } from './commit.ts';
import type { CommitInput } from './commit-input.ts';
import { comparePins, withBlockPins } from './compare-pins.ts';
import type { RunAsked } from './store/change-as-run.ts';
import { loadManifest } from './store/manifest.ts';
import type { LostFile, TurnIdentity, VerifyFilesInput, VerifyFilesResult } from '../shared/activities.ts';
import type { FileStore } from '../shared/file-store.ts';

/** Turns whose runs a Worker remembers. */
const REMEMBERED_TURNS = 10_000;

/** The runs that one Worker has seen. */
export function createSeenRuns(): SeenRuns {
  const seen = new LRUCache<string, { readonly run: string; readonly since: number | 'first' }>({
    max: REMEMBERED_TURNS,
  });
  return {
    since({ workflowId }, run) {
      const known = seen.get(workflowId);
      return known?.run === run ? known.since : null;
    },
    see: ({ workflowId }, run, since) => void seen.set(workflowId, { run, since }),
  };
}

/**
 * Commits what a step pins, checked where the turn goes on; says whether it does, and gives the files whose bytes are lost.
 * Raises `PinsDiffer` before anything is changed, and the store's errors.
 */
export async function commitAndCheck(
  store: FileStore,
  input: CommitInput,
  attempt: RunAsked & Pick<Attempt, 'signal'>,
  runs: SeenRuns,
): Promise<{ readonly goesOn: boolean; readonly lost: readonly LostFile[] }> {
  if (input.resume) await compare(store, input.turn, { ...input, resume: input.resume }, attempt);
  const { manifest, entered } = await commitPins(store, input, attempt, runs);
  const goesOn = entered || input.resume !== undefined || input.continueFrom !== undefined;
  return { goesOn, lost: manifest && goesOn ? await checkFiles(store, manifest, attempt.signal) : [] };
}

/** Compares a part of history's record alone. Raises `PinsDiffer`. */
export async function verifyPins(
  store: FileStore,
  { turn, resume }: VerifyFilesInput,
  attempt: Pick<Attempt, 'run'>,
): Promise<VerifyFilesResult> {
  await compare(store, turn, { resume }, attempt);
  return { compared: resume.pins.length };
}

async function compare(
  store: FileStore,
  turn: TurnIdentity,
  { resume, commit, retried = [] }: Pick<CommitInput, 'commit' | 'retried'> & Pick<VerifyFilesInput, 'resume'>,
  { run }: Pick<Attempt, 'run'>,
): Promise<void> {
  const [manifest, whole] = await Promise.all([loadManifest(store, turn), withBlockPins(resume, store)]);
  const results = [...(commit?.results ?? []), ...retried.map((one) => one.result)];
  comparePins(manifest, whole, { run, committing: new Set(results.map((result) => result.callKey)) });
}
