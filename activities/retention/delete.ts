// The Activity that deletes: a sixteenth of the store, by the first digit of the hashes, so that as little is in memory.
import type { SweepDeleteInput, SweepPageResult } from '../../shared/sweep.ts';
import { deleteInShard, intentsByShard, sweepRule, type DeletionContext } from './delete-blobs.ts';
import { runPaged, type SweepDependencies } from './paging.ts';
import { marksOf } from './scratch.ts';

/** Makes the Activity `longshoreSweepDelete`. */
export function createSweepDelete({
  store,
  ...dependencies
}: SweepDependencies): (input: SweepDeleteInput) => Promise<SweepPageResult> {
  return async ({ frame, page: digit, markPages, oldestSavedMs }) => {
    let context: DeletionContext | undefined;
    const load = async (): Promise<readonly string[]> => {
      const marks = await marksOf(store, frame, markPages, digit);
      const intents = await intentsByShard(store);
      context = {
        store,
        isReferenced: (sha256) => marks.has(sha256),
        keptBecause: sweepRule(frame, oldestSavedMs),
        ...(intents && { intents }),
        by: frame.id,
        dryRun: frame.dryRun,
      };
      return Array.from({ length: 16 }, (_, second) => (digit * 16 + second).toString(16).padStart(2, '0'));
    };
    const tally = await runPaged({ store, ...dependencies }, load, async (shard) =>
      context === undefined ? {} : deleteInShard(shard, context),
    );
    return { tally };
  };
}
