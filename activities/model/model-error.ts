// The error of a model call, and what its messages need to know about the call.
import { type ErrorType, LongshoreError } from '../../shared/errors.ts';
import type { Redact } from './redact.ts';

interface ModelErrorFacts {
  readonly retryAfterMs?: number | undefined;
  readonly httpStatus?: number | undefined;
  readonly maximumAttempts?: number | undefined;
  readonly contextLimit?: number | undefined;
  readonly contextIsTold?: boolean | undefined;
}

/** A failed model call. */
export class ModelError extends LongshoreError {
  /** The wait the provider asked for, 0 to 3,600,000 ms. */
  readonly retryAfterMs?: number;
  /** The provider's HTTP status, where there was one. */
  readonly httpStatus?: number;

  /** Asked this often in all, it is given up, although its type is retryable. */
  readonly maximumAttempts?: number;
  /** Of a request too long: the model's context in tokens, where the provider told it. */
  readonly contextLimit?: number;
  /** Of a request too long: whether the message says by how much. */
  readonly contextIsTold: boolean;

  constructor(type: ErrorType, message: string, mend: string, facts: ModelErrorFacts = {}) {
    super(type, message, mend);
    this.name = 'ModelError';
    if (facts.retryAfterMs !== undefined) this.retryAfterMs = facts.retryAfterMs;
    if (facts.httpStatus !== undefined) this.httpStatus = facts.httpStatus;
    if (facts.maximumAttempts !== undefined) this.maximumAttempts = facts.maximumAttempts;
    if (facts.contextLimit !== undefined) this.contextLimit = facts.contextLimit;
    this.contextIsTold = facts.contextIsTold ?? false;
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
