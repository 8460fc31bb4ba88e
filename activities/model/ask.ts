// The one way to a model: resolve the provider, make the request, stream the answer in, classify what fails.
import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ProviderFactory } from '../../shared/config.ts';
import type { AskModel, ModelAnswer, ModelRequest } from '../../shared/model.ts';
import { collectAnswer } from './collect.ts';
import { classifyModelError } from './errors.ts';
import { type Environment, type ResolvedModel, resolveModel } from './providers.ts';
import { createModelFetch } from './model-fetch.ts';
import { createRedact } from './redact.ts';
import { callOptionsFor, type RequestForm } from './request.ts';

/** Settings of `createAskModel`. */
export interface AskModelOptions {
  /** Further providers by name; one named `openai` takes the built-in one's place. */
  readonly providers?: Readonly<Record<string, ProviderFactory>>;
  /** @default process.env, read at each call */
  readonly env?: Environment;
  /** Values that must appear in no message, asked for at each call; `OPENAI_API_KEY` is always one of them. @default none */
  readonly secrets?: () => readonly string[];
}

/**
 * Makes the function that asks models. Each call makes one request and never a second one.
 * @returns a function that raises only `ModelError` (see `errors.ts`), or the signal's reason once it is aborted.
 */
export function createAskModel(options: AskModelOptions = {}): AskModel {
  const env = options.env ?? process.env;
  const send = createModelFetch(env);
  return async (request) => {
    const redact = createRedact([...(options.secrets?.() ?? []), env['OPENAI_API_KEY']]);
    request.signal.throwIfAborted();
    const resolved = await resolveModel(request.model, {
      providers: options.providers ?? {},
      env,
      redact,
      fetch: send,
      onBytes: () => request.onPart?.({ characters: 0 }),
    });
    return ask(request, resolved);
  };
}

async function ask(request: ModelRequest, { model, context }: ResolvedModel): Promise<ModelAnswer> {
  const form = formOf(model);
  let streaming = false;
  try {
    const call = (async () => model.doStream(callOptionsFor(request, form)))();
    const { stream } = await untilAborted(call, request.signal);
    streaming = true;
    return await collectAnswer(stream, {
      context: { ...context, streaming },
      hasOpenAiChunks: form.isCompatible,
      onPart: request.onPart,
      signal: request.signal,
    });
  } catch (error) {
    if (request.signal.aborted) throw request.signal.reason;
    throw classifyModelError(error, { ...context, streaming });
  }
}

/** Chat models are told by their provider's name, as in `groq.chat`: a wrapped model, or another copy of the SDK, has it too. */
function formOf(model: LanguageModelV4): RequestForm {
  const provider = (model.provider.split('.')[0] ?? '').trim();
  const isCompatible =
    model instanceof OpenAICompatibleChatLanguageModel ||
    (model.provider.endsWith('.chat') && 'supportsStructuredOutputs' in model);
  // The SDK warns of keys of that provider that are not in camel case.
  const camelCase = provider.replace(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return {
    optionsKey: isCompatible ? camelCase : provider,
    isChat: isCompatible || model.provider.endsWith('.chat'),
    isCompatible,
  };
}

/** Gives up waiting when aborted, even where a provider does not heed the signal. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const gate = Promise.withResolvers<never>();
  const onAbort = (): void => gate.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([promise, gate.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
