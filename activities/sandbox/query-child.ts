// The program of a query's process: takes one query after another, and ends with the process that started it.
import { Worker } from 'node:worker_threads';
import { messageOf } from '../../shared/errors.ts';
import { queryJson } from './query.ts';
import type { FromQueryProcess, ToQueryProcess } from './query-process.ts';
import { bytesFrom } from './receive.ts';

process.on('message', (message: ToQueryProcess) => {
  if (message.type === 'job') void answer(message.job);
});
process.on('disconnect', () => process.exit());
watchParent();

async function answer(job: Parameters<typeof queryJson>[0]): Promise<void> {
  send({ type: 'begun' });
  try {
    send({ type: 'result', result: await queryJson(job, bytesFrom(process, send)) });
  } catch (thrown) {
    send({ type: 'threw', message: messageOf(thrown) });
  }
}

function send(message: FromQueryProcess): void {
  process.send?.(message);
}

// A query that never ends hears no event, so a thread of its own sees to it that nobody is left behind.
function watchParent(): void {
  const code = `const parent = process.ppid;
    setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL'); }, 1000);`;
  new Worker(code, { eval: true, resourceLimits: { maxOldGenerationSizeMb: 16 } }).unref();
}
