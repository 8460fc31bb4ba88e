// Gathers the parts of a streamed answer into one, within limits, and insists on a proper end.
import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { ModelUsage } from '../../shared/facts.ts';
import type { JsonValue } from '../../shared/json.ts';
import type { ModelAnswer, ModelRequest } from '../../shared/model.ts';
import { classifyStreamError } from './errors.ts';
import { type ChunkFacts, newChunkFacts, readChunk } from './chunk-facts.ts';
import { type ModelCallContext, ModelError } from './model-error.ts';
import { boundText } from './redact.ts';

/** Bytes of text, reasoning and arguments together. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const MAX_TOOL_CALLS = 1000;
/** A provider's name of its model goes into records. */
const MAX_NAME_BYTES = 200;
/** An answer that is wrong in itself is asked for this often in all. */
const WRONG_ANSWER_ATTEMPTS = 3;

type Part<T extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: T }>;

interface Gathered {
  text: string;
  readonly reasoning: Map<string, { text: string; providerMetadata?: JsonValue }>;
  readonly toolCalls: LanguageModelV4ToolCall[];
  finish: Part<'finish'> | null;
  modelName: string | null;
  bytes: number;
  callsBegun: number;
  /** Of a chat stream: what its raw chunks tell. Null where they are not OpenAI's. */
  readonly chunks: ChunkFacts | null;
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
    chunks: options.hasOpenAiChunks ? newChunkFacts() : null,
  };
  // The pipe cancels the stream when aborted, even one that does not heed the signal; leaving the loop cancels it too.
  for await (const part of stream.pipeThrough(new TransformStream(), { signal: options.signal })) {
    options.onPart?.({ characters: 'delta' in part ? part.delta.length : 0 });
    if (gathered.chunks?.isOther === true && part.type !== 'raw' && part.type !== 'error' && part.type !== 'finish')
      continue;
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
      if (gathered.chunks !== null) readChunk(part.rawValue, gathered.chunks);
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
  const { finish, chunks } = gathered;
  if (finish === null || finish.finishReason.unified === 'error') {
    const message = `The answer of ${context.model} ended without saying that it was complete.`;
    throw new ModelError('ModelStreamBroken', message, 'It is asked again.');
  }
  if (chunks?.hasOtherCalls === true) throw twoAnswers(context);
  const finishReason = reasonOf(finish);
  // What was filtered or refused is no request to act upon, however far it came.
  const toolCalls = finishReason === 'content-filter' || finishReason === 'refusal' ? [] : gathered.toolCalls;
  if (finishReason === 'tool-calls' && toolCalls.length === 0) throw callsMissing(context);
  return {
    text: gathered.text,
    reasoning: [...gathered.reasoning.values()].filter(
      (block) => block.text !== '' || block.providerMetadata !== undefined,
    ),
    toolCalls: toolCalls.map((call) => ({
      providerCallId: chunks === null || chunks.sentIds.has(call.toolCallId) ? call.toolCallId : '',
      name: call.toolName,
      inputText: call.input,
      ...(call.providerMetadata === undefined ? {} : { providerMetadata: asJson(call.providerMetadata) }),
    })),
    finishReason,
    usage: usageOf(finish.usage),
    modelName: boundText(gathered.modelName ?? context.model, MAX_NAME_BYTES),
  };
}

/** The SDK calls an answer filtered when the model refused in words of its own; what the provider said tells them apart. */
function reasonOf({ finishReason: { unified, raw } }: Part<'finish'>): string {
  if (unified === 'content-filter' && raw !== undefined && /^(?:stop|refusal)$/.test(raw)) return 'refusal';
  return unified === 'interrupted' ? 'other' : unified;
}

function callsMissing(context: ModelCallContext): ModelError {
  const message = `${context.model} ended its answer to call tools, and named none.`;
  const mend = 'It is asked again; if it stays so, use another model.';
  return new ModelError('ModelAnswerInvalid', message, mend, { maximumAttempts: WRONG_ANSWER_ATTEMPTS });
}

function twoAnswers(context: ModelCallContext): ModelError {
  const message = `${context.model} gave several answers in one, and tool calls in more than the first.`;
  const mend = 'Leave `n` out of model.params; if it is not there, use another model.';
  return new ModelError('ModelAnswerInvalid', message, mend, { maximumAttempts: WRONG_ANSWER_ATTEMPTS });
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
