// Resets a turn to before the model call of a step: history up to there stays, what followed is done anew. Decisions of people
// that were accepted later are left out, so that they are asked again; calls made since keep their records and are not doubled.
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { CallModelInput } from '../shared/activities.ts';
import { LongshoreError } from '../shared/errors.ts';
import { AGENT_TURN_WORKFLOW } from '../shared/turn.ts';
import { turnNotFound } from './errors.ts';
import { describeExecution } from './executions.ts';
import { decodeFirst, readHistory } from './history.ts';

/** What goes with a reset. */
export interface ResetOptions {
  /** The step whose model call is made anew, from 0. */
  readonly step: number;
  /** For Temporal's record. */
  readonly reason?: string;
}

/** A turn that was reset. */
export interface ResetTurn {
  readonly workflowId: string;
  /** The run that goes on; its history begins with a copy of the earlier one's. */
  readonly runId: string;
  readonly step: number;
}

/** Updates are decisions and retries; a cancellation would end the new run at once. Signals of a user's own Workflow stay. */
const { RESET_REAPPLY_EXCLUDE_TYPE_UPDATE, RESET_REAPPLY_EXCLUDE_TYPE_CANCEL_REQUEST } =
  proto.temporal.api.enums.v1.ResetReapplyExcludeType;

/**
 * Resets an open or closed turn. An open run is terminated, and a new one goes on from there under the same id, on a Worker.
 * Raises `TurnNotFound`, and `StepNotFound` for a step whose model call was never made.
 */
export async function resetTurn(
  client: Client,
  workflowId: string,
  { step, reason }: ResetOptions,
): Promise<ResetTurn> {
  const execution = await describeExecution(client, workflowId);
  if (execution?.type !== AGENT_TURN_WORKFLOW) throw turnNotFound(workflowId);
  const { eventId, runId } = await findStep(client, workflowId, step);
  const response = await client.workflowService.resetWorkflowExecution({
    namespace: client.options.namespace,
    // The very run that was looked at: another reset in the meantime is an error, not a surprise.
    workflowExecution: { workflowId, runId },
    workflowTaskFinishEventId: eventId,
    requestId: randomUUID(),
    reason: `longshore turns reset --step ${step}${reason === undefined ? '' : `: ${reason}`}`.slice(0, 1_000),
    resetReapplyExcludeTypes: [RESET_REAPPLY_EXCLUDE_TYPE_UPDATE, RESET_REAPPLY_EXCLUDE_TYPE_CANCEL_REQUEST],
  });
  return { workflowId, runId: response.runId, step };
}

type EventId = NonNullable<
  Parameters<Client['workflowService']['resetWorkflowExecution']>[0]['workflowTaskFinishEventId']
>;

/** The Workflow Task that asked for the model call of a step. What asks for a part of a step's commit ahead belongs to it. */
async function findStep(
  client: Client,
  workflowId: string,
  step: number,
): Promise<{ readonly eventId: EventId; readonly runId: string }> {
  const { runId } = await client.workflow.getHandle(workflowId).describe();
  let last = -1;
  for await (const events of readHistory(client, { workflowId, runId })) {
    for (const event of events) {
      const scheduled = event.activityTaskScheduledEventAttributes;
      if (scheduled?.activityType?.name !== 'longshoreCallModel') continue;
      const input = await decodeFirst<CallModelInput>(client, scheduled.input);
      last = Math.max(last, input.step);
      const eventId = scheduled.workflowTaskCompletedEventId;
      if (input.step === step && eventId) return { eventId, runId };
    }
  }
  const has = last < 0 ? 'it has none yet' : last === 0 ? 'it has step 0 alone' : `it has steps 0 to ${last}`;
  throw new LongshoreError(
    'StepNotFound',
    `Turn \`${workflowId}\` has no model call of step ${step}: ${has}`,
    `See its steps with \`longshore turns show ${workflowId}\`.`,
  );
}
