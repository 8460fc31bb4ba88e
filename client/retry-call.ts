// Has a call made again whose result a person distrusts: one Update of an open turn.
import { randomUUID } from 'node:crypto';
import {
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  WorkflowUpdateStage,
  type Client,
} from '@temporalio/client';
import {
  DECISION_LIMITS,
  executionsOfTurn,
  RETRY_CALL_UPDATE,
  type RetryCallInput,
  type RetryCallResult,
} from '../shared/approvals.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import { defaultApprover } from './decide.ts';
import { endOf, isNotFound, turnClosed, turnNotFound } from './errors.ts';
import { describeExecution } from './executions.ts';
import { refusalOf } from './refusal.ts';
import { requireUpdateFits, sendUpdate } from './updates.ts';

/** What goes with a retry. */
export interface RetryCallOptions {
  /** The model is told. At most 2,000 characters. */
  readonly reason?: string;
  /** Who asks: recorded as what the caller claims, not verified. At most 200 characters. @default user@host */
  readonly by?: string;
  /** How long a Worker may take to accept it, in milliseconds. @default 20000 */
  readonly timeoutMs?: number;
  /** Names the request: the same one sent again joins the first. @default a new one */
  readonly requestId?: string;
}

/** A retry that was accepted. */
export interface RetriedCall {
  readonly workflowId: string;
  readonly callKey: string;
  /** What is sent now; the first call was 0. */
  readonly generation: number;
}

const TIMEOUT_MS = 20_000;

/**
 * Makes a call of an open turn again. A gated call waits for a person again. The new result is told to the model with the next
 * step; its files take the place of the earlier ones.
 * Raises `TurnNotFound`, `TurnClosed`, `CallNotFound`, `CallNotRetryable` (with the call's state), `SizeLimit`,
 * `WorkerMissing`.
 */
export async function retryCall(
  client: Client,
  turnId: string,
  callKey: string,
  options: RetryCallOptions = {},
): Promise<RetriedCall> {
  const { reason, by = defaultApprover(), timeoutMs = TIMEOUT_MS, requestId = randomUUID() } = options;
  const execution = await openExecution(client, turnId);
  const input: RetryCallInput = { workflowId: turnId, callKey, by, ...(reason !== undefined && { reason }) };
  requireUpdateFits('The retry', input);
  try {
    const { generation } = await sendUpdate(client, timeoutMs, async () => {
      const update = await client.workflow
        .getHandle(execution)
        .startUpdate<RetryCallResult, [RetryCallInput]>(RETRY_CALL_UPDATE, {
          args: [input],
          updateId: requestId,
          waitForStage: WorkflowUpdateStage.ACCEPTED,
        });
      return update.result();
    });
    return { workflowId: turnId, callKey, generation };
  } catch (error) {
    throw explained(error, { turnId, callKey, timeoutMs });
  }
}

/** A turn in line is held by the Workflow that runs it. */
async function openExecution(client: Client, turnId: string): Promise<string> {
  for (const workflowId of executionsOfTurn(turnId)) {
    if ((await describeExecution(client, workflowId)) === null) continue;
    const described = await client.workflow.getHandle(workflowId).describe();
    if (described.status.name !== 'RUNNING') throw turnClosed(turnId, endOf(described));
    return workflowId;
  }
  throw turnNotFound(turnId);
}

function explained(
  error: unknown,
  { turnId, callKey, timeoutMs }: { readonly turnId: string; readonly callKey: string; readonly timeoutMs: number },
): unknown {
  if (isNotFound(error)) return turnClosed(turnId, 'closed');
  if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
    return new LongshoreError(
      'WorkerMissing',
      `No Worker took the retry of call \`${brief(callKey)}\` within ${timeoutMs / 1000} s; it may be taken still`,
      'See that a Worker runs on the Task Queue of the turn, and look at the turn before you ask again.',
      { cause: error },
    );
  }
  if (!(error instanceof WorkflowUpdateFailedError)) return error;
  const refusal = refusalOf(error);
  if (refusal) return refusal;
  return new LongshoreError(
    'CallNotRetryable',
    `The turn did not take the retry of call \`${brief(callKey)}\`: ${messageOf(error.cause ?? error)}`,
    'See whether the turn runs with this version of Longshore.',
    { cause: error },
  );
}

/** It comes from anybody. */
function brief(callKey: string): string {
  return callKey.length <= DECISION_LIMITS.callKey ? callKey : `${callKey.slice(0, DECISION_LIMITS.callKey)}…`;
}
