// What people read of calls that wait for them: what is asked, since when and until when, and how to decide.
import type { AskedCall } from '../client/asked-calls.ts';
import { approvalId, type WaitingCall, type WaitingKind } from '../shared/approvals.ts';
import { ownCommand } from './own-command.ts';
import type { Output } from './output.ts';

type Paint = Output['paint'];

/** As much of arguments stands in one line. */
const LINE_CHARACTERS = 90;

/** That a call waits, in one lasting line. */
export function waitingLine({ call }: AskedCall, paint: Paint): string {
  const { callKey, server, tool, selector } = call;
  const key = paint('cyan', callKey);
  switch (call.kind) {
    case 'approval': {
      const gate = selector === undefined ? '' : paint('dim', ` (gated by ${selector})`);
      return `  ${key} ${paint('yellow', 'waits for a decision')}: ${server}.${tool}${gate}`;
    }
    case 'question':
      return `  ${key} ${paint('yellow', 'asks')}: ${visible(call.question?.text ?? 'a long question')}`;
    case 'outcome':
      return `  ${key} ${paint('yellow', 'has an unknown outcome')}: ${server}.${tool}; ${visible(call.known ?? '')}`;
  }
}

/** That a person decided, in one lasting line. */
export function decidedLine({ call, decisions }: AskedCall, paint: Paint): string {
  const last = decisions.at(-1);
  const key = paint('cyan', call.callKey);
  if (!last) return `  ${key} decided`;
  const why = last.reason === undefined ? '' : `: ${last.reason}`;
  return `  ${key} ${decisionWords(last.decision, paint)} by ${visible(`${last.approver}${why}`)}`;
}

function decisionWords(decision: AskedCall['decisions'][number]['decision'], paint: Paint): string {
  switch (decision.type) {
    case 'approve': {
      const changed = decision.arguments ? ' with changed arguments' : '';
      const session = decision.forSession === true ? ' for the rest of the session' : '';
      return paint('green', `approved${changed}${session}`);
    }
    case 'deny':
      return paint('red', 'denied');
    case 'answer':
      return paint('green', 'answered');
    case 'outcome':
      return paint('green', decision.choice);
  }
}

/** The commands that decide on one id, a line each. */
export function decideCommands(id: string, kind: WaitingKind): readonly string[] {
  const command = `${ownCommand()} approvals`;
  const named = shellWord(id);
  const reason = '--reason "…"';
  switch (kind) {
    case 'approval':
      return [`${command} approve ${named}`, `${command} deny ${named} ${reason}`];
    case 'question':
      return [`${command} answer ${named} "…"`, `${command} deny ${named} ${reason}`];
    case 'outcome':
      return ['--run-again', '--done', '--give-up'].map((choice) => `${command} resolve ${named} ${choice}`);
  }
}

/** Without a terminal to ask in: how each call is decided on from elsewhere, and on which server a program finds them. */
export function elsewhereLines(
  calls: readonly AskedCall[],
  server: { readonly address: string; readonly namespace: string },
): readonly string[] {
  const commands = calls.flatMap(({ turn, call }) => {
    const id = approvalId(turn.workflowId, call.callKey);
    return [`${ownCommand()} approvals show ${shellWord(id)}`, ...decideCommands(id, call.kind)];
  });
  return [
    'The turn waits. Decide from another terminal, with the same LONGSHORE_HOME:',
    ...commands.map((command) => `  ${command}`),
    `or from a program through longshore/client, on the Temporal server ${server.address}, namespace ${server.namespace}.`,
  ];
}

/** How long something waits, and how long it still may. */
export function timesText({ since, expiresAt }: Pick<WaitingCall, 'since' | 'expiresAt'>, nowMs: number): string {
  const waited = `waits for ${spanText(nowMs - since)}`;
  if (expiresAt === null) return `${waited}, without a deadline`;
  const left = expiresAt - nowMs;
  return left > 0 ? `${waited}, expires in ${spanText(left)}` : `${waited}; its deadline passed ${spanText(-left)} ago`;
}

/** A span of time in two units at most: `3 d 4 h`. Less than a second is `0 s`, also where a clock runs behind. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3_600) % 24, (seconds / 60) % 60].map(Math.floor);
  if (days) return `${days} d${hours ? ` ${hours} h` : ''}`;
  if (hours) return `${hours} h${minutes ? ` ${minutes} min` : ''}`;
  return minutes ? `${minutes} min` : `${seconds} s`;
}

/** Arguments in one line. */
export function shortArguments(args: unknown, characters = LINE_CHARACTERS): string {
  const text = visible(JSON.stringify(args));
  return text.length <= characters ? text : `${text.slice(0, characters - 1).toWellFormed()}…`;
}

/**
 * Text of a model or a tool as it may stand on a terminal: what would move the cursor, colour, hide or turn text round is
 * shown as its code, so that what a person reads is what will run.
 */
export function visible(text: string): string {
  return text.replaceAll(HIDING, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xff_ff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** Control, format and private characters, line separators; a line break and a tab are plain. */
const HIDING = /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu;

/** Ids come from people too, who may put anything in them. */
function shellWord(text: string): string {
  return /^[\w:.~@/-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
