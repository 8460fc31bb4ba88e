// Workers that are shut down or share a store, and the server killed under one. The same trials in number: `npm run bench:crash`.
import { describe, expect, it } from 'vitest';
import { runServerTrial, runSharedStoreTrials, runShutdownTrial } from '../../bench/crash/other-trials.ts';
import { openCrashWorld } from '../../bench/crash/world.ts';
import { freePort } from '../support/crash-port.ts';
import { TRIALS_TIMEOUT_MS, useCrashWorld } from '../support/crash-world.ts';

const world = useCrashWorld();

describe('a Worker that is told to end while a write runs', () => {
  it(
    '[CRASH-2] finishes the write within its grace time, heartbeats as before, and another goes on',
    async () => {
      const result = await runShutdownTrial(world());
      expect(result.faults).toEqual([]);
      expect(result).toMatchObject({ unknown: 0, again: 0, signal: null });
      expect(result.heartbeatsAfter).toBeGreaterThanOrEqual(2);
      expect(Math.max(...result.attempts)).toBe(1);
    },
    TRIALS_TIMEOUT_MS,
  );
});

describe('two Workers on one store at once', () => {
  it(
    '[CRASH-3] do not touch each other’s files',
    async () => {
      const verdicts = await runSharedStoreTrials(world(), 1);
      expect(verdicts.flatMap((verdict) => verdict.faults)).toEqual([]);
      expect(verdicts.map((verdict) => verdict.temps)).toEqual([0, 0]);
    },
    TRIALS_TIMEOUT_MS,
  );
});

describe('the embedded server killed and brought up again on its database', () => {
  it(
    '[CRASH-4] is found again by the Worker that lived on, and the turn ends as if nothing had been',
    async () => {
      const env = { LONGSHORE_PORT: String(await freePort()) };
      const own = await openCrashWorld({ env });
      try {
        for (const variant of [0, 1, 2]) {
          const result = await runServerTrial(own, variant, env);
          expect(result.faults).toEqual([]);
          expect(result).toMatchObject({ workerSurvived: true, doubled: 0, unknown: 0 });
        }
      } finally {
        await own.close();
      }
    },
    TRIALS_TIMEOUT_MS,
  );
});
