// Histories of turns whose Worker was killed at a boundary of a step, and of one whose server was: the trials of
// `bench/crash`, each once, under an identity that names no machine.
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { runServerTrial } from '../../bench/crash/other-trials.ts';
import { boundaryOf } from '../../bench/crash/plan.ts';
import { runTrial } from '../../bench/crash/trial.ts';
import { openCrashWorld } from '../../bench/crash/world.ts';
import { freePort } from '../support/crash-port.ts';

const PREFIX = 'crash-';
const SERVER_RESTART = 'crash-server-restart';
/** The server is killed after the write's effect, before its answer. */
const SERVER_VARIANT = 1;

/** Names of the histories, as their files have them. */
export const CRASH_RECORDINGS: readonly string[] = [
  'crash-model-completion-before',
  // The write's effect is done and not answered: its journal says `sent`, so that its outcome is unknown.
  'crash-effect-after',
  'crash-staged-after',
  'crash-placement-before',
  'crash-placement-after',
  'crash-commit-append-before',
  'crash-during-object-write',
  SERVER_RESTART,
];

/** Whom the histories name. */
interface Recorder {
  readonly address: string;
  readonly identity: string;
}

/** Runs the trials of these names; raises what did not hold in one of them. */
export async function* recordCrashes(
  names: readonly string[],
  recorder: Recorder,
): AsyncGenerator<readonly [string, History]> {
  const boundaries = names.filter((name) => name !== SERVER_RESTART);
  if (boundaries.length > 0) yield* recordBoundaries(boundaries, recorder);
  if (names.includes(SERVER_RESTART)) yield [SERVER_RESTART, await recordServerRestart(recorder.identity)];
}

async function* recordBoundaries(
  names: readonly string[],
  recorder: Recorder,
): AsyncGenerator<readonly [string, History]> {
  const world = await openCrashWorld(recorder);
  try {
    for (const name of names) {
      const { history, faults } = await runTrial(world, boundaryOf(name.slice(PREFIX.length)).name, 0);
      refuseFaults(name, faults);
      yield [name, history];
    }
  } finally {
    await world.close();
  }
}

/** The server comes back on its database and its port; the Worker lives on. */
async function recordServerRestart(identity: string): Promise<History> {
  const env = { LONGSHORE_PORT: String(await freePort()) };
  const world = await openCrashWorld({ env, identity });
  try {
    const { history, faults } = await runServerTrial(world, SERVER_VARIANT, env);
    refuseFaults(SERVER_RESTART, faults);
    return history;
  } finally {
    await world.close();
  }
}

function refuseFaults(name: string, faults: readonly string[]): void {
  if (faults.length > 0) throw new Error(`The trial ${name} is not worth keeping: ${faults.join('; ')}`);
}
