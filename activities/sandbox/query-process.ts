// Runs queries in processes of their own, two at most. Not in a thread: V8 ends the whole process when one large allocation
// passes a thread's limit, as `[1..9999999]` a few times does, and a query is the model's to write.
// A process that answered is kept for the next query, with its last file parsed.
import { fork, type ChildProcess } from 'node:child_process';
import { siblingModule } from '../threads/module-url.ts';
import { Feed, type Wire } from './feed.ts';
import { JobStopped, timedOut, type JobLimits } from './job-limits.ts';
import type { QueryJob, QueryResult } from './query.ts';
import type { FromThread, OpenBytes, ToThread } from './thread-messages.ts';

/** What the process is sent: a query, or what `feed.ts` sends. */
export type ToQueryProcess = { readonly type: 'job'; readonly job: QueryJob } | ToThread;

/** What the process sends: what `receive.ts` sends, then one result or the message of what it threw. */
export type FromQueryProcess =
  | FromThread
  | { readonly type: 'result'; readonly result: QueryResult }
  | { readonly type: 'threw'; readonly message: string };

const HEAP_MB = 640;
const PROCESSES = 2;
const IDLE_MS = 30_000;

let running = 0;
const waiting: (() => void)[] = [];
const idle: { readonly child: ChildProcess; readonly timer: NodeJS.Timeout }[] = [];

/** Answers a query over a file's bytes. Raises `JobStopped`, the signal's reason, and whatever `open` raised. */
export async function queryInProcess(job: QueryJob, open: OpenBytes, limits: JobLimits): Promise<QueryResult> {
  limits.signal.throwIfAborted();
  if (running < PROCESSES) running += 1;
  else await nextFree(limits.signal);
  try {
    return await runIn(takeProcess(), { job, open, limits });
  } finally {
    passOn();
  }
}

/** Ends the processes that wait for a query. */
export function closeQueryProcesses(): void {
  for (const { child, timer } of idle.splice(0)) {
    clearTimeout(timer);
    child.kill('SIGKILL');
  }
}

interface Run {
  readonly job: QueryJob;
  readonly open: OpenBytes;
  readonly limits: JobLimits;
}

function runIn(child: ChildProcess, { job, open, limits }: Run): Promise<QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
  const feed = new Feed(processWire(child), open);
  let timer: NodeJS.Timeout | undefined;
  feed.onBegun = () => {
    timer = setTimeout(() => reject(timedOut(limits.timeoutMs)), limits.timeoutMs);
  };
  const onAbort = (): void => reject(limits.signal.reason);
  if (limits.signal.aborted) onAbort();
  limits.signal.addEventListener('abort', onAbort, { once: true });
  child.on('message', (message: FromQueryProcess) => {
    if (message.type === 'result') resolve(message.result);
    if (message.type === 'threw')
      reject(feed.failure ? feed.failure.reason : new JobStopped('failed', message.message));
  });
  child.once('error', (error) => reject(new JobStopped('failed', error.message)));
  child.once('exit', (code, signal) => reject(endedBy(code, signal)));
  child.send({ type: 'job', job } satisfies ToQueryProcess);
  return promise
    .then((result) => {
      keep(child, feed);
      return result;
    })
    .catch((thrown: unknown) => {
      child.kill('SIGKILL');
      throw thrown;
    })
    .finally(() => {
      clearTimeout(timer);
      limits.signal.removeEventListener('abort', onAbort);
      feed.close();
    });
}

function takeProcess(): ChildProcess {
  const kept = idle.pop();
  if (kept) {
    clearTimeout(kept.timer);
    kept.child.removeAllListeners();
    kept.child.ref();
    kept.child.channel?.ref();
    return kept.child;
  }
  return fork(siblingModule(import.meta.url, './query-child'), {
    execArgv: [`--max-old-space-size=${HEAP_MB}`],
    // No environment: a query has no business with the Worker's secrets.
    env: {},
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

function keep(child: ChildProcess, feed: Feed): void {
  feed.close();
  child.removeAllListeners();
  const timer = setTimeout(() => forget(child), IDLE_MS);
  timer.unref();
  child.once('exit', () => forget(child));
  child.once('error', () => forget(child));
  child.unref();
  child.channel?.unref();
  idle.push({ child, timer });
}

function forget(child: ChildProcess): void {
  const at = idle.findIndex((entry) => entry.child === child);
  if (at >= 0) clearTimeout(idle.splice(at, 1)[0]?.timer);
  child.kill('SIGKILL');
}

function processWire(child: ChildProcess): Wire {
  let isOpen = true;
  return {
    // What cannot be sent any more is told by `exit`.
    send: (message) => void (isOpen && child.connected && child.send(message, () => {})),
    onMessage: (handler) =>
      child.on('message', (message: FromQueryProcess) => {
        if (isOpen && message.type !== 'result' && message.type !== 'threw') handler(message);
      }),
    close: () => {
      isOpen = false;
    },
  };
}

// V8 aborts a process whose heap is full.
function endedBy(code: number | null, signal: NodeJS.Signals | null): JobStopped {
  if (signal === 'SIGABRT' || signal === 'SIGKILL' || code === 134) return new JobStopped('memory', 'out of memory');
  return new JobStopped('failed', `the process ended with ${signal ?? `code ${code}`}`);
}

// A place goes to who waits longest; `running` stays as it is then.
function passOn(): void {
  const next = waiting.shift();
  if (next) next();
  else running -= 1;
}

async function nextFree(signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => {
    const at = waiting.indexOf(resolve);
    if (at >= 0) {
      waiting.splice(at, 1);
      reject(signal.reason);
    }
  };
  waiting.push(resolve);
  signal.addEventListener('abort', onAbort, { once: true });
  await promise.finally(() => signal.removeEventListener('abort', onAbort));
}
