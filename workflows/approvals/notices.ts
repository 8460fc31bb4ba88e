// Tells the Worker's hook what happens to waiting calls. A hook may fail or hang without an effect on the turn: Temporal tries
// it again a few times, then it is logged.
import { CancellationScope, log } from '@temporalio/workflow';
import type { NotifyInput } from '../../shared/activities.ts';
import { messageOf } from '../../shared/errors.ts';
import { notify } from '../activities.ts';

/** Notices of one turn. */
export class Notices {
  private readonly pending = new Set<Promise<void>>();
  /** Until a Worker has said that it has no hook. */
  isHeard = true;

  /**
   * Sends a notice beside the turn's work. What ends a wait is not told where the Worker had no hook when the wait began; a
   * reminder always is, since days have passed.
   */
  send(input: NotifyInput): void {
    const isBeginning = input.event === 'waiting' || input.event === 'reminder';
    if (input.calls.length === 0 || (!isBeginning && !this.isHeard)) return;
    const sending = CancellationScope.nonCancellable(() => this.deliver(input));
    this.pending.add(sending);
    void sending.finally(() => this.pending.delete(sending));
  }

  /** Settles when all notices are delivered or given up. */
  async delivered(): Promise<void> {
    if (this.pending.size > 0) await Promise.all(this.pending);
  }

  private async deliver(input: NotifyInput): Promise<void> {
    try {
      const { hooks } = await notify(input);
      this.isHeard = hooks;
    } catch (failure) {
      const calls = input.calls.map(({ call }) => call.callKey).join(', ');
      log.warn(`The hook for approvals failed: ${messageOf(failure)}`, { event: input.event, calls });
    }
  }
}
