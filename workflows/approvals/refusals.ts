// Why a decision is refused: the error's type, what the call's state is now, and the mend. Pure.
import type { ApprovalDecision, ResolveApprovalInput, WaitingCall } from '../../shared/approvals.ts';
import { withoutStop } from '../../shared/errors.ts';
import type { Wait, WaitEnd } from './wait.ts';

/** A refused decision, as the error of the Update says it. `state` is one word for programs. */
export interface Refusal {
  readonly type: 'ApprovalNotFound' | 'ApprovalStale' | 'ApprovalConflict' | 'ApprovalExpired' | 'ApprovalInvalid';
  readonly message: string;
  readonly mend: string;
  readonly state: string;
}

/** As many waiting calls are named in a refusal. */
const NAMED_CALLS = 10;

/** Nothing of that key waits, or ever did. */
export function notFound({ callKey, workflowId }: ResolveApprovalInput, open: readonly WaitingCall[]): Refusal {
  const names = open.slice(0, NAMED_CALLS).map((call) => `${call.callKey} (${call.server}.${call.tool})`);
  const more = open.length > names.length ? ` and ${open.length - names.length} more` : '';
  const waiting = names.length === 0 ? 'Nothing waits there now' : `Waiting there now: ${names.join(', ')}${more}`;
  return {
    type: 'ApprovalNotFound',
    message: `Call \`${callKey}\` of turn \`${workflowId}\` does not wait for a person, and did not before. ${waiting}`,
    mend: 'See what waits with `longshore approvals list`.',
    state: 'unknown',
  };
}

/** The decision is for another turn than any that this Workflow runs. */
export function otherTurn({ workflowId, callKey }: ResolveApprovalInput, turns: readonly string[]): Refusal {
  return {
    type: 'ApprovalNotFound',
    message: `The decision is for call \`${callKey}\` of turn \`${workflowId}\`, and this is ${turns.map((turn) => `\`${turn}\``).join(', ')}`,
    mend: 'An approval belongs to one call of one turn: look up what waits here, and decide on that.',
    state: 'unknown',
  };
}

/** The call waits, or waited, with another digest than the one shown. */
export function stale({ callKey, digest }: ResolveApprovalInput, wait: Wait | undefined): Refusal {
  const now = wait ? `; it ${stateText(wait)}` : '';
  return {
    type: 'ApprovalStale',
    message: `Call \`${callKey}\` is not the one that was shown: its digest is ${wait?.call.digest ?? 'another'}, not ${digest}${now}`,
    mend: 'Look at the call as it is now, and decide on that.',
    state: wait ? stateOf(wait) : 'unknown',
  };
}

/** Another decision stands. */
export function conflicting(wait: Wait): Refusal {
  return {
    type: 'ApprovalConflict',
    message: `Call \`${wait.call.callKey}\` is decided: it ${stateText(wait)}`,
    mend: 'The first decision stands. To change course, send the agent a message in a further turn.',
    state: stateOf(wait),
  };
}

/** The deadline has passed, or the turn ended, before anybody decided. */
export function over(wait: Wait): Refusal {
  return {
    type: 'ApprovalExpired',
    message: `Call \`${wait.call.callKey}\` does not wait any more: it ${stateText(wait)}`,
    mend: 'The agent may ask for it again. More time is given by config.approvals.deadline.',
    state: stateOf(wait),
  };
}

/** A decision that does not fit what is asked. */
export function wrongKind({ callKey, kind }: WaitingCall, { type }: ApprovalDecision): Refusal {
  const wanted = {
    approval: ['an approval', 'approve or deny it'],
    question: ['an answer', 'answer it, or deny it'],
    outcome: ['what became of it', 'say run-again, done or give-up'],
  } as const;
  const [what, how] = wanted[kind];
  return {
    type: 'ApprovalInvalid',
    message: `Call \`${callKey}\` waits for ${what}, and \`${type}\` is none`,
    mend: `To decide on it, ${how}.`,
    state: 'waiting',
  };
}

/** A decision that has not the form of one. */
export function malformed(problem: string): Refusal {
  return {
    type: 'ApprovalInvalid',
    message: `This is no decision that can be taken: ${problem}`,
    mend: 'See what a decision may hold with `longshore approvals approve --help`, or in the reference.',
    state: 'unknown',
  };
}

/** Changed arguments that the tool's schema does not take. */
export function unfitArguments({ callKey, tool }: WaitingCall, problem: string): Refusal {
  return {
    type: 'ApprovalInvalid',
    message: `The changed arguments do not fit the schema of \`${tool}\`: ${withoutStop(problem)}. Call \`${callKey}\` waits on`,
    mend: 'Mend the arguments, or approve the call as it is.',
    state: 'waiting',
  };
}

/** A decision that would stand in history and change nothing, or may yet be refused. */
export function noRoom({ callKey }: ResolveApprovalInput, problem: string, stands: boolean): Refusal {
  const now = stands ? 'The same decision stands already' : 'The call waits on';
  return {
    type: 'ApprovalInvalid',
    message: `This decision on call \`${callKey}\` is not taken: ${problem}. ${now}`,
    mend: stands
      ? 'Nothing: it needs no second sending.'
      : 'Approve the call as it is, or deny it with a reason that says what to change.',
    state: stands ? 'decided' : 'waiting',
  };
}

/** What a call's state is now, in words. */
export function stateText({ call, end }: Wait): string {
  if (!end) return `waits since ${timeText(call.since)}`;
  return `was ${stateOf({ call, end })} ${byWhom(end)}at ${timeText(end.type === 'decided' ? end.decided.decidedAt : end.at)}`;
}

function byWhom(end: WaitEnd): string {
  if (end.type === 'decided') return `by ${end.decided.approver} `;
  return end.type === 'cancelled' && end.why === 'wall-time' ? 'by the budget of wall time ' : '';
}

function stateOf({ end }: Wait): string {
  if (!end) return 'waiting';
  if (end.type !== 'decided') return end.type;
  const words = { approve: 'approved', deny: 'denied', answer: 'answered', outcome: 'settled' } as const;
  return words[end.decision.type];
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}
