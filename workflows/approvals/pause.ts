// Keeps the record of a pause up to date while calls of a step wait: once as soon as a call is gated, again when more have
// settled and nothing of the step runs. The record stands in history before the wait counts, and the store mirrors it.
import { ActivityFailure, CancellationScope, condition } from '@temporalio/workflow';
import type { AgentSpec } from '../../shared/agent-spec.ts';
import type { CommitStepResult, PauseRecord } from '../../shared/activities.ts';
import type { WaitingCall } from '../../shared/approvals.ts';
import { errorRecordOf } from '../failures.ts';
import type { SettledCall } from '../../shared/results.ts';
import { hasBlobs, pauseRecord, type StepSoFar } from './pause-record.ts';

/** What a pause is kept with. */
export interface PauseKeeping {
  readonly spec: AgentSpec;
  /** All that has settled by now. */
  readonly step: () => StepSoFar;
  /** What has no end yet. */
  readonly open: () => readonly WaitingCall[];
  /** Whether every call without a result waits. */
  readonly isAllParked: () => boolean;
  /** Whether a call waits that is its step's only one, so that none can begin to wait beside it. */
  readonly isAlone: () => boolean;
  readonly commit: (pause: PauseRecord) => Promise<CommitStepResult>;
  /** Called with what is newly on record, and with what came of recording it. */
  readonly recorded: (fresh: readonly WaitingCall[], result: CommitStepResult) => void;
  /** Called when the pause can never be recorded. */
  readonly failed: (problem: string) => void;
}

/** A store that is away comes back: until then what waits is not pinned, but stands in history. */
const RETRY_PAUSE_MS = 5 * 60_000;

/** Puts pauses on record, one at a time: the manifest has one writer. Whatever becomes of the turn, a record is finished. */
export class PauseKeeper {
  private readonly keeping: PauseKeeping;
  /** Waits of this pause that are on record, as keys. */
  private known = new Set<string>();
  private heldBefore: ReadonlySet<SettledCall> = new Set();
  private isBusy = false;

  constructor(keeping: PauseKeeping) {
    this.keeping = keeping;
  }

  /** Whether something waits, or is being put on record. */
  get isKeeping(): boolean {
    return this.isBusy || this.keeping.open().length > 0;
  }

  /** A wait has begun. It is put on record together with those that begin in the same moment. */
  begun(): void {
    if (this.isBusy) return;
    if (this.keeping.open().length === 1) {
      this.known = new Set();
      this.heldBefore = new Set();
    }
    this.isBusy = true;
    if (this.keeping.isAlone()) this.goOn();
    else void Promise.resolve().then(() => this.goOn());
  }

  /** A call has its result, which a call that still waits may have to hold. */
  settled(): void {
    if (this.isBusy || this.keeping.open().length === 0) return;
    this.isBusy = true;
    // Not before all that came with it is settled too: a condition is looked at once nothing else can go on.
    let isAsked = false;
    this.whateverBecomes(() =>
      condition(() => {
        const isQuiet = isAsked;
        isAsked = true;
        return isQuiet;
      }),
    );
  }

  private goOn(): void {
    const waiting = this.keeping.open();
    if (waiting.length > 0 && this.isDue(waiting)) this.record(waiting);
    else this.isBusy = false;
  }

  private isDue(waiting: readonly WaitingCall[]): boolean {
    const isFresh = waiting.some((call) => !this.known.has(keyOf(call)));
    return isFresh || (this.keeping.isAllParked() && this.toHold().some((one) => !this.heldBefore.has(one)));
  }

  private toHold(): readonly SettledCall[] {
    return this.keeping.step().settled.filter(hasBlobs);
  }

  private record(waiting: readonly WaitingCall[]): void {
    const { keeping } = this;
    const held = this.toHold();
    const pause = pauseRecord(keeping.step(), waiting, keeping.spec);
    this.whateverBecomes(
      () => keeping.commit(pause),
      (result) => {
        this.heldBefore = new Set(held);
        const fresh = waiting.filter((call) => !this.known.has(keyOf(call)));
        for (const call of fresh) this.known.add(keyOf(call));
        keeping.recorded(fresh, result);
      },
    );
  }

  private whateverBecomes<T>(work: () => Promise<T>, take: (result: T) => void = () => {}): void {
    void CancellationScope.nonCancellable(work).then(
      (result) => {
        take(result);
        return this.goOn();
      },
      (failure: unknown) => this.failed(failure),
    );
  }

  private failed(failure: unknown): void {
    const { keeping } = this;
    const isPassing = failure instanceof ActivityFailure && failure.retryState === 'MAXIMUM_ATTEMPTS_REACHED';
    if (isPassing) return this.whateverBecomes(() => condition(() => keeping.open().length === 0, RETRY_PAUSE_MS));
    keeping.failed(errorRecordOf(failure).message);
    this.goOn();
  }
}

function keyOf({ callKey, digest }: WaitingCall): string {
  return `${callKey} ${digest}`;
}
