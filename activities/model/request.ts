// A request of ours as call options of the AI SDK: messages, tools, params, the form of the answer.
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import { isObject, type JsonValue } from '../../shared/json.ts';
import type { ModelRequest, RequestMessage, RequestTool } from '../../shared/model.ts';
import { userPart } from './request-parts.ts';
import { readParams, readResponseFormat } from './request-params.ts';

/** What a model needs of a request. */
export interface RequestForm {
  /** The key of the provider's own options, as in `providerOptions[key]`. */
  readonly optionsKey: string;
  /** Whether the request becomes a chat completion, whose tool results are text and whose files are few. */
  readonly isChat: boolean;
  /** Whether the SDK's OpenAI-compatible model makes it: unknown params go into the body, raw chunks are OpenAI's. */
  readonly isCompatible: boolean;
}

/**
 * Makes the call options, the signal included. Schemas of tools and of the answer reach the provider unchanged.
 * @throws ModelError `ModelRefused` for a param or a part that cannot be sent.
 */
export function callOptionsFor(request: ModelRequest, form: RequestForm): LanguageModelV4CallOptions {
  const params = readParams(request.params, form.isCompatible);
  const format = readResponseFormat(request.responseFormat);
  const own = { ...params.rest, ...format.rest };
  return {
    prompt: request.messages.flatMap((message) => promptMessages(message, form)),
    ...params.options,
    ...format.options,
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(functionTool) }),
    // Always there: the key by which the SDK hands metadata back depends on it.
    providerOptions: { [form.optionsKey]: own },
    // Raw chunks show which call ids came from the provider, and which the SDK made up.
    includeRawChunks: form.isCompatible,
    abortSignal: request.signal,
  };
}

function functionTool(tool: RequestTool): LanguageModelV4FunctionTool {
  return {
    type: 'function',
    name: tool.name,
    description: tool.description,
    // A cast, since a schema is whatever the tool's server wrote and goes to the wire unread.
    inputSchema: tool.inputSchema as object,
  };
}

function promptMessages(message: RequestMessage, form: RequestForm): LanguageModelV4Message[] {
  if (message.role === 'system') return message.text === '' ? [] : [{ role: 'system', content: message.text }];
  if (message.role === 'user') {
    return [{ role: 'user', content: message.parts.map((part) => userPart(part, form.isChat)) }];
  }
  return message.role === 'assistant' ? [assistantMessage(message)] : toolMessages(message, form);
}

function assistantMessage(message: Extract<RequestMessage, { role: 'assistant' }>): LanguageModelV4Message {
  return {
    role: 'assistant',
    content: [
      ...message.reasoning.map((part) => ({
        type: 'reasoning' as const,
        text: part.text,
        ...optionsOf(part.providerMetadata),
      })),
      ...(message.text === '' ? [] : [{ type: 'text' as const, text: message.text }]),
      ...message.toolCalls.map((call) => ({
        type: 'tool-call' as const,
        toolCallId: call.callId,
        toolName: wireName(call.name),
        // Servers that read arguments into an object refuse the whole conversation over anything else.
        input: isObject(call.input) ? call.input : { invalid_arguments: call.input },
        ...optionsOf(call.providerMetadata),
      })),
    ],
  };
}

type ToolMessage = Extract<RequestMessage, { role: 'tool' }>;
type ToolResult = ToolMessage['results'][number];

/** Images follow all results, as a user message: no message may stand between the results of one step. */
function toolMessages(message: ToolMessage, form: RequestForm): LanguageModelV4Message[] {
  const hasRoom = (result: ToolResult): boolean => !form.isChat && !result.isError;
  const following = message.results.filter((result) => result.images.length > 0 && !hasRoom(result));
  const results: LanguageModelV4Message = {
    role: 'tool',
    content: message.results.map((result) => ({
      type: 'tool-result' as const,
      toolCallId: result.callId,
      toolName: wireName(result.name),
      output: hasRoom(result) && result.images.length > 0 ? contentOutput(result) : textOutput(result),
    })),
  };
  if (following.length === 0) return [results];
  return [results, { role: 'user', content: following.flatMap(imageParts) }];
}

function textOutput(result: ToolResult): { type: 'text' | 'error-text'; value: string } {
  return { type: result.isError ? 'error-text' : 'text', value: result.text };
}

function contentOutput(result: ToolResult) {
  return {
    type: 'content' as const,
    value: [
      { type: 'text' as const, text: result.text },
      ...result.images.map(({ mediaType, data }) => ({
        type: 'file' as const,
        mediaType,
        data: { type: 'data' as const, data },
      })),
    ],
  };
}

function imageParts(result: ToolResult) {
  return result.images.flatMap(({ mediaType, data }, index) => [
    {
      type: 'text' as const,
      text: `Image ${index + 1} of ${result.images.length} from the result of ${result.name}, call ${result.callId}:`,
    },
    { type: 'file' as const, mediaType, data: { type: 'data' as const, data } },
  ]);
}

/** A name the model made up goes back too, and providers refuse a conversation with a name that no tool could have. */
function wireName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unknown';
}

/** Metadata goes back as it came; whatever has another form did not come from a provider. */
function optionsOf(metadata: JsonValue | undefined): { providerOptions?: SharedV4ProviderOptions } {
  if (!isObject(metadata) || !Object.values(metadata).every(isObject)) return {};
  // Proved just above: an object of objects, of JSON values by its type.
  return { providerOptions: metadata as SharedV4ProviderOptions };
}
