// Workers killed at every boundary of a step, the server killed under one, Workers that are shut down or share a store.
// The same trials in number, and their table: `npm run bench:crash`.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { APPROVED_BOUNDARIES, BOUNDARIES } from '../../bench/crash/plan.ts';
import { runServerTrial, runSharedStoreTrials, runShutdownTrial } from '../../bench/crash/other-trials.ts';
import { RECOVERY_LIMIT_MS } from '../../bench/crash/trial.ts';
import { runTrials } from '../../bench/crash/trials.ts';
import { openCrashWorld, type CrashWorld } from '../../bench/crash/world.ts';
import { median } from '../../bench/lib/stats.ts';
import { replayTurn } from '../../testing/replay.ts';
import { freePort } from '../support/crash-port.ts';
import { quietRuntime } from '../support/turn-world.ts';

const TRIALS = 3;
const TIMEOUT_MS = 600_000;
let world: CrashWorld;

beforeAll(async () => {
  quietRuntime();
  world = await openCrashWorld({ address: inject('temporalAddress') });
});
afterAll(async () => world.close());

describe('a Worker killed in the middle of a step', () => {
  it(
    '[CRASH-1] loses nothing and doubles nothing at any boundary, and the turn goes on in another process',
    async () => {
      const jobs = Array.from({ length: TRIALS }, (_, variant) =>
        BOUNDARIES.map(({ name }) => ({ boundary: name, variant })),
      );
      const { results, failed } = await runTrials(world, jobs.flat(), { parallel: 6 });
      expect(failed).toEqual([]);
      // The time of a single trial says as much of the machine's load as of the hand-over: the median is what must hold.
      const faults = results.flatMap((one) =>
        one.faults.filter((fault) => !fault.startsWith('it took')).map((fault) => [one.boundary, fault]),
      );
      expect(faults).toEqual([]);
      expect(results).toHaveLength(TRIALS * BOUNDARIES.length);
      expect(median(results.map((one) => one.recoverMs))).toBeLessThan(RECOVERY_LIMIT_MS);
      const at = (boundary: string) => results.filter((one) => one.boundary === boundary);
      // D11: recorded, it is given back; before the request, it is sent; between, it is unknown.
      expect(at('journal-answered-after').map((one) => one.unknown)).toEqual([0, 0, 0]);
      expect(at('journal-sent-before').map((one) => one.unknown)).toEqual([0, 0, 0]);
      expect(at('journal-sent-after').map((one) => one.unknown)).toEqual([1, 1, 1]);
      expect(at('journal-answered-before').map((one) => one.unknown)).toEqual([1, 1, 1]);
      expect(at('tool-completion-after').every((one) => one.settled > 0)).toBe(true);
      for (const boundary of ['journal-sent-after', 'placement-before', 'effect-after']) {
        const history = at(boundary)[0]?.history;
        if (!history) throw new Error(`No history of ${boundary}`);
        await replayTurn(history);
      }
    },
    TIMEOUT_MS,
  );
});

describe('a Worker killed around an approved write', () => {
  it(
    '[CRASH-8] ask-3: the write is done once, or unknown and left to the person, and the turn goes on in another process',
    async () => {
      const jobs = Array.from({ length: TRIALS }, (_, variant) =>
        APPROVED_BOUNDARIES.map(({ name }) => ({ boundary: name, variant })),
      );
      const { results, failed } = await runTrials(world, jobs.flat(), {
        parallel: 8,
        replays: ({ variant }) => variant === 0,
      });
      expect(failed).toEqual([]);
      const faults = results.flatMap((one) =>
        one.faults.filter((fault) => !fault.startsWith('it took')).map((fault) => [one.boundary, fault]),
      );
      expect(faults).toEqual([]);
      expect(results).toHaveLength(TRIALS * APPROVED_BOUNDARIES.length);
      expect(results.map(({ doubled, lost }) => doubled + lost)).toEqual(results.map(() => 0));
      const asked = (boundary: string): number =>
        results.filter((one) => one.boundary === boundary).reduce((sum, { unknown }) => sum + unknown, 0);
      // Not yet claimed in the journal, it is sent; claimed and not answered, the person is asked; answered, it is given back.
      expect(asked('approved-before-effect')).toBe(2);
      expect(asked('approved-after-effect')).toBe(TRIALS);
      expect(asked('approved-after-record')).toBe(0);
    },
    TIMEOUT_MS,
  );
});

describe('a Worker that is told to end while a write runs', () => {
  it(
    '[CRASH-2] finishes the write within its grace time, heartbeats as before, and another goes on',
    async () => {
      const result = await runShutdownTrial(world);
      expect(result.faults).toEqual([]);
      expect(result).toMatchObject({ unknown: 0, again: 0, signal: null });
      expect(result.heartbeatsAfter).toBeGreaterThanOrEqual(2);
      expect(Math.max(...result.attempts)).toBe(1);
    },
    TIMEOUT_MS,
  );
});

describe('two Workers on one store at once', () => {
  it(
    '[CRASH-3] do not touch each other’s files',
    async () => {
      const verdicts = await runSharedStoreTrials(world, 1);
      expect(verdicts.flatMap((verdict) => verdict.faults)).toEqual([]);
      expect(verdicts.map((verdict) => verdict.temps)).toEqual([0, 0]);
    },
    TIMEOUT_MS,
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
    TIMEOUT_MS,
  );
});
