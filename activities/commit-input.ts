// What the Activities that commit have in common in their inputs.
import type { CallModelInput, CommitStepInput } from '../shared/activities.ts';

/** What an Activity is to commit before its own work. */
export type CommitInput = Pick<
  CallModelInput,
  'turn' | 'head' | 'continueFrom' | 'frame' | 'messages' | 'commit' | 'retried' | 'resume' | 'saveHead' | 'catalogs'
> &
  Pick<CommitStepInput, 'pause' | 'rebuild'> & {
    /** The step that is next: what later steps left behind belongs to a run that was cut off. Absent where nobody knows. */
    readonly step?: number;
  };
