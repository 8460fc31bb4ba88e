// The module that the sandbox's threads run: it takes a job, asks for the file's bytes as it needs them, and answers.
import { bytesFrom } from './receive.ts';
import { inferSchema } from './schema/infer.ts';
import { searchBytes } from './search.ts';
import type { FromThread, ThreadResults, ThreadTask } from './thread-messages.ts';

/** Runs one job; tinypool calls this by its name. */
export async function runJob({ job, port }: ThreadTask): Promise<ThreadResults[keyof ThreadResults]> {
  const send = (message: FromThread): void => port.postMessage(message);
  send({ type: 'begun' });
  const open = bytesFrom(port, send);
  try {
    if (job.kind === 'search') return await searchBytes(job, open());
    return await inferSchema(job, open);
  } finally {
    port.close();
  }
}
