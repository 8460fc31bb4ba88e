// How often a stream that ends at once is opened again, by a clock that the test turns.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { currentExchange, openExchange } from '../../activities/mcp/exchange.ts';
import { paceStreams } from '../../activities/mcp/stream-pace.ts';

const HOUR_MS = 3_600_000;
const get = { method: 'GET' };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A `fetch` that notes when it was called. */
function counting() {
  const atMs: number[] = [];
  const fetch = paceStreams(() => {
    atMs.push(performance.now());
    return Promise.resolve(new Response('', { status: 200 }));
  });
  return { fetch, atMs };
}

/** Opens a stream anew, each time after it was open for that long, as the SDK does; stops after that time. */
function reopen(fetch: ReturnType<typeof paceStreams>, { livesMs, forMs }: { livesMs: number; forMs: number }): void {
  const end = performance.now() + forMs;
  const again = async (): Promise<void> => {
    await fetch('http://127.0.0.1/mcp', get);
    setTimeout(() => {
      if (performance.now() < end) void again();
    }, livesMs);
  };
  void again();
}

describe('the stream for news', () => {
  it('that ends at once is opened again after pauses that double up to a minute', async () => {
    const { fetch, atMs } = counting();
    reopen(fetch, { livesMs: 0, forMs: HOUR_MS });
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    const gaps = atMs.slice(1).map((at, index) => Math.round((at - (atMs[index] ?? 0)) / 1_000));
    expect(gaps.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
    expect(atMs.length).toBeLessThan(70);
  });

  it('that lived for a while is opened again at once', async () => {
    const { fetch, atMs } = counting();
    reopen(fetch, { livesMs: 20_000, forMs: HOUR_MS });
    await vi.advanceTimersByTimeAsync(HOUR_MS);
    expect(atMs).toHaveLength(HOUR_MS / 20_000);
  });

  it('is not opened any more once its connection is closed', async () => {
    const { fetch, atMs } = counting();
    const closing = new AbortController();
    await fetch('http://127.0.0.1/mcp', { ...get, signal: closing.signal });
    const waiting = fetch('http://127.0.0.1/mcp', { ...get, signal: closing.signal });
    closing.abort();
    expect((await waiting).status).toBe(405);
    expect(atMs).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the stream of an answer', () => {
  it('is taken up again four times a second at most, however long its call waits', async () => {
    const { fetch, atMs } = counting();
    const exchange = openExchange({ timeoutMs: HOUR_MS, signal: new AbortController().signal });
    // The clock that is turned by hand does not carry the exchange over.
    const ofExchange: typeof fetch = (url, init) => currentExchange.run(exchange, () => fetch(url, init));
    reopen(ofExchange, { livesMs: 0, forMs: 10_000 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(atMs).toHaveLength(41);
    exchange.dispose();
  });
});

describe('requests', () => {
  it('are never held back', async () => {
    const { fetch, atMs } = counting();
    for (let n = 0; n < 100; n += 1) await fetch('http://127.0.0.1/mcp', { method: 'POST' });
    expect(new Set(atMs).size).toBe(1);
  });
});
