// Model params of the spec, to call options of the AI SDK. What has no option of its own, or not the option's type,
// goes to the provider as written.
import type { LanguageModelV4CallOptions, LanguageModelV4ToolChoice } from '@ai-sdk/provider';
import type { ResponseFormat } from '../../shared/agent-spec.ts';
import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { ModelError } from './model-error.ts';

/** Options that come from params. */
export type ParamOptions = Partial<LanguageModelV4CallOptions>;

/** Set by Longshore itself for every request. */
const OWN_KEYS = ['model', 'messages', 'tools', 'stream', 'stream_options'];

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;

type Reader = (value: JsonValue) => ParamOptions | null;

const number =
  (
    key: 'maxOutputTokens' | 'temperature' | 'topP' | 'topK' | 'presencePenalty' | 'frequencyPenalty' | 'seed',
  ): Reader =>
  (value) =>
    typeof value === 'number' ? { [key]: value } : null;

/** Null: not for this option, so the value is passed on as written and the provider says what it thinks of it. */
const READERS: Readonly<Record<string, Reader>> = {
  max_tokens: number('maxOutputTokens'),
  temperature: number('temperature'),
  top_p: number('topP'),
  top_k: number('topK'),
  presence_penalty: number('presencePenalty'),
  frequency_penalty: number('frequencyPenalty'),
  seed: number('seed'),
  stop: readStop,
  reasoning_effort: readEffort,
  tool_choice: readToolChoice,
};

/** The OpenAI-compatible model drops the first and narrows the second, while the body takes both as written. */
const RAW_IN_BODY = ['top_k', 'reasoning_effort'];

/**
 * Splits params into call options and the rest, which is for the provider's own options.
 * @throws ModelError `ModelRefused` for a param that would overwrite the request itself.
 */
export function readParams(
  params: JsonObject,
  isCompatible: boolean,
): { readonly options: ParamOptions; readonly rest: Record<string, JsonValue> } {
  let options: ParamOptions = {};
  const rest: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(params)) {
    if (OWN_KEYS.includes(name)) {
      const mend = `Remove it from model.params; ${OWN_KEYS.join(', ')} are made from the conversation.`;
      throw new ModelError('ModelRefused', `model.params.${name} would overwrite the request itself.`, mend);
    }
    const reader =
      isCompatible && RAW_IN_BODY.includes(name) ? undefined : Object.hasOwn(READERS, name) ? READERS[name] : undefined;
    const option = reader?.(value) ?? null;
    if (option === null) rest[name] = value;
    else options = { ...options, ...option };
  }
  return { options, rest };
}

/** The form of the answer, and whether its schema is enforced strictly. @default strict false, as OpenAI has it */
export function readResponseFormat(format: ResponseFormat): {
  readonly options: ParamOptions;
  readonly rest: Record<string, JsonValue>;
} {
  if (format.type === 'text') return { options: {}, rest: {} };
  if (format.type === 'json_object') return { options: { responseFormat: { type: 'json' } }, rest: {} };
  const { name, description, schema, strict } = format.json_schema;
  return {
    options: {
      responseFormat: {
        type: 'json',
        name,
        schema,
        ...(description === undefined ? {} : { description }),
      },
    },
    rest: { strictJsonSchema: strict ?? false },
  };
}

function readStop(value: JsonValue): ParamOptions | null {
  if (typeof value === 'string') return { stopSequences: [value] };
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string')) return null;
  return { stopSequences: [...value] };
}

function readEffort(value: JsonValue): ParamOptions | null {
  const effort = EFFORTS.find((known) => known === value);
  return effort === undefined ? null : { reasoning: effort };
}

/** The SDK writes `tool_choice` over what comes with the provider's options, so every form must be understood here. */
function readToolChoice(value: JsonValue): ParamOptions | null {
  const choice = (['auto', 'none', 'required'] as const).find((known) => known === value);
  if (choice !== undefined) return { toolChoice: { type: choice } };
  const named = isObject(value) && isObject(value['function']) ? value['function']['name'] : undefined;
  if (typeof named !== 'string') return null;
  const toolChoice: LanguageModelV4ToolChoice = { type: 'tool', toolName: named };
  return { toolChoice };
}
