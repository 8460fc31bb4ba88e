// One trial: a turn on a Worker process that is killed at a boundary, and goes on in a second one.
import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { createLocalStore } from '../../activities/store/local.ts';
import { readTurn, startTurn } from '../../client/turns.ts';
import { requireSpec } from '../../shared/spec-check.ts';
import { executionsOf, judge, settledCalls, type Verdict } from './check.ts';
import { linesOf, type TrialEffects } from './effects.ts';
import { boundaryOf, type BoundaryName, type WorkerPlan } from './plan.ts';
import { startWorkerProcess, type TrialProcess } from './process.ts';
import { specOf } from './script.ts';
import type { CrashWorld } from './world.ts';

/** A turn goes on within this, from the kill to its answer. */
export const RECOVERY_LIMIT_MS = 15_000;
/** A turn that hangs is given up after this. */
const GIVE_UP_MS = 60_000;
const LOOK_MS = 15;
const EFFECT_TARGETS = ['post', 'place', 'balance', 'archive'] as const;

/** What a trial gave. */
export interface TrialResult extends Verdict {
  readonly boundary: BoundaryName;
  readonly variant: number;
  /** From the end of the killed process to the turn's answer, in milliseconds. */
  readonly recoverMs: number;
  readonly history: History;
}

/** Runs a trial. `variant`, from 0, chooses among the moments that a boundary has. */
export async function runTrial(world: CrashWorld, boundary: BoundaryName, variant: number): Promise<TrialResult> {
  const trial = await prepare(world, boundary, variant);
  const first = startWorkerProcess(trial.plan);
  trial.first = first;
  try {
    const spec = requireSpec(specOf(trial.model), 'the trial');
    const handle = await startTurn(world.client, { ...trial.turn, spec, message: say('Do all of it.') });
    if (boundary === 'start-up') trial.fireIn(100 + ((variant * 467) % 1_400));
    watchHistory(world, trial);
    const { atMs } = await withDeadline(first.ended, `the Worker was not killed at ${boundary}`, first);
    trial.isKilled = true;
    world.rescuer.takeOver(trial.plan);
    const settledAtKill = settledCalls(await handle.fetchHistory());
    const executionsAtKill = executionsOf(trial.executed());
    await withDeadline(handle.result(), 'the turn did not end', world.rescuer.process);
    const recoverMs = performance.now() - atMs;
    const lastRequest = lastRequestOf(world, trial.model);
    const continued = await continueTurn(world, trial);
    const { storeFolder } = trial.plan;
    const view = await readTurn(
      world.client,
      trial.turn.workflowId,
      createLocalStore({ folder: storeFolder, namespace: 'default' }),
    );
    const [effects, executions] = [trial.effects.effects(), executionsOf(trial.executed())];
    const found = { view, lastRequest, continued, effects, settledAtKill, executionsAtKill, executions, storeFolder };
    const verdict = await judge(found);
    const late = recoverMs > RECOVERY_LIMIT_MS ? [`it took ${Math.round(recoverMs)} ms`] : [];
    const faults = [...verdict.faults, ...late];
    return { ...verdict, faults, boundary, variant, recoverMs, history: await handle.fetchHistory() };
  } finally {
    world.modelHooks.delete(trial.model);
    first.kill('SIGKILL');
    await world.rescuer.stop(trial.turn.taskQueue);
  }
}

interface Trial {
  readonly boundary: BoundaryName;
  readonly variant: number;
  readonly model: string;
  readonly turn: { readonly workflowId: string; readonly taskQueue: string };
  readonly plan: WorkerPlan;
  readonly effects: TrialEffects;
  first: TrialProcess | undefined;
  isKilled: boolean;
  /** Kills the first Worker, once; resolves when it has ended. */
  fire(): Promise<void>;
  fireIn(ms: number): void;
  /** A line for every execution of a call, ending in its idempotency key. */
  executed(): readonly string[];
}

async function prepare(world: CrashWorld, boundary: BoundaryName, variant: number): Promise<Trial> {
  const id = `crash-${boundary}-${variant}-${randomUUID().slice(0, 8)}`;
  const folder = join(world.folder, id);
  await mkdir(folder);
  const deskLog = join(folder, 'desk.log');
  const effects = world.effects.open(id, join(folder, 'effects.log'), (tool, moment) => onEffect(trial, tool, moment));
  const trial: Trial = {
    boundary,
    variant,
    model: id,
    turn: { workflowId: id, taskQueue: id },
    effects,
    first: undefined,
    isKilled: false,
    plan: {
      address: world.address,
      taskQueue: id,
      bundlePath: world.bundlePath,
      storeFolder: join(folder, 'store'),
      modelUrl: world.model.baseUrl,
      effectsUrl: effects.url,
      deskLog,
      marker: join(folder, 'killed'),
      boundary: boundaryOf(boundary).trigger === 'worker' ? boundary : null,
      variant,
    },
    async fire() {
      if (trial.isKilled) return;
      trial.first?.kill('SIGKILL');
      await trial.first?.ended;
    },
    fireIn: (ms) => void setTimeout(() => void trial.fire(), ms),
    executed: () => [...effects.requests(), ...linesOf(deskLog)],
  };
  const isWanted = (moment: BoundaryName): boolean =>
    !trial.isKilled && boundary === moment && asked === 1 + (variant % 2);
  let asked = 0;
  world.modelHooks.set(id, {
    before: async () => {
      asked += 1;
      if (isWanted('model-answer-before')) await trial.fire();
    },
    after: () => {
      if (isWanted('model-answer-after')) void trial.fire();
    },
  });
  return trial;
}

/** Kills around an effect, or holds calls so that the step is still under way when the Worker is to be killed. */
async function onEffect(trial: Trial, tool: string, moment: 'before' | 'after'): Promise<void> {
  if (trial.isKilled) return;
  const target = EFFECT_TARGETS[trial.variant % EFFECT_TARGETS.length];
  if (trial.boundary === `effect-${moment}` && tool === target) await trial.fire();
  const holdsAll = trial.boundary === 'model-completion-after' && moment === 'before';
  const holdsLast = trial.boundary === 'tool-completion-after' && moment === 'after' && tool === 'archive';
  if (holdsAll || holdsLast) await trial.first?.ended;
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

function lastRequestOf(world: CrashWorld, model: string): CrashWorld['model']['requests'][number] | undefined {
  return world.model.requests.findLast((request) => request.model === model);
}

async function continueTurn(world: CrashWorld, trial: Trial): Promise<ReturnType<typeof lastRequestOf>> {
  const { workflowId, taskQueue } = trial.turn;
  const spec = requireSpec(specOf(trial.model), 'the trial');
  const more = { taskQueue, workflowId: `${workflowId}-more`, continueFrom: workflowId };
  const handle = await startTurn(world.client, { ...more, spec, message: say('And then?') });
  await handle.result();
  return lastRequestOf(world, trial.model);
}

function say(content: string): { readonly type: 'user.message'; readonly content: string } {
  return { type: 'user.message', content };
}

async function withDeadline<T>(promise: Promise<T>, problem: string, worker: TrialProcess): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`${problem}: ${worker.stderr().slice(-2_000)}`)), GIVE_UP_MS);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
