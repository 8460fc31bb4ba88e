// How a turn ends, and what it says of it. Pure.
import type { CallModelResult } from '../shared/activities.ts';
import type { ErrorRecord } from '../shared/errors.ts';
import type { BlobRef } from '../shared/file-store.ts';
import type { TurnEnd } from '../shared/turn.ts';

/** The end of a turn, before it is committed. */
export interface Ending {
  readonly status: TurnEnd;
  readonly answer: string | null;
  readonly answerRef?: BlobRef;
  readonly error: ErrorRecord | null;
}

/** How a turn ends by an answer without tool calls. */
export function endOf(answer: CallModelResult): Ending {
  const error = unusable(answer);
  const status = error ? 'failed' : 'completed';
  if (answer.textRef) return { status, answer: null, answerRef: answer.textRef, error };
  return { status, answer: answer.text, error };
}

function unusable(answer: CallModelResult): ErrorRecord | null {
  if (answer.finishReason === 'length') {
    const message = `The model \`${answer.modelName}\` stopped at its output limit after ${answer.usage.outputTokens} tokens`;
    return { type: 'ModelAnswerTruncated', message, mend: 'Raise model.params.max_tokens, or ask for less.' };
  }
  if (answer.finishReason === 'refusal') {
    const message = `The model \`${answer.modelName}\` refused to answer: ${wordsOf(answer)}`;
    return { type: 'ModelAnswerFiltered', message, mend: 'Change the request, or use another model.' };
  }
  if (answer.finishReason === 'content-filter') {
    const message = `The provider of \`${answer.modelName}\` filtered the answer`;
    return { type: 'ModelAnswerFiltered', message, mend: 'Change the request, or use another model.' };
  }
  return null;
}

/** The beginning of its words; the whole is the turn's answer. */
function wordsOf({ text, textRef }: CallModelResult): string {
  if (textRef) return `(${textRef.bytes} bytes, see the answer)`;
  return text.length <= 500 ? text : `${text.slice(0, 500).toWellFormed()}…`;
}

/** How a cancelled turn ends. */
export function cancelled(): Ending {
  const error = { type: 'TurnCancelled', message: 'The turn was cancelled', mend: 'Continue it with --continue.' };
  return { status: 'cancelled', answer: null, error };
}

/** How a turn ends that has made all its steps. */
export function iterationLimit(limit: number): Ending {
  const message = `The turn made ${limit} steps, its iteration_limit, without an answer`;
  const mend = 'Raise config.iteration_limit, or continue the turn.';
  return { status: 'iteration_limit', answer: null, error: { type: 'IterationLimit', message, mend } };
}
