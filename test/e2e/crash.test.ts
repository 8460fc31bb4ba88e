// Workers killed at every boundary of a step. The same trials in number, and their table: `npm run bench:crash`.
import { describe, expect, it } from 'vitest';
import { BOUNDARIES } from '../../bench/crash/plan.ts';
import { RECOVERY_LIMIT_MS } from '../../bench/crash/trial.ts';
import { runTrials } from '../../bench/crash/trials.ts';
import { median } from '../../bench/lib/stats.ts';
import { replayTurn } from '../../testing/replay.ts';
import { TRIALS_TIMEOUT_MS, useCrashWorld } from '../support/crash-world.ts';

const TRIALS = 3;
const world = useCrashWorld();

describe('a Worker killed in the middle of a step', () => {
  it(
    '[CRASH-1] loses nothing and doubles nothing at any boundary, and the turn goes on in another process',
    async () => {
      const jobs = Array.from({ length: TRIALS }, (_, variant) =>
        BOUNDARIES.map(({ name }) => ({ boundary: name, variant })),
      );
      const { results, failed } = await runTrials(world(), jobs.flat(), { parallel: 6 });
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
    TRIALS_TIMEOUT_MS,
  );
});
