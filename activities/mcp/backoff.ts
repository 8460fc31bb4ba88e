// When a server that keeps failing may be started again: twice as long after every failure, from the start after it has
// worked. Nothing is started here, and nothing while nobody calls.
import { LongshoreError, withoutStop } from '../../shared/errors.ts';

/** The waits between starts, in milliseconds. */
export interface RestartPauses {
  readonly firstMs: number;
  readonly longestMs: number;
}

/** Of a server's process. */
export const PROCESS_PAUSES: RestartPauses = { firstMs: 1_000, longestMs: 60_000 };
/** Of an HTTP session: to ask again costs little. */
export const SESSION_PAUSES: RestartPauses = { firstMs: 1_000, longestMs: 2_000 };

/** `McpServerUnavailable` with the time after which another attempt can fare better. */
export class UnavailableForNow extends LongshoreError {
  /** From now, in milliseconds; Temporal's next attempt waits as long. */
  readonly retryAfterMs: number;

  constructor(error: Pick<LongshoreError, 'message' | 'mend'>, retryAfterMs: number, cause?: unknown) {
    super('McpServerUnavailable', error.message, error.mend, { cause });
    this.retryAfterMs = retryAfterMs;
  }
}

/** Counts the failures in a row of one server. */
export interface Backoff {
  /** Records a failure of now, or of an earlier time of the same clock; gives the error with its wait. */
  failed(error: LongshoreError, atMs?: number): UnavailableForNow;
  /** The server has answered. */
  worked(): void;
  /** Raises the last failure with the wait that is left, while there is one. */
  check(): void;
}

/** Makes the count; `now` is a clock in milliseconds that never goes back. */
export function createBackoff(pauses: RestartPauses, now: () => number = () => performance.now()): Backoff {
  let failures = 0;
  let last: { readonly error: LongshoreError; readonly untilMs: number } | undefined;
  return {
    failed: (error, atMs = now()) => {
      failures += 1;
      // 2 ** 30 is far above any longest wait.
      const pauseMs = Math.min(pauses.longestMs, pauses.firstMs * 2 ** Math.min(failures - 1, 30));
      last = { error, untilMs: atMs + pauseMs };
      return new UnavailableForNow(error, Math.max(1, Math.ceil(last.untilMs - now())), error);
    },
    worked: () => {
      failures = 0;
      last = undefined;
    },
    check: () => {
      if (last === undefined) return;
      const leftMs = Math.ceil(last.untilMs - now());
      if (leftMs <= 0) return;
      const times = failures === 1 ? 'once' : `${failures} times in a row`;
      const wait = leftMs < 1_000 ? `${leftMs} ms` : `${(leftMs / 1_000).toFixed(1)} s`;
      const message = `${withoutStop(last.error.message)}; it has failed ${times} and is started again in ${wait} at the earliest`;
      throw new UnavailableForNow({ message, mend: last.error.mend }, leftMs, last.error);
    },
  };
}
