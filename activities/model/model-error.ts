// The error of a model call, and what its messages need to know about the call.
import { type ErrorType, LongshoreError } from '../../shared/errors.ts';
import type { Redact } from './redact.ts';

/** A failed model call. */
export class ModelError extends LongshoreError {
  /** The wait the provider asked for, 0 to 3,600,000 ms. */
  readonly retryAfterMs?: number;
  /** The provider's HTTP status, where there was one. */
  readonly httpStatus?: number;

  constructor(
    type: ErrorType,
    message: string,
    mend: string,
    facts: { readonly retryAfterMs?: number | undefined; readonly httpStatus?: number | undefined } = {},
  ) {
    super(type, message, mend);
    this.name = 'ModelError';
    if (facts.retryAfterMs !== undefined) this.retryAfterMs = facts.retryAfterMs;
    if (facts.httpStatus !== undefined) this.httpStatus = facts.httpStatus;
  }
}

/** What a classification is about. */
export interface ModelCallContext {
  /** As in the spec: `provider/model`. */
  readonly model: string;
  /** The setting that holds the provider's address, where there is one. */
  readonly addressSetting?: string;
  /** The setting that holds the provider's key, where there is one. */
  readonly keySetting?: string;
  readonly redact: Redact;
  /** Whether the answer had begun to stream in. */
  readonly streaming: boolean;
}
