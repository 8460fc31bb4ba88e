// Workers killed around a write that a person has approved. The same trials in number: `npm run bench:crash`.
import { describe, expect, it } from 'vitest';
import { APPROVED_BOUNDARIES } from '../../bench/crash/plan.ts';
import { runTrials } from '../../bench/crash/trials.ts';
import { TRIALS_TIMEOUT_MS, useCrashWorld } from '../support/crash-world.ts';

const TRIALS = 3;
const world = useCrashWorld();

describe('a Worker killed around an approved write', () => {
  it(
    '[CRASH-8] ask-3: the write is done once, or unknown and left to the person, and the turn goes on in another process',
    async () => {
      const jobs = Array.from({ length: TRIALS }, (_, variant) =>
        APPROVED_BOUNDARIES.map(({ name }) => ({ boundary: name, variant })),
      );
      const { results, failed } = await runTrials(world(), jobs.flat(), {
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
    TRIALS_TIMEOUT_MS,
  );
});
