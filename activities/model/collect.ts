// Gathers the parts of a streamed answer into one, within limits, and insists on a proper end.
import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ModelUsage } from '../../shared/facts.ts';
import { isObject, type JsonValue } from '../../shared/json.ts';
import type { ModelAnswer, ModelRequest } from '../../shared/model.ts';
import { classifyStreamError } from './errors.ts';
import { type ModelCallContext, ModelError } from './model-error.ts';

/** Bytes of text, reasoning and arguments together. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const MAX_TOOL_CALLS = 1000;

type Part<T extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: T }>;

interface Gathered {
  text: string;
  readonly reasoning: Map<string, { text: string; providerMetadata?: JsonValue }>;
  readonly toolCalls: LanguageModelV4ToolCall[];
  finish: Part<'finish'> | null;
  modelName: string | null;
  bytes: number;
  callsBegun: number;
  /** Of a chat stream: every call id the provider sent. Null where that cannot be seen. */
  readonly sentIds: Set<string> | null;
}

/** How to read a stream. */
export interface CollectOptions {
  readonly context: ModelCallContext;
  /** Whether raw chunks are OpenAI's, with the call ids that really came. */
  readonly hasOpenAiChunks: boolean;
  readonly onPart: ModelRequest['onPart'];
  readonly signal: AbortSignal;
}

/**
 * Reads a stream to its end.
 * @throws ModelError `ModelStreamBroken` for an error part or a missing finish, `ModelAnswerInvalid` for a call for tools that
 * names none, `ModelAnswerTooLarge` above 8 MiB of text or 1,000 tool calls; whatever the stream itself throws.
 */
export async function collectAnswer(
  stream: ReadableStream<LanguageModelV4StreamPart>,
  options: CollectOptions,
): Promise<ModelAnswer> {
  const gathered: Gathered = {
    text: '',
    reasoning: new Map(),
    toolCalls: [],
    finish: null,
    modelName: null,
    bytes: 0,
    callsBegun: 0,
    sentIds: options.hasOpenAiChunks ? new Set() : null,
  };
  // The pipe cancels the stream when aborted, even one that does not heed the signal; leaving the loop cancels it too.
  for await (const part of stream.pipeThrough(new TransformStream(), { signal: options.signal })) {
    options.onPart?.({ characters: 'delta' in part ? part.delta.length : 0 });
    if (part.type === 'error') throw classifyStreamError(part.error, options.context);
    gather(gathered, part);
    checkLimits(gathered, options.context);
  }
  return finishAnswer(gathered, options.context);
}

function gather(gathered: Gathered, part: LanguageModelV4StreamPart): void {
  if ('delta' in part) gathered.bytes += Buffer.byteLength(part.delta);
  switch (part.type) {
    case 'text-delta':
      gathered.text += part.delta;
      return;
    case 'reasoning-start':
    case 'reasoning-delta':
    case 'reasoning-end':
      gatherReasoning(gathered, part);
      return;
    case 'tool-input-start':
      gathered.callsBegun += 1;
      return;
    case 'tool-call':
      // What the provider runs itself is no call of ours.
      if (part.providerExecuted !== true) gathered.toolCalls.push(part);
      return;
    case 'response-metadata':
      gathered.modelName = part.modelId ?? gathered.modelName;
      return;
    case 'raw':
      if (gathered.sentIds !== null) collectSentIds(part.rawValue, gathered.sentIds);
      return;
    case 'finish':
      gathered.finish = part;
      return;
    // Files, sources and the provider's own tools have no place in an answer yet; errors were thrown before.
    case 'text-start':
    case 'text-end':
    case 'tool-input-delta':
    case 'tool-input-end':
    case 'tool-result':
    case 'tool-approval-request':
    case 'custom':
    case 'file':
    case 'reasoning-file':
    case 'source':
    case 'stream-start':
    case 'ping':
    case 'error':
      return;
  }
}

function gatherReasoning(
  gathered: Gathered,
  part: Part<'reasoning-start' | 'reasoning-delta' | 'reasoning-end'>,
): void {
  const block = gathered.reasoning.get(part.id) ?? { text: '' };
  gathered.reasoning.set(part.id, block);
  if (part.type === 'reasoning-delta') block.text += part.delta;
  if (part.providerMetadata !== undefined) block.providerMetadata = asJson(part.providerMetadata);
}

/** The SDK replaces ids that are empty or used twice by random ones; those must not pass for the provider's. */
function collectSentIds(chunk: unknown, into: Set<string>): void {
  const choices = isObject(chunk) && Array.isArray(chunk['choices']) ? chunk['choices'] : [];
  for (const choice of choices) {
    const delta: unknown = isObject(choice) ? choice['delta'] : null;
    const calls = isObject(delta) && Array.isArray(delta['tool_calls']) ? delta['tool_calls'] : [];
    for (const call of calls) if (isObject(call) && typeof call['id'] === 'string') into.add(call['id']);
  }
}

function checkLimits(gathered: Gathered, context: ModelCallContext): void {
  const calls = Math.max(gathered.callsBegun, gathered.toolCalls.length);
  if (gathered.bytes <= MAX_ANSWER_BYTES && calls <= MAX_TOOL_CALLS) return;
  const what =
    calls > MAX_TOOL_CALLS
      ? `asked for more than ${MAX_TOOL_CALLS} tools at once`
      : `answered more than ${MAX_ANSWER_BYTES} bytes`;
  throw new ModelError(
    'ModelAnswerTooLarge',
    `${context.model} ${what}.`,
    'Set max_tokens in model.params, or use another model.',
  );
}

function finishAnswer(gathered: Gathered, context: ModelCallContext): ModelAnswer {
  const { finish } = gathered;
  if (finish === null || finish.finishReason.unified === 'error') {
    const message = `The answer of ${context.model} ended without saying that it was complete.`;
    throw new ModelError('ModelStreamBroken', message, 'It is asked again.');
  }
  const reason = finish.finishReason.unified;
  if (reason === 'tool-calls' && gathered.toolCalls.length === 0) {
    const message = `${context.model} ended its answer to call tools, and named none.`;
    throw new ModelError('ModelAnswerInvalid', message, 'It is asked again.');
  }
  return {
    text: gathered.text,
    reasoning: [...gathered.reasoning.values()].filter(
      (block) => block.text !== '' || block.providerMetadata !== undefined,
    ),
    toolCalls: gathered.toolCalls.map((call) => ({
      providerCallId: gathered.sentIds === null || gathered.sentIds.has(call.toolCallId) ? call.toolCallId : '',
      name: call.toolName,
      inputText: call.input,
      ...(call.providerMetadata === undefined ? {} : { providerMetadata: asJson(call.providerMetadata) }),
    })),
    finishReason: reason === 'interrupted' ? 'other' : reason,
    usage: usageOf(finish.usage),
    modelName: gathered.modelName ?? context.model,
  };
}

function usageOf(usage: LanguageModelV4Usage): ModelUsage {
  return {
    inputTokens: count(usage.inputTokens.total),
    outputTokens: count(usage.outputTokens.total),
    cachedInputTokens: count(usage.inputTokens.cacheRead),
    reasoningTokens: count(usage.outputTokens.reasoning),
  };
}

function count(tokens: number | undefined): number {
  return tokens !== undefined && Number.isFinite(tokens) && tokens > 0 ? Math.round(tokens) : 0;
}

/** Members that are undefined are allowed by the SDK and not by JSON. */
function asJson(value: unknown): JsonValue {
  // Proved by its making: what JSON.parse gives is a JSON value.
  return JSON.parse(JSON.stringify(value)) as JsonValue;
}
