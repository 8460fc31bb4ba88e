// Runs the sandbox's heavy work off the event loop: two small pools of threads, one for scans and one for queries.
// A job ends by its result, by its time limit, by its memory limit or by the caller's signal; the last three end the
// thread with it.
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Tinypool } from 'tinypool';
import { messageOf } from '../../shared/errors.ts';
import { siblingModule } from '../threads/module-url.ts';
import {
  CHUNK_BYTES,
  CHUNKS_IN_FLIGHT,
  type FromThread,
  type OpenBytes,
  type ThreadJob,
  type ThreadResults,
  type ThreadTask,
  type ToThread,
} from './thread-messages.ts';

/** What a job may use. */
export interface JobLimits {
  /** From the moment a thread has taken the job. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A job that a thread could not finish; `reason` says which limit it met. */
export class JobStopped extends Error {
  readonly reason: 'time' | 'memory' | 'failed';

  constructor(reason: 'time' | 'memory' | 'failed', message: string) {
    super(message);
    this.name = 'JobStopped';
    this.reason = reason;
  }
}

/** Heap of a thread that scans, and of one that holds a parsed file, in MiB. */
export const THREAD_MEMORY_MB = { scan: 192, query: 640 } as const;

const pools = new Map<keyof typeof THREAD_MEMORY_MB, Tinypool>();

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
  const feed = new Feed(here, open);
  const onAbort = (): void => stop.abort(limits.signal.reason);
  limits.signal.addEventListener('abort', onAbort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  feed.onBegun = () => {
    timer = setTimeout(() => stop.abort(timedOut(limits.timeoutMs)), limits.timeoutMs);
  };
  try {
    const task: ThreadTask = { job, port: there };
    const result: unknown = await poolFor(job.kind).run(task, { transferList: [there], signal: stop.signal });
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

/** Ends all threads of the sandbox; the next job starts new ones. For a Worker's shutdown and for tests. */
export async function closeSandboxThreads(): Promise<void> {
  const open = [...pools.values()];
  pools.clear();
  await Promise.all(open.map((pool) => pool.destroy()));
}

// Sends the file's bytes over a port as the thread uses them, and keeps the reason when they cannot be had.
class Feed {
  failure: { readonly reason: unknown } | null = null;
  onBegun: () => void = () => {};
  readonly #port: MessagePort;
  readonly #open: OpenBytes;
  #inFlight = 0;
  // The reading that is under way; -1 once closed.
  #pass = 0;
  #wake: () => void = () => {};

  constructor(port: MessagePort, open: OpenBytes) {
    this.#port = port;
    this.#open = open;
    port.on('message', (message: FromThread) => this.#receive(message));
  }

  close(): void {
    this.#pass = -1;
    this.#wake();
    this.#port.close();
  }

  #receive(message: FromThread): void {
    if (message.type === 'begun') this.onBegun();
    else if (message.type === 'open') void this.#pump(message.pass);
    else if (message.pass === this.#pass) {
      this.#inFlight -= 1;
      this.#wake();
    }
  }

  // Never rejects: what goes wrong is kept in `failure`, and the thread is told.
  async #pump(pass: number): Promise<void> {
    this.#pass = pass;
    this.#inFlight = 0;
    this.#wake();
    try {
      for await (const chunk of this.#open()) {
        for (let at = 0; at < chunk.length; at += CHUNK_BYTES) {
          while (this.#inFlight >= CHUNKS_IN_FLIGHT && this.#pass === pass) await this.#used();
          if (this.#pass !== pass) return;
          // A copy: cloning a view would send the whole buffer beneath it.
          const bytes = Uint8Array.from(chunk.subarray(at, at + CHUNK_BYTES));
          this.#inFlight += 1;
          this.#post({ type: 'chunk', pass, bytes }, [bytes.buffer]);
        }
      }
      if (this.#pass === pass) this.#post({ type: 'end', pass });
    } catch (reason) {
      this.failure = { reason };
      this.#post({ type: 'failed', pass });
    }
  }

  #post(message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
    this.#port.postMessage(message, transfer);
  }

  #used(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

function poolFor(kind: ThreadJob['kind']): Tinypool {
  const use = kind === 'query' ? 'query' : 'scan';
  const known = pools.get(use);
  if (known) return known;
  const pool = new Tinypool({
    filename: siblingModule(import.meta.url, './thread').href,
    name: 'runJob',
    // Not 0: tinypool starts no new thread for a job that waits while those before it are ended.
    minThreads: 1,
    maxThreads: 2,
    idleTimeout: 30_000,
    isolateWorkers: false,
    // No environment: a query has no business with the Worker's secrets.
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: THREAD_MEMORY_MB[use], maxYoungGenerationSizeMb: 16 },
  });
  // A thread that dies without a job, or cannot start: what waits fails, and the next job gets a new pool.
  pool.on('error', () => {
    pools.delete(use);
    void pool.destroy();
  });
  pools.set(use, pool);
  return pool;
}

function timedOut(timeoutMs: number): JobStopped {
  return new JobStopped('time', `stopped after ${timeoutMs / 1000} seconds`);
}

function stopped(thrown: unknown): JobStopped {
  const text = messageOf(thrown);
  const outOfMemory = /out of memory|memory limit|ERR_WORKER_OUT_OF_MEMORY/i.test(text);
  return new JobStopped(outOfMemory ? 'memory' : 'failed', text);
}
