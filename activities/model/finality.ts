// When a failed model call is not to be asked again although its kind could be, and what a turn's own count adds to it.
import { MODEL_UNREACHABLE_ATTEMPTS } from '../../shared/activity-options.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { ModelError } from './model-error.ts';

/** Connections refused again and again, and answers that stay wrong in the same way, do not mend themselves. */
export function asFinal(error: unknown, attempt: number): unknown {
  if (!(error instanceof LongshoreError)) return error;
  const own = error instanceof ModelError ? error.maximumAttempts : undefined;
  const attempts = own ?? (error.type === 'ModelUnreachable' ? MODEL_UNREACHABLE_ATTEMPTS : Number.POSITIVE_INFINITY);
  return attempt >= attempts ? final(error) : error;
}

/** The error, never to be retried. */
export function final(error: LongshoreError): LongshoreError {
  return Object.defineProperty(error, 'retryable', { value: false });
}

/**
 * Where a provider does not say by how much a request is too long: our own count of it, and what it is above the limit if
 * that was told. Our count is that of another tokenizer, so it is called an estimate.
 */
export function withOwnCount(error: unknown, sentTokens: number): unknown {
  if (!(error instanceof ModelError) || error.type !== 'ModelContextExceeded' || error.contextIsTold) return error;
  const limit = error.contextLimit;
  const over = limit !== undefined && sentTokens > limit ? `, ${sentTokens - limit} above its limit of ${limit}` : '';
  const { httpStatus, mend } = error;
  const message = `${error.message} By our count the request has about ${sentTokens} tokens${over}.`;
  return new ModelError('ModelContextExceeded', message, mend, { httpStatus, contextLimit: limit });
}
