// The other end of `feed.ts`: a job's way to the bytes of its file, in the thread or process that it runs in.
import { on, type EventEmitter } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import type { FromThread, OpenBytes, ToThread } from './thread-messages.ts';

/** What emits the messages that `feed.ts` sends: a thread's port, or the process. */
type Source = EventEmitter | MessagePort;

/** Gives the file's bytes, each time from their start. `source` emits what `feed.ts` sends. */
export function bytesFrom(source: Source, send: (message: FromThread) => void): OpenBytes {
  let pass = 0;
  return () => receive(source, send, (pass += 1));
}

async function* receive(source: Source, send: (message: FromThread) => void, pass: number): AsyncIterable<Uint8Array> {
  // Listening before asking: `on` keeps what arrives between two reads.
  // A port has an emitter's methods, and `on` uses them.
  const messages = on(source as EventEmitter, 'message');
  send({ type: 'open', pass });
  for await (const [message] of messages) {
    // Only the sandbox itself holds the other end.
    const got = message as ToThread;
    if (got.pass !== pass) continue;
    if (got.type === 'end') return;
    if (got.type === 'failed') throw new Error('the bytes of the file cannot be had');
    yield got.bytes;
    send({ type: 'used', pass });
  }
}
