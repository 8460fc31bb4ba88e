// One request that waits for its answer. Whoever learns that the answer will not come (the caller, the clock, the
// connection, the HTTP stream it was to arrive on) ends the exchange; the first one wins, and late news is dropped.
import { AsyncLocalStorage } from 'node:async_hooks';

import { DeadlineFault } from './faults.ts';

/** The longest time a timer can wait, 24.8 days. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** A request under way. */
export interface Exchange {
  /** Aborts when the exchange ends without an answer; the server is then told that the request is cancelled. */
  readonly signal: AbortSignal;
  /** Rejects when the exchange ends without an answer, with what `end` was given. */
  readonly ended: Promise<never>;
  readonly isOver: boolean;
  /** Whether the server gave the answer's stream an id, so that a broken stream may be taken up again. */
  isResumable: boolean;
  /** What the server asked a person meanwhile, and was declined. */
  readonly declined: string[];
  /** Ends the exchange without an answer. */
  end(reason: unknown): void;
  /** A sign of life: the deadline starts anew. */
  alive(): void;
  /** The answer is here, or nobody waits any more. */
  dispose(): void;
}

/** The exchange on whose behalf the code at hand runs; HTTP streams outlive the call that opened them. */
export const currentExchange = new AsyncLocalStorage<Exchange>();

/** Starts the clock of a request. */
export function openExchange(options: { readonly timeoutMs: number; readonly signal: AbortSignal }): Exchange {
  const controller = new AbortController();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  ended.catch(() => {});
  let isOver = false;
  const timeoutMs = Math.min(options.timeoutMs, LONGEST_TIMER_MS);
  const timer = setTimeout(() => end(new DeadlineFault(timeoutMs)), timeoutMs);
  const onAbort = (): void => end(options.signal.reason);
  options.signal.addEventListener('abort', onAbort, { once: true });

  function dispose(): void {
    isOver = true;
    clearTimeout(timer);
    options.signal.removeEventListener('abort', onAbort);
  }
  function end(reason: unknown): void {
    if (isOver) return;
    dispose();
    reject(reason);
    controller.abort(reason);
  }
  return {
    signal: controller.signal,
    ended,
    get isOver() {
      return isOver;
    },
    isResumable: false,
    declined: [],
    end,
    alive: () => {
      if (!isOver) timer.refresh();
    },
    dispose,
  };
}
