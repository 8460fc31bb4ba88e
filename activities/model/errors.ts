// Classifies every way a model call can fail, once. What comes out is final or retryable by its type, speaks in names
// and values, and holds neither keys nor headers nor the request: nothing is kept as `cause`, since causes reach history.
import {
  AISDKError,
  APICallError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  LoadAPIKeyError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { messageOf } from '../../shared/errors.ts';
import { redirectLoopError, statusError } from './errors-by-status.ts';
import { findNetworkFault, unreachableError } from './errors-by-network.ts';
import { type ModelCallContext, ModelError } from './model-error.ts';
import { type ProviderWords, wordsOf, wordsOfBody } from './provider-words.ts';
import { asPhrase, boundText } from './redact.ts';

export { ModelError } from './model-error.ts';

/**
 * Turns anything thrown by a provider into a `ModelError` of the catalogue. Total: it never throws itself.
 * Retryable or not follows from the type (`ERROR_KINDS`).
 */
export function classifyModelError(thrown: unknown, context: ModelCallContext): ModelError {
  if (thrown instanceof ModelError) return thrown;
  if (APICallError.isInstance(thrown)) return classifyCall(thrown, context);
  const network = findNetworkFault(thrown);
  if (network !== null) return networkError(network, undefined, context);
  if (AISDKError.isInstance(thrown)) return classifySdkError(thrown, context);
  const message = `${context.model} failed: ${said(thrown instanceof Error ? messageOf(thrown) : wordsOf(thrown, context.redact).message, context)}.`;
  if (context.streaming) return new ModelError('ModelStreamBroken', message, 'It is asked again.');
  return new ModelError('ModelAnswerInvalid', message, 'It is asked again; if it stays so, look at the provider.');
}

/** Classifies an error that the provider sent inside the stream, in place of a part of the answer. */
export function classifyStreamError(error: unknown, context: ModelCallContext): ModelError {
  if (error instanceof Error) return classifyModelError(error, context);
  return classifyWords(wordsOf(error, context.redact), context);
}

/** Classifies an error that came with status 200: by the status or code inside it, else as a broken answer. */
export function classifyWords(words: ProviderWords, context: ModelCallContext): ModelError {
  const status = words.status ?? statusOfCodes(words.codes);
  if (status !== null) return statusError({ status, words, headers: {} }, context);
  const message = `${context.model} broke its answer off: ${said(words.message, context)}.`;
  return new ModelError('ModelStreamBroken', message, 'It is asked again.');
}

function classifyCall(error: APICallError, context: ModelCallContext): ModelError {
  // The SDK wraps what our own fetch throws into the stream.
  if (error.cause instanceof ModelError) return error.cause;
  const network = findNetworkFault(error.cause);
  const status = error.statusCode;
  if (status === undefined)
    return networkError(network ?? error.message.replace(/^Cannot connect to API: /, ''), error.url, context);
  if (status < 300) {
    if (network !== null) return networkError(network, error.url, context);
    const empty = EmptyResponseBodyError.isInstance(error.cause);
    const message = empty
      ? `${context.model} answered status ${status} without a body.`
      : `The answer of ${context.model} was cut off: ${said(messageOf(error.cause ?? error), context)}.`;
    return new ModelError(empty ? 'ModelAnswerInvalid' : 'ModelStreamBroken', message, 'It is asked again.');
  }
  const read = wordsOfBody(error.responseBody, context.redact);
  const words = read.message === '' ? { ...read, message: error.message } : read;
  return statusError({ status, words, headers: error.responseHeaders ?? {}, url: error.url }, context);
}

function networkError(fault: string, url: string | undefined, context: ModelCallContext): ModelError {
  // The only words that the fetch standard's implementation has for it.
  if (!context.streaming && /redirect count exceeded/i.test(fault)) return redirectLoopError(url, context);
  if (!context.streaming) return unreachableError(said(fault, context), url, context);
  const message = `The connection to ${context.model} broke in the middle of the answer: ${said(fault, context)}.`;
  return new ModelError('ModelStreamBroken', message, 'It is asked again.');
}

function classifySdkError(error: AISDKError, context: ModelCallContext): ModelError {
  const words = said(error.message, context);
  if (LoadAPIKeyError.isInstance(error)) {
    return new ModelError('ModelUnauthorized', `${context.model} has no key: ${words}`, 'Set the provider’s key.');
  }
  if (NoSuchModelError.isInstance(error)) {
    return new ModelError('ModelNotFound', `${context.model} does not exist: ${words}`, 'Correct model.name.');
  }
  if (UnsupportedFunctionalityError.isInstance(error)) {
    const mend = 'Leave that part out of the message, or use a model that takes it.';
    return new ModelError('ModelRefused', `${context.model} cannot be asked this: ${words}`, mend);
  }
  if (JSONParseError.isInstance(error) || TypeValidationError.isInstance(error)) {
    // The SDK's own message repeats the whole event and lists every rule it breaks.
    const event = JSONParseError.isInstance(error) ? error.text : wordsOf(error.value, context.redact).message;
    const message = `${context.model} sent an event that is no part of an answer: ${boundText(said(event, context), 300)}`;
    return new ModelError('ModelStreamBroken', message, 'It is asked again; if it stays so, look at the provider.');
  }
  if (InvalidResponseDataError.isInstance(error) || EmptyResponseBodyError.isInstance(error) || context.streaming) {
    return new ModelError(
      'ModelStreamBroken',
      `The answer of ${context.model} is broken: ${words}`,
      'It is asked again.',
    );
  }
  return new ModelError('ModelRefused', `${context.model} cannot be asked this: ${words}`, 'Correct the request.');
}

/** Codes that stand for a status, for errors sent inside a stream of status 200. */
function statusOfCodes(codes: readonly string[]): number | null {
  const all = codes.join(' ').toLowerCase();
  if (/insufficient_quota|rate_limit|too_many_requests/.test(all)) return 429;
  if (/overloaded|server_error|internal|unavailable/.test(all)) return 503;
  if (/context_length_exceeded|invalid_request/.test(all)) return 400;
  if (/authentication|permission|invalid_api_key/.test(all)) return 401;
  return null;
}

function said(text: string, context: ModelCallContext): string {
  return asPhrase(context.redact(text));
}
