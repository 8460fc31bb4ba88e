// The table from HTTP status (and the provider's words) to the error catalogue.
import { contextLimitOf, contextNumbers, speaksOfContext } from './context-limit.ts';
import { type ModelCallContext, ModelError } from './model-error.ts';
import type { ProviderWords } from './provider-words.ts';
import { asPhrase } from './redact.ts';
import { type Headers, retryAfterMs } from './retry-after.ts';

/** A refusal as it came over HTTP. */
export interface StatusFailure {
  /** 300 to 599. */
  readonly status: number;
  readonly words: ProviderWords;
  /** Names in lower case. */
  readonly headers: Headers;
  readonly url?: string;
}

const QUOTA_CODES = ['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'];

/**
 * Classifies a refusal by its status: 401 and 403 `ModelUnauthorized`; 404 `ModelNotFound`; a request too long for the
 * context `ModelContextExceeded`; 408, 409, 425 and 5xx `ModelOverloaded`; 429 `ModelRateLimited`, or `ModelRefused`
 * where the quota is used up; everything else `ModelRefused`.
 */
export function statusError(failure: StatusFailure, context: ModelCallContext): ModelError {
  const { status } = failure;
  if (status === 401 || status === 403) return unauthorized(failure, context);
  if (status === 404) return notFound(failure, context);
  if (status === 429) return limited(failure, context);
  if (status >= 500 || status === 408 || status === 409 || status === 425) {
    return new ModelError(
      'ModelOverloaded',
      whatHappened(failure, context, 'failed'),
      'It is asked again.',
      facts(failure),
    );
  }
  if ([400, 413, 422].includes(status) && speaksOfContext(failure.words.message, failure.words.codes)) {
    return contextExceeded(failure, context);
  }
  if (status < 400) return redirected(failure, context);
  const mend = 'Correct what the provider names: the request is refused as it is, so it is not sent again.';
  return new ModelError('ModelRefused', whatHappened(failure, context, 'refused the request'), mend, facts(failure));
}

/** Redirects that lead somewhere are followed; these are the others. */
function redirected(failure: StatusFailure, context: ModelCallContext): ModelError {
  const what = 'answered with a redirect that leads nowhere';
  return new ModelError('ModelRefused', whatHappened(failure, context, what), redirectMend(context), facts(failure));
}

/** The error for redirects that never end: asking again would end the same. */
export function redirectLoopError(url: string | undefined, context: ModelCallContext): ModelError {
  const message = `${context.model}${placeOf(url)} redirects in a circle: it was given up after 20 redirects.`;
  return new ModelError('ModelRefused', message, redirectMend(context));
}

function redirectMend({ addressSetting }: ModelCallContext): string {
  const setting = addressSetting ?? 'the provider’s address';
  return `Set ${setting} to the address that answers by itself (often https in place of http, or the path with or without \`/v1\`).`;
}

function unauthorized(failure: StatusFailure, context: ModelCallContext): ModelError {
  const key = context.keySetting ?? 'the provider’s key';
  const mend = `Check ${key} in the Worker's environment, and that it may use this model.`;
  return new ModelError('ModelUnauthorized', whatHappened(failure, context, 'refused the key'), mend, facts(failure));
}

function notFound(failure: StatusFailure, context: ModelCallContext): ModelError {
  const address = context.addressSetting;
  const mend = `Correct model.name${address === undefined ? '' : `, or ${address} if it leads elsewhere`}.`;
  return new ModelError('ModelNotFound', whatHappened(failure, context, 'was not found'), mend, facts(failure));
}

function limited(failure: StatusFailure, context: ModelCallContext): ModelError {
  const { message, codes } = failure.words;
  if (QUOTA_CODES.some((code) => codes.includes(code))) {
    const mend = 'Raise the quota or pay the account; waiting does not help.';
    return new ModelError('ModelRefused', whatHappened(failure, context, 'has no quota left'), mend, facts(failure));
  }
  // One request above the limit of a whole minute never fits, however long one waits.
  if (/request too large/i.test(message)) return contextExceeded(failure, context);
  return new ModelError(
    'ModelRateLimited',
    whatHappened(failure, context, 'limits requests'),
    'It waits as told.',
    facts(failure),
  );
}

function contextExceeded(failure: StatusFailure, context: ModelCallContext): ModelError {
  const numbers = contextNumbers(failure.words.message);
  const by =
    numbers === null
      ? 'cannot take a request this long'
      : `takes ${numbers.limit} tokens and was sent ${numbers.asked}, ${numbers.asked - numbers.limit} too many`;
  const mend =
    'Shorten the conversation, lower the limits of large_tool_response, or use a model with a larger context.';
  return new ModelError('ModelContextExceeded', whatHappened(failure, context, by), mend, {
    ...facts(failure),
    contextLimit: numbers?.limit ?? contextLimitOf(failure.words.message),
    contextIsTold: numbers !== null,
  });
}

function whatHappened(failure: StatusFailure, context: ModelCallContext, what: string): string {
  const words = asPhrase(context.redact(failure.words.message));
  const place = placeOf(failure.url);
  return `${context.model}${place} ${what} (status ${failure.status})${words === '' ? '' : `: ${words}`}.`;
}

/** Host and path only: a query may hold a key. */
function placeOf(url: string | undefined): string {
  const parsed = url === undefined ? null : URL.parse(url);
  return parsed === null ? '' : ` at ${parsed.host}${parsed.pathname}`;
}

function facts(failure: StatusFailure): { retryAfterMs?: number | undefined; httpStatus: number } {
  const mayBeAsked = failure.status === 429 || failure.status >= 500 || [408, 409, 425].includes(failure.status);
  return {
    httpStatus: failure.status,
    retryAfterMs: mayBeAsked ? retryAfterMs(failure.headers, failure.words.message) : undefined,
  };
}
