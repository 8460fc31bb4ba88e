// One request, answered by the model: it chooses a tool or the answer, and then writes the arguments or the words. All of
// it is the model's own; the grammar says only what has a form that the client can read.
import { ANSWER, ANSWER_GRAMMAR, argumentsSchema, choiceSchema, toolsToChoose, type GrammarSchema } from './grammar.ts';
import type { LocalModel, Written } from './llama.ts';
import { ARGUMENTS_MARK, CHOICE_MARK, promptOf } from './prompt.ts';
import { toolsCalled, type ChatRequest } from './request.ts';

/** The longest single text, in tokens: more than any of the grammars' texts has. */
export const MOST_TOKENS = 400;

/** Hears of an answer as it is written. */
export interface AnswerListener {
  readonly onTool: (name: string) => void;
  readonly onArguments: (piece: string) => void;
  readonly onText: (piece: string) => void;
}

/** How an answer ended, in OpenAI's words, and its tokens by the model's own count. */
export interface AnswerEnd {
  readonly finishReason: 'stop' | 'tool_calls' | 'length';
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Lets the model answer. @throws the signal's reason when aborted, and an `Error` for a tool beyond the grammar. */
export async function answerRequest(
  request: ChatRequest,
  model: LocalModel,
  listener: AnswerListener,
  signal: AbortSignal,
): Promise<AnswerEnd> {
  const { temperature, seed } = request;
  const prompt = promptOf(request);
  const write = (text: string, grammar: GrammarSchema | string, onText?: (piece: string) => void): Promise<Written> => {
    const options = { grammar, maxTokens: MOST_TOKENS, temperature, seed, signal };
    return model.write(text, onText === undefined ? options : { ...options, onText });
  };
  const end = (whole: AnswerEnd['finishReason'], ...texts: readonly Written[]): AnswerEnd => ({
    finishReason: texts.every(({ isWhole }) => isWhole) ? whole : 'length',
    inputTokens: model.countTokens(prompt),
    outputTokens: model.countTokens(texts.map(({ text }) => text).join('')),
  });

  const tools = toolsToChoose(request.tools, toolsCalled(request));
  const marked = prompt + CHOICE_MARK;
  const choice = tools.length === 0 ? null : await write(marked, choiceSchema(tools));
  const chosen = tools.find(({ name }) => choice?.text === JSON.stringify(name));
  if (choice !== null && chosen === undefined && choice.text !== JSON.stringify(ANSWER)) {
    throw new Error(`The model chose ${choice.text}, which the grammar does not have.`);
  }
  if (choice === null || chosen === undefined) {
    return end('stop', await write(prompt, ANSWER_GRAMMAR, listener.onText));
  }
  listener.onTool(chosen.name);
  const written = await write(marked + choice.text + ARGUMENTS_MARK, argumentsSchema(chosen), listener.onArguments);
  return end('tool_calls', choice, written);
}
