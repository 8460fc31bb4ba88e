// The retention sweep as a Workflow: pages of Activities, one after another, with the cursor in history, so that a Worker that
// dies costs a page. A long sweep continues as new between pages.
import { continueAsNew, scheduleActivity, workflowInfo } from '@temporalio/workflow';
import { ACTIVITY_SETTINGS } from '../shared/activity-options.ts';
import type { RetentionActivities, RetentionSweepInput, RetentionSweepResult } from '../shared/sweep.ts';
import { beginSweep, finishSweep, nextPage } from './sweep-stages.ts';

/**
 * Releases what turns that are closed or gone had pinned, lets go what is past its retention, and deletes what nothing refers to.
 * Fails with `TemporalUnavailable`, `StoreUnavailable`, `BlobCorrupt` (a hold that cannot be read): then nothing more is deleted.
 */
export async function longshoreRetentionSweep(input: RetentionSweepInput = {}): Promise<RetentionSweepResult> {
  let progress = input.carried ?? (await beginSweep(input, run));
  while (progress.stage !== 'finish') {
    if (workflowInfo().continueAsNewSuggested) {
      await continueAsNew<typeof longshoreRetentionSweep>({ ...input, carried: progress });
    }
    progress = await nextPage(progress, run);
  }
  return finishSweep(progress, run);
}

function run<Name extends keyof RetentionActivities>(
  name: Name,
  input: Parameters<RetentionActivities[Name]>[0],
): ReturnType<RetentionActivities[Name]> {
  const page = 'page' in input ? ` page ${input.page}` : '';
  // The name says which Activity it is, and so what it gives.
  return scheduleActivity(name, [input], {
    ...ACTIVITY_SETTINGS.sweep,
    summary: `${name.replace('longshoreSweep', '')}${page}`,
  }) as ReturnType<RetentionActivities[Name]>;
}
