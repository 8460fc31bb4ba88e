// The stages of a sweep and their pages, over anything that runs its Activities: what is next is a function of how far it is.
import {
  addTally,
  DEFAULT_GRACE_MS,
  earlier,
  EMPTY_TALLY,
  type RetentionActivities,
  type RetentionSweepInput,
  type RetentionSweepResult,
  type SweepProgress,
  type SweepStage,
} from '../shared/sweep.ts';

/** Runs one Activity of the sweep. */
export type RunSweepActivity = <Name extends keyof RetentionActivities>(
  name: Name,
  input: Parameters<RetentionActivities[Name]>[0],
) => ReturnType<RetentionActivities[Name]>;

/** By the first digit of the hashes. */
const DELETE_PAGES = 16;

/** Lists the turns; gives where to go on. */
export async function beginSweep(
  { graceMs = DEFAULT_GRACE_MS, dryRun = false }: RetentionSweepInput,
  run: RunSweepActivity,
): Promise<SweepProgress> {
  const { tally, ...begun } = await run('longshoreSweepBegin', { graceMs, dryRun });
  return skipEmpty({ ...begun, stage: 'survey', page: 0, tally: addTally(EMPTY_TALLY, tally) });
}

/** Does one page of the stage that is on; gives where to go on. */
export async function nextPage(progress: SweepProgress, run: RunSweepActivity): Promise<SweepProgress> {
  const { frame, page } = progress;
  switch (progress.stage) {
    case 'survey': {
      const { tally, oldestSavedMs } = await run('longshoreSweepSurvey', { frame, page });
      return turned({ ...progress, oldestSavedMs: earlier(progress.oldestSavedMs, oldestSavedMs) }, tally);
    }
    case 'let-go':
      return turned(progress, (await run('longshoreSweepLetGo', { frame, page })).tally);
    case 'list-marks': {
      // A dry run changes no manifest: the first listing is still good.
      const pages = frame.dryRun ? progress.pages : (await run('longshoreSweepListMarks', { frame })).pages;
      return skipEmpty({ ...progress, stage: 'mark', page: 0, pages });
    }
    case 'mark':
      return turned(progress, (await run('longshoreSweepMark', { frame, page })).tally);
    case 'delete': {
      const { oldestSavedMs, pages: markPages } = progress;
      const { tally } = await run('longshoreSweepDelete', { frame, page, markPages, oldestSavedMs });
      return turned(progress, tally);
    }
    case 'finish':
      return progress;
  }
}

/** Puts the sweep's notes away; gives what it counted. */
export async function finishSweep(progress: SweepProgress, run: RunSweepActivity): Promise<RetentionSweepResult> {
  const { tally } = await run('longshoreSweepFinish', { frame: progress.frame });
  return resultOf({ ...progress, tally: addTally(progress.tally, tally) });
}

/** After a page: the next one, or the next stage. */
function turned(progress: SweepProgress, counted: Parameters<typeof addTally>[1]): SweepProgress {
  const tally = addTally(progress.tally, counted);
  return skipEmpty({ ...progress, page: progress.page + 1, tally });
}

const NEXT: { readonly [stage in SweepStage]: SweepStage } = {
  survey: 'let-go',
  'let-go': 'list-marks',
  'list-marks': 'mark',
  mark: 'delete',
  delete: 'finish',
  finish: 'finish',
};

/** Moves on to the next stage where this one has no further page. What is not known to be unreferenced is not deleted. */
function skipEmpty(progress: SweepProgress): SweepProgress {
  const { stage, page, tally } = progress;
  if (stage === 'finish' || page < pagesOf(progress)) return progress;
  const next = stage === 'mark' && tally.blocking > 0 ? 'finish' : NEXT[stage];
  return skipEmpty({ ...progress, stage: next, page: 0 });
}

function pagesOf({ stage, pages }: SweepProgress): number {
  if (stage === 'list-marks') return 1;
  return stage === 'delete' ? DELETE_PAGES : pages;
}

function resultOf({ frame, tally }: SweepProgress): RetentionSweepResult {
  const { blocking, ...counts } = tally;
  const { dryRun, nowMs, graceMs } = frame;
  return { dryRun, startedAt: new Date(nowMs).toISOString(), graceMs, stopped: blocking > 0, ...counts };
}
