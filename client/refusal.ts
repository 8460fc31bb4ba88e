// Refusals of Updates in the catalogue's words.
import type { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { ERROR_KINDS, LongshoreError, type ErrorType } from '../shared/errors.ts';
import { isObject } from '../shared/json.ts';

/** The refusal of the Workflow's validator or handler, in its own words; null for any other failure. */
export function refusalOf(error: WorkflowUpdateFailedError): LongshoreError | null {
  let cause: unknown = error.cause;
  // An Activity's failure inside the handler stands around its own cause.
  while (cause instanceof Error && !(cause instanceof ApplicationFailure) && cause.cause !== undefined)
    cause = cause.cause;
  if (!(cause instanceof ApplicationFailure) || !isErrorType(cause.type)) return null;
  const detail = cause.details?.[0];
  const mend = isObject(detail) && typeof detail['mend'] === 'string' ? detail['mend'] : '';
  return new LongshoreError(cause.type, cause.message, mend, { cause: error });
}

function isErrorType(type: string | null | undefined): type is ErrorType {
  return typeof type === 'string' && type in ERROR_KINDS;
}
