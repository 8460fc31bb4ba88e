// The other process: it stands by, and runs a Worker for each trial whose first Worker was killed. A line on standard input
// is a plan to take over, or the Task Queue of a Worker to stop; each is answered by a line with the Task Queue.
import { createInterface } from 'node:readline';
import { NativeConnection, Runtime, type Worker } from '@temporalio/worker';
import { warmUpMeasure } from '../../activities/measure.ts';
import type { WorkerPlan } from './plan.ts';
import { traceToFile } from './spans.ts';
import { createTrialWorker } from './trial-worker.ts';

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
Runtime.install({
  logger: quiet,
  shutdownSignals: [],
  telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
});
traceToFile();
await warmUpMeasure();
const connections = new Map<string, Promise<NativeConnection>>();
const running = new Map<string, { readonly worker: Worker; readonly run: Promise<void> }>();
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  // A fault of one trial ends this process, loudly: its trials fail.
  if (line.startsWith('{')) void takeOver(JSON.parse(line) as WorkerPlan);
  else void stop(line);
}
await Promise.all([...running.keys()].map(stop));
await Promise.all([...connections.values()].map(async (connection) => (await connection).close()));

async function takeOver(plan: WorkerPlan): Promise<void> {
  const connection = connections.get(plan.address) ?? NativeConnection.connect({ address: plan.address });
  connections.set(plan.address, connection);
  const worker = await createTrialWorker(plan, await connection);
  running.set(plan.taskQueue, { worker, run: worker.run() });
  console.log(`polling ${plan.taskQueue}`);
}

async function stop(taskQueue: string): Promise<void> {
  const entry = running.get(taskQueue);
  running.delete(taskQueue);
  if (entry?.worker.getState() === 'RUNNING') entry.worker.shutdown();
  await entry?.run;
  console.log(`stopped ${taskQueue}`);
}
