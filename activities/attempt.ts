// What every Activity of ours does around its work: heartbeats on a timer, cancellation, errors as Temporal wants them.
import { Context } from '@temporalio/activity';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import { boundText } from './model/redact.ts';
import { temporalView } from './retention/temporal-view.ts';
import { HEARTBEAT_INTERVAL_MS } from '../shared/activity-options.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import { payloadBytes, PAYLOAD_LIMIT_BYTES } from '../shared/payload-limit.ts';

/** The attempt under way. */
export interface Attempt {
  /** From 1. */
  readonly number: number;
  /** Names this attempt and no other: run, Activity and number. */
  readonly name: string;
  /** The Workflow's run; a reset and a Workflow's own retry are others. */
  readonly run: string;
  /** Whether that run is the one that the Workflow's id leads to: no reset or retry has come after it. Raises `TemporalUnavailable`. */
  readonly isCurrentRun: () => Promise<boolean>;
  /** Whether Temporal will not try again after this one. */
  readonly isLast: boolean;
  readonly signal: AbortSignal;
  readonly startedMs: number;
}

/** The wait that a server asked for, when the error carries one. */
interface WithRetryAfter {
  readonly retryAfterMs?: number | undefined;
}

/**
 * Runs an Activity's work with heartbeats on a timer, which starts before the work does. What is done sooner than the first
 * one spares the server a request.
 * Errors of the catalogue become `ApplicationFailure`s with their type, mend and retryability; what is none of them is
 * `Internal` and is not retried. A result too large for Temporal is `SizeLimit`. A cancelled attempt ends in a `CancelledFailure`.
 * `progress` gives each heartbeat's details, for a next attempt to go on from.
 */
export async function runAttempt<T>(
  redact: (text: string) => string,
  work: (attempt: Attempt) => Promise<T>,
  progress?: () => unknown,
): Promise<T> {
  const context = Context.current();
  const { attempt: number, retryPolicy, activityId, workflowExecution } = context.info;
  const run = workflowExecution?.runId ?? 'none';
  const name = `${run}:${activityId}:${number}`;
  const isLast = number >= (retryPolicy?.maximumAttempts ?? Number.POSITIVE_INFINITY);
  const heartbeat = setInterval(() => context.heartbeat(progress?.()), HEARTBEAT_INTERVAL_MS);
  try {
    const isCurrentRun = async (): Promise<boolean> =>
      workflowExecution === undefined ||
      (await temporalView(context.client).currentRun(workflowExecution.workflowId)) === run;
    const signal = context.cancellationSignal;
    const result = await work({ number, name, run, isCurrentRun, isLast, signal, startedMs: Date.now() });
    requireFits(result, context.info.activityType);
    return result;
  } catch (error) {
    throw asFailure(error, context, redact);
  } finally {
    clearInterval(heartbeat);
  }
}

/** Temporal would try an Activity again for ever whose result is too large for it. */
function requireFits(result: unknown, activity: string): void {
  const sizeBytes = payloadBytes(result);
  if (sizeBytes <= PAYLOAD_LIMIT_BYTES) return;
  throw new LongshoreError(
    'SizeLimit',
    `The result of Activity \`${activity}\` has ${sizeBytes} bytes; the limit is ${PAYLOAD_LIMIT_BYTES}`,
    'Ask for less at once: fewer tool calls in one answer, fewer items in one result.',
  );
}

function asFailure(error: unknown, context: Context, redact: (text: string) => string): Error {
  if (context.cancellationSignal.aborted && !(error instanceof LongshoreError)) {
    return isShutdown(context) ? handedOver() : new CancelledFailure('The attempt was cancelled');
  }
  if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
  if (!(error instanceof LongshoreError)) return internal(error, redact);
  const { retryAfterMs } = error as WithRetryAfter;
  const failure = ApplicationFailure.create({
    type: error.type,
    message: boundText(redact(error.message), LONGEST_MESSAGE_BYTES),
    nonRetryable: !error.retryable,
    details: [{ mend: boundText(redact(error.mend), LONGEST_MEND_BYTES) }],
    // The server takes a delay of 0 for "never again"; without one the policy's own pause applies.
    ...(retryAfterMs !== undefined && retryAfterMs > 0 && { nextRetryDelay: Math.ceil(retryAfterMs) }),
  });
  // It would repeat the message, and lead to this line alone.
  failure.stack = '';
  return failure;
}

/**
 * The server keeps at most 4 KB of a failure that is tried again; of a larger one it drops type, message and mend, and says
 * "Failure exceeds size limit". Source: Temporal's `limit.mutableStateActivityFailureSize.error`.
 */
const LONGEST_MESSAGE_BYTES = 2_500;
const LONGEST_MEND_BYTES = 700;
const LONGEST_STACK_BYTES = 2_000;

/** A cancellation by a person wins: a shutdown in the same moment does not bring the call back. */
function isShutdown({ cancellationDetails, cancellationSignal }: Context): boolean {
  if (cancellationDetails?.cancelRequested === true) return false;
  const { reason } = cancellationSignal as { readonly reason: unknown };
  return cancellationDetails?.workerShutdown === true || (reason instanceof Error && reason.message === SHUTDOWN);
}

/** The reason that the SDK gives to an attempt whose Worker shuts down. */
const SHUTDOWN = 'WORKER_SHUTDOWN';
const HAND_OVER_MS = 1_000;

/**
 * The usual pause grows with every attempt, for what may have failed for a reason; here another Worker is as good as this one
 * was. Much shorter, and the Worker that shuts down would be given the call once more by the poll it has still open.
 */
function handedOver(): ApplicationFailure {
  return ApplicationFailure.create({
    type: 'WorkerMissing',
    message: 'The Worker was shut down while this ran',
    nonRetryable: false,
    nextRetryDelay: HAND_OVER_MS,
    category: ApplicationFailureCategory.BENIGN,
    details: [{ mend: 'It is taken up by another Worker: see that one runs on the Task Queue.' }],
  });
}

function internal(error: unknown, redact: (text: string) => string): ApplicationFailure {
  const failure = ApplicationFailure.create({
    type: 'Internal',
    message: boundText(redact(messageOf(error)), LONGEST_MESSAGE_BYTES),
    nonRetryable: true,
    details: [{ mend: 'This is a fault of Longshore or of a local tool: see the stack in the Worker log.' }],
  });
  if (error instanceof Error && error.stack) failure.stack = boundText(redact(error.stack), LONGEST_STACK_BYTES);
  return failure;
}
