// How soon an HTTP stream that ended is opened again. The SDK comes back after what the server asks for, be it at once, or
// after half a second, for ever: a server that ends its streams early would be asked without end by a Worker that is idle.
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';

import { currentExchange, type Exchange } from './exchange.ts';

/** From one opening of the standing stream to the next, doubled each time that it ended early, in milliseconds. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
/** A stream that was open for this long did not end early. */
const LONG_LIVED_MS = 10_000;
/** From one attempt to take up an answer's stream to the next; its call is waiting, and has a deadline. */
const RESUMPTION_PAUSE_MS = 250;

/**
 * The same `fetch`, which holds back a GET that comes too soon after the one before: on the stream for news of the server,
 * and on the stream of one answer. Everything else passes.
 */
export function paceStreams(fetch: FetchLike): FetchLike {
  let standing = { earlyEnds: -1, openedAtMs: Number.NEGATIVE_INFINITY };
  const resumedAtMs = new WeakMap<Exchange, number>();

  async function pauseResumption(exchange: Exchange, signal: AbortSignal | undefined): Promise<void> {
    await until((resumedAtMs.get(exchange) ?? Number.NEGATIVE_INFINITY) + RESUMPTION_PAUSE_MS, signal);
    resumedAtMs.set(exchange, performance.now());
  }

  async function pauseStanding(signal: AbortSignal | undefined): Promise<void> {
    const isEarly = performance.now() - standing.openedAtMs < LONG_LIVED_MS;
    const earlyEnds = isEarly ? standing.earlyEnds + 1 : 0;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** earlyEnds);
    await until(standing.openedAtMs + pauseMs, signal);
    standing = { earlyEnds, openedAtMs: performance.now() };
  }

  return async (url, init) => {
    if (init?.method !== 'GET') return fetch(url, init);
    const exchange = currentExchange.getStore();
    const signal = init.signal ?? undefined;
    await (exchange === undefined ? pauseStanding(signal) : pauseResumption(exchange, signal));
    // An error would have the SDK try again after its transport was closed; "no stream here" ends that.
    return signal?.aborted === true ? new Response(null, { status: 405 }) : fetch(url, init);
  };
}

/** Waits until then, or until the signal aborts. */
async function until(atMs: number, signal: AbortSignal | undefined): Promise<void> {
  const waitMs = atMs - performance.now();
  if (waitMs <= 0 || signal?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, waitMs);
  timer.unref();
  const onAbort = (): void => resolve();
  signal?.addEventListener('abort', onAbort, { once: true });
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener('abort', onAbort);
}
