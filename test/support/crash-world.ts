// The world of kill trials for the tests of one file: on the server of all tests, open while they run.
import { afterAll, beforeAll, inject } from 'vitest';
import { openCrashWorld, type CrashWorld } from '../../bench/crash/world.ts';
import { quietRuntime } from './turn-world.ts';

/** How long the trials of one test may take; it only tells a hang. */
export const TRIALS_TIMEOUT_MS = 600_000;

/** Opens it before the file's first test and closes it after the last; gives it to tests. */
export function useCrashWorld(): () => CrashWorld {
  let world: CrashWorld;
  beforeAll(async () => {
    quietRuntime();
    world = await openCrashWorld({ address: inject('temporalAddress') });
  });
  afterAll(async () => world.close());
  return () => world;
}
