// What a request to the model says of the turn so far: the question, and each call with the result that came back.
// Nothing is kept between requests, so a request that is sent again gets the same answer.
import type { ScriptedModel } from '../../testing/index.ts';

/** A request's body, parsed. */
export type ModelRequest = Parameters<ScriptedModel>[0];

/** A call that the model asked for, with its result. */
export interface AnsweredCall {
  /** As the model knows it: `fs__read_text_file`. */
  readonly name: string;
  /** JSON, as the model wrote it. */
  readonly arguments: string;
  /** The result's text: the content itself, or a pointer to the file that holds it. */
  readonly result: string;
}

/** The turn that a request belongs to. */
export interface Conversation {
  /** All that the user wrote in this turn. */
  readonly question: string;
  /** The calls of each step so far, in the order asked for. */
  readonly steps: readonly (readonly AnsweredCall[])[];
  /** Names of the tools on offer. */
  readonly tools: readonly string[];
}

/** Takes a request apart. Raises an error that says what is missing. */
export function conversationOf(request: ModelRequest): Conversation {
  const { messages } = request;
  const lastOfUser = messages.findLastIndex(({ role }) => role === 'user');
  const beforeUser = messages.slice(0, Math.max(0, lastOfUser)).findLastIndex(({ role }) => role !== 'user');
  const question = messages
    .slice(beforeUser + 1, lastOfUser + 1)
    .map((message) => textOf(message.content, 'a user message'))
    .join('\n');
  const turn = messages.slice(lastOfUser + 1);
  const results = new Map(
    turn.flatMap((message) => (message.role === 'tool' ? [[message.tool_call_id, message]] : [])),
  );
  const steps = turn
    .filter(({ role }) => role === 'assistant')
    .map((message) =>
      (message.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => {
        const result = results.get(id);
        if (!result) throw new Error(`No result came back for the call of ${name}.`);
        return { name, arguments: args, result: textOf(result.content, `the result of ${name}`) };
      }),
    );
  return { question, steps, tools: (request.tools ?? []).map((tool) => tool.function.name) };
}

/** The result of one call of the turn: the call of a tool whose arguments hold all the given texts. */
export function resultOf(conversation: Conversation, tool: string, ...argumentTexts: readonly string[]): string {
  const calls = conversation.steps.flat().filter((call) => call.name === tool);
  const found = calls.find((call) => argumentTexts.every((text) => call.arguments.includes(JSON.stringify(text))));
  if (found) return found.result;
  throw new Error(`No call of ${tool} with ${argumentTexts.join(' and ')} was made in this turn.`);
}

/** Content as text: a string, or parts of which every one is a text. */
function textOf(content: unknown, what: string): string {
  if (typeof content === 'string') return content;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [content];
  return parts
    .map((part) => {
      if (typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string')
        return part.text;
      throw new Error(`${what} is not text: ${JSON.stringify(part)?.slice(0, 200) ?? 'nothing'}`);
    })
    .join('\n');
}
