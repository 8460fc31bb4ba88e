// What a server asks of a person in the middle of a call (`elicitation/create`). Where nobody can answer it is declined, and
// the call's result says so. Forms only: the other mode, which opens an address, is not declared.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/sdk/types.js';

import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';

/** A form that a server wants filled in. */
export interface ElicitationQuestion {
  readonly server: string;
  readonly message: string;
  /** The form as a JSON schema, as it came. */
  readonly schema: JsonObject;
}

/** The answer; members that an accepted form leaves out take the defaults of its schema. */
export type ElicitationAnswer =
  | { readonly action: 'accept'; readonly content: Readonly<Record<string, string | number | boolean | string[]>> }
  | { readonly action: 'decline' };

/** Contract: answers in the place of a person; what it throws counts as declined. */
export type AnswerElicitation = (question: ElicitationQuestion) => Promise<ElicitationAnswer>;

/** An answer as the protocol wants it. */
export async function answerOf(
  server: string,
  { params }: ElicitRequest,
  answer: AnswerElicitation | undefined,
): Promise<ElicitResult> {
  if (answer === undefined) return { action: 'decline' };
  const asked = 'requestedSchema' in params ? (params.requestedSchema as JsonValue) : {};
  const question = { server, message: params.message, schema: isObject(asked) ? asked : {} };
  const given = await answer(question).catch((): ElicitationAnswer => ({ action: 'decline' }));
  return given.action === 'accept' ? { action: 'accept', content: { ...given.content } } : given;
}

const LONGEST_QUESTION = 300;
const MOST_QUESTIONS = 5;

/** The questions that were declined while a call ran, as a block of its result. */
export function declinedBlock(questions: readonly string[]): JsonValue {
  const lines = questions.slice(0, MOST_QUESTIONS).map((question) => {
    const line = question.replace(/\s+/g, ' ').trim();
    const shown = line.length <= LONGEST_QUESTION ? line : `${line.slice(0, LONGEST_QUESTION).toWellFormed()}…`;
    return `[the server asked: "${shown}"; declined: nobody could answer]`;
  });
  const more = questions.length - lines.length;
  return {
    type: 'text',
    text: [...lines, ...(more > 0 ? [`[and ${more} further questions, declined too]`] : [])].join('\n'),
  };
}
