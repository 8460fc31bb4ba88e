// One trial: a turn on a Worker process that is killed at a boundary, and goes on in a second one.
import { setTimeout as delay } from 'node:timers/promises';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { createLocalStore } from '../../activities/store/local.ts';
import { readTurn, startTurn } from '../../client/turns.ts';
import { requireSpec } from '../../shared/spec-check.ts';
import { executionsOf, judge, settledCalls, type Evidence, type Verdict } from './check.ts';
import type { BoundaryName, TrialName } from './plan.ts';
import { startWorkerProcess, type TrialProcess } from './process.ts';
import { specOf } from './script.ts';
import { prepare, type Trial } from './setup.ts';
import type { CrashWorld } from './world.ts';

/** A turn goes on within this, from the kill to its answer. */
export const RECOVERY_LIMIT_MS = 15_000;
/** A turn that hangs is given up after this. */
const GIVE_UP_MS = 60_000;
const LOOK_MS = 15;

/** What a trial gave. */
export interface TrialResult extends Verdict {
  readonly boundary: TrialName;
  readonly variant: number;
  /** From the end of the killed process to the turn's answer, in milliseconds. */
  readonly recoverMs: number;
  readonly history: History;
}

/** Runs a trial. `variant`, from 0, chooses among the moments that a boundary has. */
export async function runTrial(world: CrashWorld, boundary: BoundaryName, variant: number): Promise<TrialResult> {
  const trial = await prepare(world, { boundary, variant });
  const first = startWorkerProcess(trial.plan);
  trial.first = first;
  try {
    const handle = await startTrialTurn(world, trial);
    if (boundary === 'start-up') trial.fireIn(100 + ((variant * 467) % 1_400));
    watchHistory(world, trial);
    const { atMs } = await withDeadline(first.ended, `the Worker was not killed at ${boundary}`, first);
    trial.isKilled = true;
    world.rescuer.takeOver(trial.plan);
    const settledAtKill = settledCalls(await handle.fetchHistory());
    const executionsAtKill = executionsOf(trial.executed());
    await withDeadline(handle.result(), 'the turn did not end', world.rescuer.process);
    const recoverMs = performance.now() - atMs;
    const verdict = await verdictOf(world, trial, { settledAtKill, executionsAtKill });
    const late = recoverMs > RECOVERY_LIMIT_MS ? [`it took ${Math.round(recoverMs)} ms`] : [];
    const faults = [...verdict.faults, ...late];
    return { ...verdict, faults, boundary, variant, recoverMs, history: await handle.fetchHistory() };
  } finally {
    world.modelHooks.delete(trial.model);
    first.kill('SIGKILL');
    await world.rescuer.stop(trial.turn.taskQueue);
  }
}

/** For the boundaries that are reached when something stands in history. */
function watchHistory(world: CrashWorld, trial: Trial): void {
  const wanted = { 'model-completion-after': 'longshoreCallModel', 'tool-completion-after': 'longshoreCallTool' };
  const type = wanted[trial.boundary as keyof typeof wanted] as string | undefined;
  if (type === undefined) return;
  const handle = world.client.workflow.getHandle(trial.turn.workflowId);
  const look = async (): Promise<void> => {
    while (!trial.isKilled && !hasCompleted(await handle.fetchHistory(), type)) await delay(LOOK_MS);
    await trial.fire();
  };
  look().catch((error: unknown) => console.error('history could not be watched', error));
}

function hasCompleted(history: History, type: string): boolean {
  const events = history.events ?? [];
  const ids = new Set(
    events
      .filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === type)
      .map((event) => String(event.eventId)),
  );
  return events.some((event) => ids.has(String(event.activityTaskCompletedEventAttributes?.scheduledEventId)));
}

/** What was known when a Worker was killed. */
export type AtKill = Pick<Evidence, 'settledAtKill' | 'executionsAtKill'>;

/** Gathers what a turn has left, has another turn continue it, and judges. Needs a Worker on the trial's Task Queue. */
export async function verdictOf(
  world: CrashWorld,
  trial: Trial,
  atKill: AtKill,
  judgeWrite?: Evidence['judgeWrite'],
): Promise<Verdict> {
  const lastRequest = lastRequestOf(world, trial.model);
  const continued = await continueTurn(world, trial);
  const { storeFolder } = trial.plan;
  const store = createLocalStore({ folder: storeFolder, namespace: 'default' });
  const view = await readTurn(world.client, trial.turn.workflowId, store);
  const [effects, executions] = [trial.effects.effects(), executionsOf(trial.executed())];
  const rules = judgeWrite && { judgeWrite };
  return judge({ view, lastRequest, continued, effects, executions, storeFolder, ...rules, ...atKill });
}

function lastRequestOf(world: CrashWorld, model: string): CrashWorld['model']['requests'][number] | undefined {
  return world.model.requests.findLast((request) => request.model === model);
}

/** Starts the trial's turn. */
export async function startTrialTurn(world: CrashWorld, trial: Trial): ReturnType<typeof startTurn> {
  const spec = requireSpec(specOf(trial.model, trial.isGated), 'the trial');
  return startTurn(world.client, { ...trial.turn, spec, message: say('Do all of it.') });
}

async function continueTurn(world: CrashWorld, trial: Trial): Promise<ReturnType<typeof lastRequestOf>> {
  const { workflowId, taskQueue } = trial.turn;
  const spec = requireSpec(specOf(trial.model, trial.isGated), 'the trial');
  const more = { taskQueue, workflowId: `${workflowId}-more`, continueFrom: workflowId };
  const handle = await startTurn(world.client, { ...more, spec, message: say('And then?') });
  await handle.result();
  return lastRequestOf(world, trial.model);
}

function say(content: string): { readonly type: 'user.message'; readonly content: string } {
  return { type: 'user.message', content };
}

/** Gives up after a minute, with what the process said. */
export async function withDeadline<T>(promise: Promise<T>, problem: string, worker: TrialProcess): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${problem}: ${worker.stderr().slice(-2_000)}`)), GIVE_UP_MS);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
