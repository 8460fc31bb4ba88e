// The module that the sandbox's threads run: it takes a job, asks for the file's bytes as it needs them, and answers.
import { on } from 'node:events';
import type { MessagePort } from 'node:worker_threads';
import { inferSchema } from './schema/infer.ts';
import { queryJson } from './query.ts';
import { searchBytes } from './search.ts';
import type { FromThread, OpenBytes, ThreadResults, ThreadTask, ToThread } from './thread-messages.ts';

/** Runs one job; tinypool calls this by its name. */
export async function runJob({ job, port }: ThreadTask): Promise<ThreadResults[keyof ThreadResults]> {
  send(port, { type: 'begun' });
  let pass = 0;
  const open: OpenBytes = () => receive(port, (pass += 1));
  try {
    if (job.kind === 'search') return await searchBytes(job, open());
    if (job.kind === 'infer') return await inferSchema(job, open);
    return await queryJson(job, open);
  } finally {
    port.close();
  }
}

async function* receive(port: MessagePort, pass: number): AsyncIterable<Uint8Array> {
  // Listening before asking: `on` keeps what arrives between two reads.
  const messages = on(port, 'message');
  send(port, { type: 'open', pass });
  for await (const [message] of messages) {
    // Only the sandbox itself holds the other end of this port.
    const got = message as ToThread;
    if (got.pass !== pass) continue;
    if (got.type === 'end') return;
    if (got.type === 'failed') throw new Error('the bytes of the file cannot be had');
    yield got.bytes;
    send(port, { type: 'used', pass });
  }
}

function send(port: MessagePort, message: FromThread): void {
  port.postMessage(message);
}
