// Runs many trials, some at a time, on one server with a Task Queue each.
import { messageOf } from '../../shared/errors.ts';
import { replayTurn } from '../../testing/replay.ts';
import { runApprovedTrial } from './approved-trial.ts';
import { isApproved, type TrialName } from './plan.ts';
import type { FailedTrial } from './report.ts';
import { runTrial, type TrialResult } from './trial.ts';
import type { CrashWorld } from './world.ts';

/** A trial to run. */
export interface TrialJob {
  readonly boundary: TrialName;
  readonly variant: number;
}

/** How to run them. */
export interface TrialsOptions {
  /** How many at a time. */
  readonly parallel: number;
  /** Whose history is replayed, which is a fault where it fails. @default none */
  readonly replays?: (job: TrialJob) => boolean;
  /** One line a trial. */
  readonly onDone?: (line: string) => void;
}

function runOne(world: CrashWorld, { boundary, variant }: TrialJob): Promise<TrialResult> {
  return isApproved(boundary) ? runApprovedTrial(world, boundary, variant) : runTrial(world, boundary, variant);
}

let lastReplay: Promise<unknown> = Promise.resolve();

/** One after another: the SDK's runtime ends with the last Worker of a process, and must not while another begins. */
function replayFaults({ bundlePath }: CrashWorld, { history }: TrialResult): Promise<readonly string[]> {
  const replay = lastReplay
    .then(() => replayTurn(history, { workflows: { workflowBundle: { codePath: bundlePath } } }))
    .then(
      () => [],
      (error: unknown) => [`its history does not replay: ${messageOf(error)}`],
    );
  lastReplay = replay;
  return replay;
}

/** Runs all jobs. A trial that gives no result is a failure of its own, and the others go on. */
export async function runTrials(
  world: CrashWorld,
  jobs: readonly TrialJob[],
  { parallel, replays, onDone }: TrialsOptions,
): Promise<{ readonly results: readonly TrialResult[]; readonly failed: readonly FailedTrial[] }> {
  const waiting = [...jobs];
  const results: TrialResult[] = [];
  const failed: FailedTrial[] = [];
  const work = async (): Promise<void> => {
    for (let job = waiting.shift(); job; job = waiting.shift()) {
      const name = `${job.boundary} #${job.variant}`;
      try {
        const ran = await runOne(world, job);
        const replayed = replays?.(job) ? await replayFaults(world, ran) : [];
        const result = { ...ran, faults: [...ran.faults, ...replayed] };
        results.push(result);
        onDone?.(`${name}: ${Math.round(result.recoverMs)} ms ${result.faults.join('; ')}`);
      } catch (error) {
        failed.push({ ...job, failure: String(error) });
        onDone?.(`${name}: ${String(error)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return { results, failed };
}
