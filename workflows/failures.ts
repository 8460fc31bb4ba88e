// Words for calls that ended without an answer, and records for turns that could not go on.
import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import type { ProposedCall } from '../shared/activities.ts';
import { messageOf, type ErrorRecord } from '../shared/errors.ts';
import { isObject } from '../shared/json.ts';
import { spoken, type SpokenResult } from '../shared/results.ts';

/** As much of a failure's message as a model is shown. */
const SHOWN_CHARACTERS = 2_000;

/** A call that the cancellation reached before it was made. */
export function cancelledBeforeStart(): SpokenResult {
  return spoken('cancelled', 'The turn was cancelled before this call was made. It had no effect.');
}

/** A call whose Activity was cancelled, failed or timed out. */
export function afterFailure(call: ProposedCall, failure: unknown, cancelled: boolean): SpokenResult {
  const mayHaveRun = call.effect === 'write';
  if (cancelled) return spoken('cancelled', `The turn was cancelled while this call ran. ${aftermath(mayHaveRun)}`);
  const { type, message } = errorRecordOf(failure);
  const told = bounded(message);
  // Lost with its Worker, killed or shut down, on its last attempt: the request may be out.
  if (mayHaveRun && (type === 'WorkerMissing' || isTimeout(failure))) {
    return spoken('unknown', `The outcome of this call is unknown: ${told}. ${aftermath(true)}`);
  }
  if (type === 'SizeLimit') return spoken('error', `The call was made, but its result cannot be recorded: ${told}`);
  return spoken('error', `The call failed: ${told}`);
}

/** The texts of hundreds of failures stand in one commit. */
function bounded(text: string): string {
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS).toWellFormed()}…`;
}

function aftermath(mayHaveRun: boolean): string {
  return mayHaveRun
    ? 'It may have taken effect or not: check before you repeat it.'
    : 'It only reads, or may safely be repeated.';
}

function isTimeout(failure: unknown): boolean {
  return failure instanceof ActivityFailure && failure.cause instanceof TimeoutFailure;
}

/** What went wrong as data: the type and message of the cause, and the mend that the Activity sent along. */
export function errorRecordOf(failure: unknown): ErrorRecord {
  const cause = failure instanceof ActivityFailure ? (failure.cause ?? failure) : failure;
  if (cause instanceof ApplicationFailure) {
    const detail = cause.details?.[0];
    const mend = isObject(detail) && typeof detail['mend'] === 'string' ? detail['mend'] : '';
    return { type: cause.type ?? 'Internal', message: cause.message, mend };
  }
  if (cause instanceof TimeoutFailure) {
    return {
      type: 'WorkerMissing',
      message: `No Worker finished the Activity in time (${cause.timeoutType})`,
      mend: 'See that a Worker runs on the Task Queue, and look at its log.',
    };
  }
  return { type: 'Internal', message: messageOf(cause), mend: 'Look at the Worker log, and report this.' };
}
