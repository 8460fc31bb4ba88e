// What the model reads in place of a result that a person did not allow, did not give in time, or gave in words of their own.
// Denial, expiry and cancellation are three things and do not read like one another. Source: architecture D9.
import type { DecidedCall } from './approvals.ts';
import type { JsonObject } from './json.ts';
import { spoken, type SpokenResult } from './results.ts';

/** A tool by its names. */
interface Named {
  readonly server: string;
  readonly tool: string;
}

/** Arguments shown in a note, at most. */
const SHOWN_ARGUMENTS = 1_000;

/** What is known of a call that a person was asked about and that was not made: it may have been made before. */
export type MadeBefore =
  /** It is to be made again, at a person's wish. */
  | 'again'
  /** A part of the turn that a reset, or a Workflow's retry, cut off had sent it. */
  | 'cut-off';

function notMade(before: MadeBefore | undefined): string {
  switch (before) {
    case undefined:
      return 'It was not made, and nothing was changed.';
    case 'again':
      return 'It was not made again; what it did the first time stands.';
    case 'cut-off':
      return 'It was not made now, but it had been sent before, in a part of this turn that was reset since: what it did then may stand.';
  }
}

/** A person denied the call, or the spec did so at its deadline. */
export function deniedCall(call: Named, decided: DecidedCall, before?: MadeBefore): SpokenResult {
  if (decided.byDeadline) {
    const what = `Nobody decided in time on this call of ${named(call)}, and the agent spec denies it then.`;
    return spoken('denied', `${what} ${notMade(before)}\n${AFTER_DENIAL}`);
  }
  const why = decided.reason === undefined ? 'No reason was given.' : `Reason: ${decided.reason}`;
  return spoken('denied', `The user denied this call of ${named(call)}. ${notMade(before)} ${why}\n${AFTER_DENIAL}`);
}

/** The same call as one that was denied before: nobody is asked again. */
export function deniedBefore(call: Named, decided: DecidedCall, before?: MadeBefore): SpokenResult {
  const why = decided.reason === undefined ? '' : ` Reason then: ${decided.reason}`;
  const what = `This same call of ${named(call)} was denied before, as ${decided.callKey}; nobody was asked again.`;
  return spoken('denied', `${what} ${notMade(before)}${why}\n${AFTER_DENIAL}`);
}

const AFTER_DENIAL = 'Asked for again unchanged, it is denied again: go on without it, or ask for something else.';

/** Nobody decided in time. `deadlineMs` as the spec has it. */
export function expiredWait(call: Named, deadlineMs: number, before?: MadeBefore): SpokenResult {
  const text =
    `Nobody decided on this call of ${named(call)} within ${durationText(deadlineMs)}, so that it expired. ${notMade(before)} ` +
    'That is not a refusal: it may be asked for again if it is still needed.';
  return spoken('expired', text);
}

/** The turn ended while the call waited. */
export function cancelledWait(call: Named, why: 'turn' | 'wall-time', before?: MadeBefore): SpokenResult {
  const reason = why === 'turn' ? 'The turn was cancelled' : "The turn's budget of wall time ran out";
  return spoken('cancelled', `${reason} while this call of ${named(call)} waited for a person. ${notMade(before)}`);
}

/** The wait could not be recorded, so that nobody could be asked. */
export function unrecordedWait(call: Named, problem: string, before?: MadeBefore): SpokenResult {
  return spoken('error', `Nobody could be asked about this call of ${named(call)}: ${problem}. ${notMade(before)}`);
}

/** Approved at last, but the turn was cancelled in the same moment. */
export function cancelledApproved(call: Named, before?: MadeBefore): SpokenResult {
  return spoken('cancelled', `The turn was cancelled before this call of ${named(call)} was made. ${notMade(before)}`);
}

/** A person's answer to a question. */
export function answeredQuestion(text: string): SpokenResult {
  return spoken('ok', text.trim() === '' ? '(an empty answer)' : text);
}

/** A person does not want to answer. */
export function declinedQuestion(decided: DecidedCall): SpokenResult {
  const why = decided.reason === undefined ? '' : ` Reason: ${decided.reason}`;
  return spoken('denied', `The user does not answer this question.${why} Do not ask it again; go on without it.`);
}

/** Nobody answered in time. */
export function expiredQuestion(deadlineMs: number): SpokenResult {
  return spoken(
    'expired',
    `Nobody answered within ${durationText(deadlineMs)}. Go on without, or ask again if you must.`,
  );
}

/** An unknown outcome on which a person decided; `run-again` has a result of its own. */
export function settledOutcome(
  call: Named,
  { choice, known, decided }: { choice: 'done' | 'give-up'; known: string; decided: DecidedCall },
): SpokenResult {
  const why = decided.reason === undefined ? '' : ` They say: ${decided.reason}`;
  if (choice === 'done') {
    const text = `The user confirms that this call of ${named(call)} took effect; its own answer is lost. Do not repeat it.${why}`;
    return spoken('ok', text);
  }
  return spoken('unknown', `${known}\nThe user was asked and gave it up: it is not sent again.${why}`);
}

/** An unknown outcome on which nobody decided in time, or at all. */
export function undecidedOutcome(known: string): SpokenResult {
  return spoken('unknown', `${known}\nA person was asked what became of it, and nobody said.`);
}

/** Told before the result of a call that ran with other arguments than the model's. */
export function changedArgumentsNote(changed: { readonly arguments: JsonObject; readonly isLarge: boolean }): string {
  const text = JSON.stringify(changed.arguments);
  if (changed.isLarge)
    return '[The user changed the arguments before approving: the call ran with theirs, which are too large to show.]';
  const shown = text.length <= SHOWN_ARGUMENTS ? text : `${text.slice(0, SHOWN_ARGUMENTS).toWellFormed()}…`;
  return `[The user changed the arguments before approving. The call ran with: ${shown}]`;
}

function named({ server, tool }: Named): string {
  return `\`${tool}\` on server \`${server}\``;
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
];

/** As a spec would write it: `72h` is `3d`. */
function durationText(durationMs: number): string {
  const [size, unit] = UNITS.find(([milliseconds]) => durationMs % milliseconds === 0) ?? [1, 'ms'];
  return `${durationMs / size}${unit}`;
}
