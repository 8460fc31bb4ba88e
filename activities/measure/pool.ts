// The threads that measure: started on first use, at most two, gone when idle or when the process ends (they do not keep it
// alive). Payloads are handed over by a copy that is then transferred, so that the event loop copies bytes and does no more.
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Tinypool } from 'tinypool';
import { siblingModule } from '../threads/module-url.ts';
import { adoptVocabulary, vocabularyIfLoaded, type Vocabulary } from './vocabulary.ts';
import type { AnalysisInput } from './analyze.ts';
import type * as thread from './thread.ts';

const CHUNK_BYTES = 1024 * 1024;
const IDLE_TIMEOUT_MS = 60_000;

let pool: Tinypool | undefined;
let sharing: Promise<Vocabulary> | undefined;

/** Loads the vocabulary in a thread and adopts it here. Afterwards short counts run on the event loop. */
export function loadSharedVocabulary(): Promise<Vocabulary> {
  const loaded = vocabularyIfLoaded();
  if (loaded) return Promise.resolve(loaded);
  sharing ??= startSharing();
  return sharing;
}

/** Analyses a payload in a thread; `input.head` is copied. */
export async function analyzeInThread(input: AnalysisInput, hash: boolean): Promise<thread.AnalyzeAnswer> {
  const vocabulary = await loadSharedVocabulary();
  const head = copyOf(input.head);
  const tail = copyOf(input.tail);
  return run('analyzePayload', { input: { ...input, head, tail }, vocabulary, hash }, [head.buffer, tail.buffer]);
}

/** Counts a text in a thread. */
export async function countInThread(bytes: Uint8Array, limit: number): Promise<{ tokens: number; exact: boolean }> {
  return run('countText', { bytes, limit, vocabulary: await loadSharedVocabulary() });
}

/** Hashes a payload of any size in a thread, copying a chunk at a time into shared memory: no block above a millisecond. */
export async function hashInThread(payload: Uint8Array): Promise<string> {
  const { port1, port2 } = new MessageChannel();
  const buffers = [0, 1].map(() => new Uint8Array(new SharedArrayBuffer(CHUNK_BYTES)));
  const digest = run('hashChunks', { port: port2, buffers }, [port2]);
  sendChunks(payload, port1, buffers);
  try {
    return await digest;
  } finally {
    port1.close();
  }
}

/** Ends all threads. A later measurement starts new ones. */
export async function closeThreads(): Promise<void> {
  const closing = pool;
  pool = undefined;
  sharing = undefined;
  await closing?.destroy();
}

type ThreadModule = typeof thread;

/** Runs a function of the thread's module in a thread. */
async function run<Name extends keyof ThreadModule>(
  name: Name,
  task: Parameters<ThreadModule[Name]>[0],
  transferList: (ArrayBuffer | MessagePort)[] = [],
): Promise<Awaited<ReturnType<ThreadModule[Name]>>> {
  // The pool calls that very function, and its answer is cloned.
  return (await threads().run(task, { name, transferList })) as Awaited<ReturnType<ThreadModule[Name]>>;
}

function threads(): Tinypool {
  pool ??= new Tinypool({
    filename: siblingModule(import.meta.url, './thread').href,
    minThreads: 1,
    maxThreads: Math.max(1, Math.min(2, availableParallelism())),
    idleTimeout: IDLE_TIMEOUT_MS,
    isolateWorkers: false,
  });
  return pool;
}

async function startSharing(): Promise<Vocabulary> {
  try {
    const shared = await run('shareVocabulary', undefined);
    adoptVocabulary(shared);
    return vocabularyIfLoaded() ?? shared;
  } catch (error) {
    sharing = undefined;
    throw error;
  }
}

/** Fills a buffer whenever the thread gives one back, until the payload's end. */
function sendChunks(payload: Uint8Array, port: MessagePort, buffers: readonly Uint8Array[]): void {
  let sent = 0;
  let ended = false;
  const send = (buffer: number): void => {
    if (ended) return;
    const chunk = payload.subarray(sent, sent + CHUNK_BYTES);
    buffers[buffer]?.set(chunk);
    sent += chunk.length;
    ended = chunk.length === 0;
    const message: thread.HashChunk = { buffer, length: chunk.length };
    port.postMessage(message);
  };
  port.on('message', send);
  for (let buffer = 0; buffer < buffers.length; buffer++) send(buffer);
}

/** A copy with an array buffer of its own; a Buffer's `slice` would share its pool's. */
function copyOf(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
