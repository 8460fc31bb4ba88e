// Keeps the record of a pause up to date while calls of a step wait: once as soon as a call is gated, again when more have
// settled and nothing of the step runs. The record stands in history before the wait counts, and the store mirrors it.
import { ActivityFailure, condition } from '@temporalio/workflow';
import type { AgentSpec } from '../../shared/agent-spec.ts';
import type { CommitStepResult, PauseRecord } from '../../shared/activities.ts';
import type { WaitingCall } from '../../shared/approvals.ts';
import { errorRecordOf } from '../failures.ts';
import type { SettledCall } from '../../shared/results.ts';
import { hasBlobs, pauseRecord, type StepSoFar } from './pause-record.ts';

/** What a pause is kept with. */
export interface PauseKeeping {
  readonly spec: AgentSpec;
  /** What has no end yet. */
  readonly open: () => readonly WaitingCall[];
  /** Whether every call without a result waits. */
  readonly isAllParked: () => boolean;
  readonly commit: (pause: PauseRecord) => Promise<CommitStepResult>;
  /** Called with what is newly on record, and with what came of recording it. */
  readonly recorded: (fresh: readonly WaitingCall[], result: CommitStepResult) => void;
  /** Called when the pause can never be recorded. */
  readonly failed: (problem: string) => void;
}

/** A store that is away comes back: until then what waits is not pinned, but stands in history. */
const RETRY_PAUSE_MS = 5 * 60_000;

/** Ends when nothing waits any more. `step` gives all that has settled by then. */
export async function keepOnRecord(step: () => StepSoFar, keeping: PauseKeeping): Promise<void> {
  const known = new Set<string>();
  let heldBefore: ReadonlySet<SettledCall> = new Set();
  const toHold = (): readonly SettledCall[] => step().settled.filter(hasBlobs);
  const hasMore = (): boolean => toHold().some((one) => !heldBefore.has(one));
  const keyOf = ({ callKey, digest }: WaitingCall): string => `${callKey} ${digest}`;
  const isFresh = (call: WaitingCall): boolean => !known.has(keyOf(call));
  const isDue = (): boolean => keeping.open().some(isFresh) || (keeping.isAllParked() && hasMore());
  while (keeping.open().length > 0) {
    if (!isDue()) {
      await condition(() => keeping.open().length === 0 || isDue());
      continue;
    }
    const waiting = keeping.open();
    const held = toHold();
    let result: CommitStepResult;
    try {
      result = await keeping.commit(pauseRecord(step(), waiting, keeping.spec));
    } catch (failure) {
      await afterFailure(failure, keeping);
      continue;
    }
    heldBefore = new Set(held);
    const fresh = waiting.filter(isFresh);
    for (const call of fresh) known.add(keyOf(call));
    keeping.recorded(fresh, result);
  }
}

async function afterFailure(failure: unknown, keeping: PauseKeeping): Promise<void> {
  const isPassing = failure instanceof ActivityFailure && failure.retryState === 'MAXIMUM_ATTEMPTS_REACHED';
  if (!isPassing) keeping.failed(errorRecordOf(failure).message);
  else await condition(() => keeping.open().length === 0, RETRY_PAUSE_MS);
}
