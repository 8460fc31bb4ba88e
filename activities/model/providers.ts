// From `provider/model` to a model of the AI SDK: the built-in `openai`, and what the configuration adds.
import type { LanguageModelV4 } from '@ai-sdk/provider';
import type { ProviderFactory } from '../../shared/config.ts';
import { messageOf } from '../../shared/errors.ts';
import { classifyModelError } from './errors.ts';
import { type ModelCallContext, ModelError } from './model-error.ts';
import { openAiModel, openAiSettings } from './openai.ts';
import type { Redact } from './redact.ts';

/** Environment variables, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where models come from. */
export interface ModelSources {
  readonly providers: Readonly<Record<string, ProviderFactory>>;
  readonly env: Environment;
  readonly redact: Redact;
  /** What the built-in provider sends its requests with. */
  readonly fetch: typeof fetch;
  /** Called for everything that arrives, keep-alive comments included. Of the built-in provider only. */
  readonly onBytes?: () => void;
}

/** A model, and what errors about it need to know. */
export interface ResolvedModel {
  readonly model: LanguageModelV4;
  readonly context: ModelCallContext;
}

/**
 * Resolves `provider/model`.
 * @throws ModelError `ModelUnknown` for another form, an unknown provider (it lists the known ones) or a factory that
 * fails; `ModelUnauthorized` where a key is missing.
 */
export async function resolveModel(name: string, sources: ModelSources): Promise<ResolvedModel> {
  const slash = name.indexOf('/');
  const [provider, model] = slash < 0 ? [name, ''] : [name.slice(0, slash), name.slice(slash + 1)];
  if (provider === '' || model === '') {
    const mend = 'Write model.name as provider/model, for example openai/gpt-5-mini.';
    throw new ModelError('ModelUnknown', `The model name "${name}" is not of the form provider/model.`, mend);
  }
  const own = Object.hasOwn(sources.providers, provider) ? sources.providers[provider] : undefined;
  if (own === undefined && provider !== 'openai') {
    const known = [...new Set(['openai', ...Object.keys(sources.providers)])].sort().join(', ');
    const mend = `Use one of them, or add "${provider}" under providers in temporal.config.ts.`;
    throw new ModelError('ModelUnknown', `No provider "${provider}" for ${name}; known: ${known}.`, mend);
  }
  const context = { model: name, redact: sources.redact, streaming: false };
  if (own === undefined) {
    return {
      model: openAiModel({ ...sources, model, name }),
      context: { ...context, ...openAiSettings },
    };
  }
  return { model: await callFactory(own, { model, env: sources.env }, context), context };
}

async function callFactory(
  factory: ProviderFactory,
  input: { readonly model: string; readonly env: Environment },
  context: ModelCallContext,
): Promise<LanguageModelV4> {
  let made: LanguageModelV4;
  try {
    made = await factory(input);
  } catch (error) {
    const classified = classifyModelError(error, context);
    if (classified.type === 'ModelUnauthorized') throw classified;
    const message = `The factory of the provider for ${context.model} failed: ${context.redact(messageOf(error))}`;
    throw new ModelError('ModelUnknown', message, 'Correct providers in temporal.config.ts.');
  }
  // Typed as version 4, yet a configuration in JavaScript may give anything.
  const version: unknown = (made as Partial<LanguageModelV4> | undefined)?.specificationVersion;
  if (version !== 'v4') {
    const message = `The factory of the provider for ${context.model} gave a model of version ${String(version)}, not v4.`;
    throw new ModelError('ModelUnknown', message, 'Use a provider package of AI SDK 7.');
  }
  return made;
}
