// Whether `run` brings up a Worker of its own, and on which Task Queue; and whether `dev` and `worker` may have theirs.
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { LongshoreError } from '../shared/errors.ts';
import type { Attachment, TemporalServer } from '../worker/dev-server.ts';
import type { Project } from './project.ts';
import { projectFingerprint } from './store.ts';

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
  {
    server,
    client,
    env,
  }: { readonly server: TemporalServer; readonly client: Client; readonly env: NodeJS.ProcessEnv },
): Promise<WorkerChoice> {
  const { taskQueue } = project;
  const fingerprint = projectFingerprint(project, env);
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
  const clashing = await claimQueue(fingerprint, taskQueue, server);
  if (clashing.length === 0) return { taskQueue, startOwn: true };
  const own = `${taskQueue}-${fingerprint.slice(0, 8)}`;
  // No longer in the way of others on the first queue.
  server.embedded?.announceWorker({ taskQueue: own, fingerprint });
  return { taskQueue: own, startOwn: true };
}

/**
 * For a Worker that stays: its queue is what others know it by, so it is refused rather than moved.
 * Raises `WorkerClash` beside a Worker of another configuration.
 */
export async function requireQueue(project: Project, server: TemporalServer, env: NodeJS.ProcessEnv): Promise<void> {
  const { taskQueue } = project;
  const [other] = await claimQueue(projectFingerprint(project, env), taskQueue, server);
  if (other === undefined) return;
  throw new LongshoreError(
    'WorkerClash',
    `Task Queue \`${taskQueue}\` has a Worker with other MCP servers or another file store: that of \`longshore ${other.kind}\`, process ${other.pid}; each would get what is meant for the other`,
    'Take another queue with --task-queue NAME, end that process, or give both the same MCP configuration and store.',
  );
}

/**
 * Announced first and looked at then: of two that come at once, at least one sees the other. Gives the Workers of another
 * configuration on the queue.
 */
async function claimQueue(
  fingerprint: string,
  taskQueue: string,
  { embedded }: TemporalServer,
): Promise<readonly Attachment[]> {
  embedded?.announceWorker({ taskQueue, fingerprint });
  const others = embedded ? await embedded.workers() : [];
  return others.filter(({ worker }) => worker?.taskQueue === taskQueue && worker.fingerprint !== fingerprint);
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
