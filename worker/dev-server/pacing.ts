// Measures whether a Temporal server paces a Workflow: an untuned dev server gives one Workflow 20 Workflow Tasks a
// second, which makes a step of two Activities take 101 ms instead of 27. Speaks the service's own calls, without a
// Worker: a probe Workflow on a Task Queue of its own asks for one Workflow Task after another.
import { randomUUID } from 'node:crypto';

import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { temporal } from '@temporalio/proto';

/** What was measured, in milliseconds. */
export interface Pacing {
  /** The median from one Workflow Task to the next, without the network's own time. */
  readonly msPerTask: number;
  readonly roundTripMs: number;
  readonly isPaced: boolean;
}

const TASKS = 8;
/** Between a paced task (50 ms) and one on a slow, unpaced server. */
const PACED_FROM_MS = 35;
const TIMEOUT_MS = 10_000;
const WORKFLOW_TYPE = 'longshoreDoctorProbe';

/** Runs the probe, which completes by itself; takes about half a second. @throws what the service answers. */
export async function measurePacing(connection: Connection, namespace: string): Promise<Pacing> {
  const service = connection.workflowService;
  const identity = `longshore-doctor@${process.pid}`;
  const name = `longshore-doctor-${randomUUID()}`;
  return connection.withDeadline(Date.now() + TIMEOUT_MS, async () => {
    const roundTripMs = median(await roundTrips(connection, namespace));
    await service.startWorkflowExecution({
      namespace,
      identity,
      workflowId: name,
      requestId: name,
      workflowType: { name: WORKFLOW_TYPE },
      taskQueue: { name },
      // Whatever becomes of this process, the probe is over by then.
      workflowRunTimeout: msToTs('15s'),
    });
    const intervals: number[] = [];
    for (let count = 0, last = 0; count < TASKS; count += 1) {
      const { taskToken } = await service.pollWorkflowTaskQueue({ namespace, identity, taskQueue: { name } });
      const now = performance.now();
      if (count > 0) intervals.push(now - last);
      last = now;
      const isLast = count === TASKS - 1;
      await service.respondWorkflowTaskCompleted({
        namespace,
        identity,
        taskToken,
        forceCreateNewWorkflowTask: !isLast,
        commands: isLast ? [{ commandType: COMPLETE, completeWorkflowExecutionCommandAttributes: {} }] : [],
      });
    }
    const msPerTask = Math.max(0, median(intervals) - 2 * roundTripMs);
    return { msPerTask, roundTripMs, isPaced: msPerTask > PACED_FROM_MS };
  });
}

const COMPLETE = temporal.api.enums.v1.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION;

async function roundTrips(connection: Connection, namespace: string): Promise<readonly number[]> {
  const times: number[] = [];
  for (let count = 0; count < 3; count += 1) {
    const startedAt = performance.now();
    await connection.workflowService.describeNamespace({ namespace });
    times.push(performance.now() - startedAt);
  }
  return times;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
