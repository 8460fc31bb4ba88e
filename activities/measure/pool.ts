// The threads that measure: started on first use, at most two, gone when idle or when the process ends (they do not keep it
// alive). Payloads are handed over by a copy that is then transferred, so that the event loop copies bytes and does no more.
import { availableParallelism } from 'node:os';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Tinypool } from 'tinypool';
import { siblingModule } from '../threads/module-url.ts';
import { adoptVocabulary, vocabularyIfLoaded, type Vocabulary } from './vocabulary.ts';
import type { AnalysisInput } from './analyze.ts';
import type { AnalyzeAnswer, AnalyzeTask, CountTask, HashChunk, HashTask } from './thread.ts';

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
export async function analyzeInThread(input: AnalysisInput, hash: boolean): Promise<AnalyzeAnswer> {
  const vocabulary = await loadSharedVocabulary();
  const [head, tail] = [copyOf(input.head), copyOf(input.tail)];
  const task: AnalyzeTask = { input: { ...input, head, tail }, vocabulary, hash };
  // The thread's function of that name gives this type.
  return (await threads().run(task, {
    name: 'analyzePayload',
    transferList: [head.buffer as ArrayBuffer, tail.buffer as ArrayBuffer],
  })) as AnalyzeAnswer;
}

/** Counts a text in a thread. */
export async function countInThread(bytes: Uint8Array, limit: number): Promise<{ tokens: number; exact: boolean }> {
  const task: CountTask = { bytes, limit, vocabulary: await loadSharedVocabulary() };
  // The thread's function of that name gives this type.
  return (await threads().run(task, { name: 'countText' })) as { tokens: number; exact: boolean };
}

/** Hashes a payload of any size in a thread, copying a chunk at a time into shared memory: no block above a millisecond. */
export async function hashInThread(payload: Uint8Array): Promise<string> {
  const { port1, port2 } = new MessageChannel();
  const buffers = [0, 1].map(() => new Uint8Array(new SharedArrayBuffer(CHUNK_BYTES)));
  const task: HashTask = { port: port2, buffers };
  const digest = threads().run(task, { name: 'hashChunks', transferList: [port2] });
  sendChunks(payload, port1, buffers);
  try {
    return (await digest) as string; // as above
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
    // The thread's function of that name gives this type.
    const shared = (await threads().run(undefined, { name: 'shareVocabulary' })) as Vocabulary;
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
    const message: HashChunk = { buffer, length: chunk.length };
    port.postMessage(message);
  };
  port.on('message', send);
  for (let buffer = 0; buffer < buffers.length; buffer++) send(buffer);
}

/** A copy with an array buffer of its own; a Buffer's `slice` would share its pool's. */
function copyOf(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes);
}
