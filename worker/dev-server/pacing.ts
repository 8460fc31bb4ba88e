// Measures whether a Temporal server paces a Workflow: an untuned dev server gives one Workflow 20 Workflow Tasks a
// second, which makes a step of two Activities take 101 ms instead of 27. Speaks the service's own calls, without a
// Worker: a probe Workflow on a Task Queue of its own asks for one Workflow Task after another.
import { randomUUID } from 'node:crypto';

import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';

/** What was measured, in milliseconds. */
export interface Pacing {
  /** The mean from one Workflow Task to the next in the fastest round; two round trips are in it. */
  readonly msPerTask: number;
  /** The shortest of a few. */
  readonly roundTripMs: number;
  readonly isPaced: boolean;
}

/** Pacing saves up what it did not give, some five tasks, so a few may come fast; many together may not. */
const TASKS_A_ROUND = 20;
/** A busy machine may look like a paced server once, but hardly twice. */
const ROUNDS = 2;
/** Paced tasks are 50 ms apart, less for those saved up. */
const PACED_FROM_MS = 33;
const TIMEOUT_MS = 15_000;
const WORKFLOW_TYPE = 'longshoreDoctorProbe';
const COMPLETE = proto.temporal.api.enums.v1.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION;

/** Runs the probe, which completes by itself; takes a quarter of a second to two. @throws what the service answers. */
export async function measurePacing(connection: Connection, namespace: string): Promise<Pacing> {
  return connection.withDeadline(Date.now() + TIMEOUT_MS, async () => {
    const roundTripMs = Math.min(...(await roundTrips(connection, namespace)));
    let msPerTask = Infinity;
    const isPaced = (): boolean => msPerTask > PACED_FROM_MS && msPerTask > 3 * roundTripMs;
    for (let round = 0; round < ROUNDS; round += 1) {
      msPerTask = Math.min(msPerTask, await timeRound(connection, namespace));
      if (!isPaced()) break;
    }
    return { msPerTask, roundTripMs, isPaced: isPaced() };
  });
}

async function timeRound({ workflowService }: Connection, namespace: string): Promise<number> {
  const name = `longshore-doctor-${randomUUID()}`;
  const common = { namespace, identity: 'longshore-doctor' };
  const taskQueue = { name };
  const workflowType = { name: WORKFLOW_TYPE };
  // Whatever becomes of this process, the probe is soon over.
  const workflowRunTimeout = msToTs('15s');
  const start = { ...common, workflowId: name, requestId: name, workflowType, taskQueue, workflowRunTimeout };
  await workflowService.startWorkflowExecution(start);
  let startedAt = 0;
  for (let count = 0; ; count += 1) {
    const { taskToken } = await workflowService.pollWorkflowTaskQueue({ ...common, taskQueue });
    // The first task is not counted: it comes from the start.
    if (count === 0) startedAt = performance.now();
    const isLast = count === TASKS_A_ROUND;
    const endedAt = performance.now();
    await workflowService.respondWorkflowTaskCompleted({
      ...common,
      taskToken,
      forceCreateNewWorkflowTask: !isLast,
      commands: isLast ? [{ commandType: COMPLETE, completeWorkflowExecutionCommandAttributes: {} }] : [],
    });
    if (isLast) return (endedAt - startedAt) / TASKS_A_ROUND;
  }
}

async function roundTrips({ workflowService }: Connection, namespace: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let count = 0; count < 4; count += 1) {
    const startedAt = performance.now();
    await workflowService.describeNamespace({ namespace });
    times.push(performance.now() - startedAt);
  }
  return times;
}
