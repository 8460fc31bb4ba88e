// Durable timers of waits: one for all calls that began to wait at the same time, one for the turn's budget of wall time.
// They are cancelled as soon as nobody needs them, and know nothing of what they are for.
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';

/** Something to be done so many milliseconds from now. */
export interface Due {
  readonly afterMs: number;
  readonly run: () => void;
}

/** Named timers that can be cancelled. */
export class Timers {
  private readonly scopes = new Map<string, CancellationScope>();

  /** Runs each thing when it is due, in order of time; nothing when the name has timers already. */
  start(name: string, dues: readonly Due[]): void {
    if (dues.length === 0 || this.scopes.has(name)) return;
    const scope = new CancellationScope();
    this.scopes.set(name, scope);
    this.runNext(
      scope,
      [...dues].sort((a, b) => a.afterMs - b.afterMs),
      () => this.scopes.get(name) === scope && this.scopes.delete(name),
    );
  }

  /** No loop that awaits: of each promise the SDK takes a stack trace, and a decision starts one of these. */
  private runNext(scope: CancellationScope, [due, ...others]: readonly Due[], over: () => void, waitedMs = 0): void {
    if (!due) return over();
    void scope
      .run(() => sleep(Math.max(1, due.afterMs - waitedMs)))
      .then(
        () => {
          due.run();
          return this.runNext(scope, others, over, due.afterMs);
        },
        (failure: unknown) => {
          over();
          if (!isCancellation(failure)) throw failure;
        },
      );
  }

  /** Cancels the timers of a name, if there are any. */
  stop(name: string): void {
    this.scopes.get(name)?.cancel();
    this.scopes.delete(name);
  }
}
