// Runs scans of files off the event loop, in a small pool of threads.
// A job ends by its result, by its time limit, by its memory limit or by the caller's signal; the last three end the
// thread with it.
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Tinypool } from 'tinypool';
import { messageOf } from '../../shared/errors.ts';
import { siblingModule } from '../threads/module-url.ts';
import { Feed, type Wire } from './feed.ts';
import { JobStopped, timedOut, type JobLimits } from './job-limits.ts';
import type { FromThread, OpenBytes, ThreadJob, ThreadResults, ThreadTask } from './thread-messages.ts';

/**
 * Heap of a thread, a guard: its jobs hold little of a file at a time. A small young generation keeps their memory low:
 * cities.json takes 57 MB with 8, 64 with 16 (`bench/schema.ts`).
 */
const THREAD_MEMORY = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 8 };

let pool: Tinypool | null = null;

/**
 * Runs a job over a file's bytes. Raises `JobStopped`, the signal's reason, and whatever `open` raised.
 */
export async function runInThread<Kind extends ThreadJob['kind']>(
  job: Extract<ThreadJob, { kind: Kind }>,
  open: OpenBytes,
  limits: JobLimits,
): Promise<ThreadResults[Kind]> {
  limits.signal.throwIfAborted();
  const stop = new AbortController();
  const { port1: here, port2: there } = new MessageChannel();
  const feed = new Feed(portWire(here), open);
  const onAbort = (): void => stop.abort(limits.signal.reason);
  limits.signal.addEventListener('abort', onAbort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  feed.onBegun = () => {
    timer = setTimeout(() => stop.abort(timedOut(limits.timeoutMs)), limits.timeoutMs);
  };
  try {
    const task: ThreadTask = { job, port: there };
    const result: unknown = await threadPool().run(task, { transferList: [there], signal: stop.signal });
    // `runJob` answers with the result of the job's own kind.
    return result as ThreadResults[Kind];
  } catch (thrown) {
    if (stop.signal.aborted) throw stop.signal.reason;
    if (feed.failure) throw feed.failure.reason;
    throw stopped(thrown);
  } finally {
    clearTimeout(timer);
    limits.signal.removeEventListener('abort', onAbort);
    feed.close();
  }
}

/** Ends the threads; the next job starts new ones. */
export async function closeThreads(): Promise<void> {
  const closing = pool;
  pool = null;
  await closing?.destroy();
}

function portWire(port: MessagePort): Wire {
  return {
    send: (message) => port.postMessage(message, message.type === 'chunk' ? [message.bytes.buffer] : []),
    onMessage: (handler) => port.on('message', (message: FromThread) => handler(message)),
    close: () => port.close(),
  };
}

function threadPool(): Tinypool {
  if (pool) return pool;
  const made = new Tinypool({
    filename: siblingModule(import.meta.url, './thread').href,
    name: 'runJob',
    // Not 0: tinypool starts no new thread for a job that waits while those before it are ended.
    minThreads: 1,
    maxThreads: 2,
    idleTimeout: 30_000,
    isolateWorkers: false,
    env: {},
    resourceLimits: THREAD_MEMORY,
  });
  // A thread that dies without a job, or cannot start: what waits fails, and the next job gets a new pool.
  made.on('error', () => {
    if (pool === made) pool = null;
    void made.destroy();
  });
  pool = made;
  return made;
}

function stopped(thrown: unknown): JobStopped {
  const text = messageOf(thrown);
  const outOfMemory = /out of memory|memory limit|ERR_WORKER_OUT_OF_MEMORY/i.test(text);
  return new JobStopped(outOfMemory ? 'memory' : 'failed', text);
}
