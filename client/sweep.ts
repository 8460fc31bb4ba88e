// Starts a retention sweep at once and waits for what it counted.
import { randomUUID } from 'node:crypto';
import { WorkflowFailedError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { ERROR_KINDS, LongshoreError, messageOf, type ErrorType } from '../shared/errors.ts';
import type { RetentionSweepInput, RetentionSweepResult } from '../shared/sweep.ts';
import { SWEEP_WORKFLOW } from './sweep-schedule.ts';

/** Runs a sweep. Raises the error of the catalogue that ended it: `TemporalUnavailable`, `StoreUnavailable`, `BlobCorrupt`. */
export async function runSweep(
  client: Client,
  taskQueue: string,
  input: RetentionSweepInput,
): Promise<RetentionSweepResult> {
  const workflowId = `longshore-sweep-${randomUUID().slice(0, 13)}`;
  const handle = await client.workflow.start(SWEEP_WORKFLOW, { workflowId, taskQueue, args: [input] });
  try {
    return (await handle.result()) as RetentionSweepResult; // the one Workflow of that name gives it
  } catch (error) {
    throw error instanceof WorkflowFailedError ? sweepFailed(workflowId, error) : error;
  }
}

function sweepFailed(workflowId: string, failed: WorkflowFailedError): LongshoreError {
  let cause: Error | undefined = failed.cause;
  while (cause !== undefined && !(cause instanceof ApplicationFailure) && cause.cause instanceof Error) {
    cause = cause.cause;
  }
  const type = cause instanceof ApplicationFailure && isErrorType(cause.type) ? cause.type : 'Internal';
  const detail = cause instanceof ApplicationFailure ? (cause.details?.[0] as { readonly mend?: string } | null) : null;
  return new LongshoreError(
    type,
    `The sweep \`${workflowId}\` ended before it was done: ${messageOf(cause ?? failed)}`,
    detail?.mend ?? 'See its history for why; what it had done by then stays done, and the next sweep goes on.',
    { cause: failed },
  );
}

function isErrorType(type: string | null | undefined): type is ErrorType {
  return typeof type === 'string' && Object.hasOwn(ERROR_KINDS, type);
}
