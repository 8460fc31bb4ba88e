// A Worker that runs Workflows alone: enough to take a decision where no other Worker runs, and nothing it does can be cut off
// half done when it stops, since it makes no call.
import { type NativeConnection, Worker } from '@temporalio/worker';
import { WORKER_SETTINGS, ownBundle } from './create-worker.ts';

/** Where it polls. */
export interface DeciderOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
}

/** Runs while the work goes on, and stops with it. */
export async function withDecider<T>(options: DeciderOptions, work: () => Promise<T>): Promise<T> {
  const worker = await Worker.create({ ...options, ...WORKER_SETTINGS, workflowBundle: await ownBundle() });
  return worker.runUntil(work);
}
