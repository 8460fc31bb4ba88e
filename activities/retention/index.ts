// The Activities of the retention sweep, under their names on the wire.
import type { RetentionActivities } from '../../shared/sweep.ts';
import { createSweepBegin } from './begin.ts';
import { createSweepDelete } from './delete.ts';
import { createSweepFinish } from './finish.ts';
import { createSweepLetGo } from './let-go.ts';
import { createSweepListMarks, createSweepMark } from './mark.ts';
import type { SweepDependencies } from './paging.ts';
import { createSweepSurvey } from './survey.ts';

/** Makes the Activities over one set of dependencies. */
export function createRetentionActivities(dependencies: SweepDependencies): RetentionActivities {
  return {
    longshoreSweepBegin: createSweepBegin(dependencies),
    longshoreSweepSurvey: createSweepSurvey(dependencies),
    longshoreSweepLetGo: createSweepLetGo(dependencies),
    longshoreSweepListMarks: createSweepListMarks(dependencies),
    longshoreSweepMark: createSweepMark(dependencies),
    longshoreSweepDelete: createSweepDelete(dependencies),
    longshoreSweepFinish: createSweepFinish(dependencies),
  };
}
