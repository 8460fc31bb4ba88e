// Trials beside the boundaries: the server killed under a Worker, a Worker that is shut down in good order while a tool runs,
// and two Workers on one store at once.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { attachDevServer } from '../../worker/dev-server.ts';
import { listClaims } from '../../worker/dev-server/claims.ts';
import { executionsOf, settledCalls, type Verdict } from './check.ts';
import { startWorkerProcess, type TrialProcess } from './process.ts';
import { prepare, type Trial } from './setup.ts';
import { startTrialTurn, verdictOf, withDeadline } from './trial.ts';
import type { CrashWorld } from './world.ts';

/** The effects around which a server is killed, by the trial's number. */
const SERVER_MOMENTS = [
  ['post', 'before'],
  ['post', 'after'],
  ['archive', 'before'],
] as const;

/** What the server's end and return gave. */
export interface ServerTrialResult extends Verdict {
  /** From the kill to a server that answers again, and to the turn's answer. */
  readonly serverBackMs: number;
  readonly recoverMs: number;
  /** Whether the Worker process lived on and finished the turn. */
  readonly workerSurvived: boolean;
  readonly history: History;
}

/**
 * Kills the embedded server by SIGKILL while a tool runs, and brings it up again on its database and its port. The Worker is
 * left alone. The world must have been opened with its `LONGSHORE_PORT` in `env`.
 */
export async function runServerTrial(
  world: CrashWorld,
  variant: number,
  env: Readonly<Record<string, string>>,
): Promise<ServerTrialResult> {
  const [tool, moment] = SERVER_MOMENTS[variant % SERVER_MOMENTS.length] ?? SERVER_MOMENTS[0];
  const times = { killedMs: 0, backMs: 0 };
  const trial = await prepare(world, {
    variant,
    onEffect: async (seenTool, seenMoment) => {
      if (times.killedMs > 0 || seenTool !== tool || seenMoment !== moment) return;
      times.killedMs = performance.now();
      await killServer(world);
      const own = { ...process.env, ...env, LONGSHORE_HOME: world.home.folder };
      world.hold(await attachDevServer(world.home, { kind: 'dev', env: own }));
      times.backMs = performance.now();
    },
  });
  const worker = startWorkerProcess(trial.plan);
  try {
    await worker.says('polling');
    const handle = await startTrialTurn(world, trial);
    await withDeadline(handle.result(), 'the turn did not end', worker);
    const recoverMs = performance.now() - times.killedMs;
    const verdict = await verdictOf(world, trial, nothingKilled());
    const hasEnded = await Promise.race([worker.ended.then(() => true), delay(0, false)]);
    const { killedMs, backMs } = times;
    const history = await handle.fetchHistory();
    return { ...verdict, serverBackMs: backMs - killedMs, recoverMs, workerSurvived: !hasEnded, history };
  } finally {
    await endGently(worker);
  }
}

async function killServer(world: CrashWorld): Promise<void> {
  const pids = (await listClaims(world.home)).map((claim) => claim.serverPid).filter((pid) => pid !== undefined);
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  // Its keeper tells those attached, and goes; a new one must not find it.
  while ((await listClaims(world.home)).length > 0) await delay(20);
}

/** What a shutdown in good order gave. */
export interface ShutdownTrialResult extends Verdict {
  /** Heartbeats of the running call that arrived after the Worker was told to shut down. */
  readonly heartbeatsAfter: number;
  readonly attempts: readonly number[];
  /** How the process that was told to end has ended. */
  readonly signal: string | null;
}

/** Sends SIGTERM to a Worker while its write runs; lets the write go on when two more heartbeats have arrived. */
export async function runShutdownTrial(world: CrashWorld): Promise<ShutdownTrialResult> {
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const trial = await prepare(world, {
    onEffect: async (tool, moment) => {
      if (tool !== 'post' || moment !== 'before') return;
      reached.resolve();
      await held.promise;
    },
  });
  const worker = startWorkerProcess(trial.plan);
  try {
    const handle = await startTrialTurn(world, trial);
    await withDeadline(reached.promise, 'the write was not made', worker);
    worker.kill('SIGTERM');
    const heartbeatsAfter = await heartbeatsOf(world, trial, 2);
    const atKill = {
      settledAtKill: settledCalls(await handle.fetchHistory()),
      executionsAtKill: executionsOf(trial.executed()),
    };
    world.rescuer.takeOver(trial.plan);
    held.resolve();
    await withDeadline(handle.result(), 'the turn did not end', world.rescuer.process);
    const { signal } = await worker.ended;
    const verdict = await verdictOf(world, trial, atKill);
    const attempts = await attemptsOf(world, trial);
    return { ...verdict, heartbeatsAfter, attempts, signal };
  } finally {
    held.resolve();
    worker.kill('SIGKILL');
    await world.rescuer.stop(trial.turn.taskQueue);
  }
}

/** Waits until the server has heard of the running call that often anew. */
async function heartbeatsOf(world: CrashWorld, trial: Trial, wanted: number): Promise<number> {
  const seen = new Set<string>();
  const deadline = Date.now() + 20_000;
  while (seen.size <= wanted && Date.now() < deadline) {
    const { raw } = await world.client.workflow.getHandle(trial.turn.workflowId).describe();
    for (const { lastHeartbeatTime } of raw.pendingActivities ?? []) seen.add(JSON.stringify(lastHeartbeatTime));
    await delay(50);
  }
  // The first one seen may be from before.
  return seen.size - 1;
}

async function attemptsOf(world: CrashWorld, trial: Trial): Promise<readonly number[]> {
  const { events } = await world.client.workflow.getHandle(trial.turn.workflowId).fetchHistory();
  return (events ?? []).flatMap((event) => event.activityTaskStartedEventAttributes?.attempt ?? []);
}

/** Two Worker processes on one store, each with a turn of its own, at the same time; that again for as many rounds. */
export async function runSharedStoreTrials(world: CrashWorld, rounds: number): Promise<readonly Verdict[]> {
  const storeFolder = join(world.folder, 'shared-store');
  const verdicts: Verdict[] = [];
  for (let round = 0; round < rounds; round++) {
    const trials = await Promise.all([prepare(world, { storeFolder }), prepare(world, { storeFolder })]);
    const workers = trials.map((trial) => startWorkerProcess(trial.plan));
    try {
      await Promise.all(workers.map((worker) => worker.says('polling')));
      const run = async (trial: Trial, worker: TrialProcess): Promise<void> => {
        const handle = await startTrialTurn(world, trial);
        await withDeadline(handle.result(), 'the turn did not end', worker);
      };
      await Promise.all(workers.map((worker, index) => run(trials[index] as Trial, worker)));
      // Once both are done: what one of them is still writing is no leftover of the other.
      for (const trial of trials) verdicts.push(await verdictOf(world, trial, nothingKilled()));
    } finally {
      await Promise.all(workers.map(endGently));
    }
  }
  return verdicts;
}

/** Nothing was settled before, and nothing had run. */
function nothingKilled(): {
  readonly settledAtKill: readonly string[];
  readonly executionsAtKill: ReadonlyMap<string, number>;
} {
  return { settledAtKill: [], executionsAtKill: new Map() };
}

async function endGently(worker: TrialProcess): Promise<void> {
  worker.kill('SIGTERM');
  const timer = setTimeout(() => worker.kill('SIGKILL'), 20_000);
  await worker.ended;
  clearTimeout(timer);
}
