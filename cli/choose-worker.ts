// Whether `run` brings up a Worker of its own, and on which Task Queue.
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { LongshoreError } from '../shared/errors.ts';
import type { TemporalServer } from '../worker/dev-server.ts';
import { fingerprintOf } from './load-config.ts';
import type { Project } from './project.ts';

/** The choice. */
export interface WorkerChoice {
  readonly taskQueue: string;
  readonly startOwn: boolean;
}

/** What the command line asked for. */
export interface WorkerWish {
  readonly detach: boolean;
  readonly worker: boolean;
}

/**
 * A Worker that stays (`dev`, `worker`) with this run's configuration is used; else the run has its own. Workers on one Task
 * Queue must be configured alike, since any of them may get a call: beside one of another configuration the run uses a
 * queue of its own. Raises `WorkerMissing` for `--detach` without a Worker that stays.
 */
export async function chooseWorker(
  wish: WorkerWish,
  project: Project,
  { server, client }: { readonly server: TemporalServer; readonly client: Client },
): Promise<WorkerChoice> {
  const { taskQueue } = project;
  const fingerprint = fingerprintOf(project.mcp);
  const attached = server.embedded ? await server.embedded.workers() : [];
  const onQueue = attached.filter((other) => other.worker?.taskQueue === taskQueue);
  const staying = onQueue.filter((other) => other.kind === 'dev' || other.kind === 'worker');
  if (wish.detach) {
    const isServed = staying.length > 0 || (!server.embedded && (await hasPollers(client, taskQueue)));
    if (!isServed) throw workerMissing(taskQueue);
    return { taskQueue, startOwn: false };
  }
  if (!wish.worker) return { taskQueue, startOwn: false };
  if (staying.some((other) => other.worker?.fingerprint === fingerprint)) return { taskQueue, startOwn: false };
  const isShared = await isQueueOf(fingerprint, taskQueue, server);
  return { taskQueue: isShared ? taskQueue : `${taskQueue}-${fingerprint.slice(0, 8)}`, startOwn: true };
}

/** Announced first and looked at then: of two runs that come at once, at least one sees the other. */
async function isQueueOf(fingerprint: string, taskQueue: string, { embedded }: TemporalServer): Promise<boolean> {
  embedded?.announceWorker({ taskQueue, fingerprint });
  const others = embedded ? await embedded.workers() : [];
  return others.every(({ worker }) => worker?.taskQueue !== taskQueue || worker.fingerprint === fingerprint);
}

/** Whether Temporal knows of a Worker that polled lately; one that died is forgotten after some minutes. */
export async function hasPollers(client: Client, taskQueue: string): Promise<boolean> {
  const response = await client.workflowService.describeTaskQueue({
    namespace: client.options.namespace,
    taskQueue: { name: taskQueue },
    taskQueueType: proto.temporal.api.enums.v1.TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
  });
  return (response.pollers ?? []).length > 0;
}

function workerMissing(taskQueue: string): LongshoreError {
  return new LongshoreError(
    'WorkerMissing',
    `--detach leaves the turn to a Worker that stays, and none runs on Task Queue \`${taskQueue}\``,
    'Start one with `longshore dev` or `longshore worker`, or run without --detach.',
  );
}
