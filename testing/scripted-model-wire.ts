// Answers in the form of OpenAI's chat completions, whole and as the events of a stream.

/** What a scripted model answers. */
export interface ScriptedAnswer {
  readonly text?: string;
  /** Reasoning shown before the text, as `reasoning_content`. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedToolCall[];
  /** @default an estimate: UTF-8 bytes / 4, rounded up, marked `estimated: true` on the wire */
  readonly usage?: ScriptedUsage;
  /** As on the wire. @default `tool_calls` where there are tool calls, else `stop` */
  readonly finishReason?: string;
}

/** A tool call of an answer. */
export interface ScriptedToolCall {
  readonly name: string;
  /** A text goes out as it is, whether it is JSON or not. */
  readonly arguments: string | { readonly [key: string]: unknown };
  /** @default `call_<call>_<index>` */
  readonly id?: string;
}

/** Tokens, as a provider reports them. */
export interface ScriptedUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** @default 0 */
  readonly cachedInputTokens?: number;
  /** @default 0 */
  readonly reasoningTokens?: number;
}

/** Where an answer belongs. */
export interface AnswerFrame {
  /** From 0. */
  readonly call: number;
  readonly model: string;
  /** Bytes of the request's body, for an estimate of its tokens. */
  readonly requestBytes: number;
}

/** Characters in one piece of a streamed text. */
const PIECE_CHARACTERS = 24;

/** The answer as one `chat.completion`. */
export function completionOf(answer: ScriptedAnswer, frame: AnswerFrame): object {
  const toolCalls = wireToolCalls(answer, frame);
  const message = {
    role: 'assistant',
    content: answer.text ?? (toolCalls.length > 0 ? null : ''),
    ...(answer.reasoning === undefined ? {} : { reasoning_content: answer.reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
  return {
    ...head(frame, 'chat.completion'),
    choices: [{ index: 0, message, finish_reason: finishReasonOf(answer) }],
    usage: usageOf(answer, frame),
  };
}

/** The answer as the chunks of a stream, in pieces of some characters, its usage last. */
export function chunksOf(answer: ScriptedAnswer, frame: AnswerFrame): object[] {
  const chunk = (delta: object, finishReason: string | null = null): object => ({
    ...head(frame, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  });
  return [
    chunk({ role: 'assistant', content: '' }),
    ...pieces(answer.reasoning ?? '').map((piece) => chunk({ reasoning_content: piece })),
    ...pieces(answer.text ?? '').map((piece) => chunk({ content: piece })),
    ...wireToolCalls(answer, frame).flatMap((call, index) => [
      chunk({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: '' } }] }),
      ...pieces(call.function.arguments).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
      ),
    ]),
    chunk({}, finishReasonOf(answer)),
    { ...head(frame, 'chat.completion.chunk'), choices: [], usage: usageOf(answer, frame) },
  ];
}

/** One event of the stream. */
export function eventOf(chunk: object): string {
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** What ends a stream. */
export const DONE_EVENT = 'data: [DONE]\n\n';

function head(frame: AnswerFrame, object: string): object {
  // A fixed time: the same script gives the same bytes.
  return { id: `chatcmpl-${frame.call}`, object, created: 0, model: frame.model };
}

function wireToolCalls(answer: ScriptedAnswer, frame: AnswerFrame) {
  return (answer.toolCalls ?? []).map((call, index) => ({
    id: call.id ?? `call_${frame.call}_${index}`,
    type: 'function',
    function: {
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    },
  }));
}

function finishReasonOf(answer: ScriptedAnswer): string {
  return answer.finishReason ?? ((answer.toolCalls ?? []).length > 0 ? 'tool_calls' : 'stop');
}

function usageOf(answer: ScriptedAnswer, frame: AnswerFrame): object {
  const { usage } = answer;
  const written = JSON.stringify([answer.text, answer.reasoning, answer.toolCalls]);
  const [input, output] =
    usage === undefined
      ? [estimate(frame.requestBytes), estimate(Buffer.byteLength(written))]
      : [usage.inputTokens, usage.outputTokens];
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: usage?.cachedInputTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: usage?.reasoningTokens ?? 0 },
    ...(usage === undefined ? { estimated: true } : {}),
  };
}

function estimate(bytes: number): number {
  return Math.ceil(bytes / 4);
}

/** Cut between code points: half of a surrogate pair cannot be written as UTF-8. */
function pieces(text: string): string[] {
  const all: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(text.length, start + PIECE_CHARACTERS);
    if (end < text.length && /[\uD800-\uDBFF]/.test(text.charAt(end - 1))) end += 1;
    all.push(text.slice(start, end));
    start = end;
  }
  return all;
}
