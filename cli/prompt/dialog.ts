// What a person's lines mean at a waiting call: a small dialogue, one question at a time. Pure: no terminal, no client.
import type { WaitingKind } from '../../shared/approvals.ts';
import { isObject, type JsonObject } from '../../shared/json.ts';
import type { OutcomeChoice } from '../../client/decide.ts';

/** What is asked next of the person. `edit` begins with the arguments as they are. */
export type Stage = 'choose' | 'reason' | 'edit';

/** What a line comes to. */
export type Reply =
  | { readonly type: 'approve'; readonly arguments?: JsonObject; readonly forSession?: true }
  | { readonly type: 'deny'; readonly reason?: string }
  | { readonly type: 'answer'; readonly text: string }
  | { readonly type: 'outcome'; readonly choice: OutcomeChoice }
  /** Not now: the call goes on waiting. */
  | { readonly type: 'later' }
  /** Show all of the arguments, and ask again. */
  | { readonly type: 'show' }
  /** Ask on. */
  | { readonly type: 'ask'; readonly stage: Stage; readonly problem?: string };

/** What is asked about. */
export interface Asked {
  readonly kind: WaitingKind;
  /** Of a question: what a number stands for. */
  readonly options: readonly string[];
}

/** The question that stands before the cursor. */
export function promptOf(stage: Stage, { kind, options }: Asked): string {
  if (stage === 'reason') return 'reason for the agent (Enter for none): ';
  if (stage === 'edit') return 'arguments as JSON (Enter approves with them, empty goes back): ';
  switch (kind) {
    case 'approval':
      return '[a]pprove, [d]eny, [e]dit the arguments, approve for the [s]ession, sh[o]w all, [l]ater? ';
    case 'question':
      return `answer${options.length > 0 ? ' (a number takes an option)' : ''}, /deny or /later: `;
    case 'outcome':
      return '[r]un it again, take it as [d]one, [g]ive it up, sh[o]w all, [l]ater? ';
  }
}

/** What a line means. A line that means nothing asks again: nothing is ever decided by a slip. */
export function replyTo(line: string, stage: Stage, asked: Asked): Reply {
  const text = line.trim();
  if (stage === 'reason') return { type: 'deny', ...(text !== '' && { reason: text }) };
  if (stage === 'edit') return editedReply(text);
  switch (asked.kind) {
    case 'approval':
      return approvalReply(text);
    case 'question':
      return questionReply(text, asked.options);
    case 'outcome':
      return outcomeReply(text);
  }
}

function approvalReply(text: string): Reply {
  const [first = '', ...rest] = text.split(/\s+/);
  const reason = rest.join(' ');
  switch (first.toLowerCase()) {
    case 'a':
    case 'approve':
    case 'y':
    case 'yes':
      return reason === '' ? { type: 'approve' } : askAgain(text);
    case 's':
    case 'session':
      return reason === '' ? { type: 'approve', forSession: true } : askAgain(text);
    case 'd':
    case 'deny':
    case 'n':
    case 'no':
      return reason === '' ? { type: 'ask', stage: 'reason' } : { type: 'deny', reason };
    case 'e':
    case 'edit':
      return reason === '' ? { type: 'ask', stage: 'edit' } : askAgain(text);
    default:
      return commonReply(text);
  }
}

function outcomeReply(text: string): Reply {
  switch (text.toLowerCase()) {
    case 'r':
    case 'run-again':
      return { type: 'outcome', choice: 'run-again' };
    case 'd':
    case 'done':
      return { type: 'outcome', choice: 'done' };
    case 'g':
    case 'give-up':
      return { type: 'outcome', choice: 'give-up' };
    default:
      return commonReply(text);
  }
}

function commonReply(text: string): Reply {
  switch (text.toLowerCase()) {
    case 'l':
    case 'later':
      return { type: 'later' };
    case 'o':
    case 'show':
      return { type: 'show' };
    default:
      return askAgain(text);
  }
}

function questionReply(text: string, options: readonly string[]): Reply {
  if (text === '') return { type: 'ask', stage: 'choose' };
  if (text === '/later') return { type: 'later' };
  const denied = /^\/deny\b\s*(.*)$/s.exec(text);
  if (denied) return denied[1] ? { type: 'deny', reason: denied[1] } : { type: 'ask', stage: 'reason' };
  const option = /^\d+$/.test(text) ? options[Number(text) - 1] : undefined;
  return { type: 'answer', text: option ?? text };
}

function editedReply(text: string): Reply {
  if (text === '') return { type: 'ask', stage: 'choose' };
  const parsed = parseArguments(text);
  if ('problem' in parsed) return { type: 'ask', stage: 'edit', problem: parsed.problem };
  return { type: 'approve', arguments: parsed.arguments };
}

/** Arguments of a call, as a person writes them: one JSON object. */
export function parseArguments(text: string): { readonly arguments: JsonObject } | { readonly problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    // What JSON.parse gives is JSON.
    if (isObject(value)) return { arguments: value as JsonObject };
    const what = Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`;
    return { problem: `arguments are a JSON object, and this is ${what}` };
  } catch (error) {
    return { problem: `this is not JSON: ${error instanceof Error ? error.message : String(error)}` };
  }
}

function askAgain(text: string): Reply {
  return { type: 'ask', stage: 'choose', ...(text !== '' && { problem: `\`${text}\` is none of these` }) };
}
