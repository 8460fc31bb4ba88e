// From a call that waits for a person to its one result: denied, expired, cancelled, answered, or run as the person allowed.
// What waits and what runs is lent from outside, so that this is tried without Temporal.
import type { ProposedCall } from '../../shared/activities.ts';
import type { ApprovalSettings, DecidedCall, WaitingCall } from '../../shared/approvals.ts';
import {
  answeredQuestion,
  cancelledApproved,
  cancelledWait,
  changedArgumentsNote,
  declinedQuestion,
  deniedBefore,
  deniedCall,
  expiredQuestion,
  expiredWait,
  settledOutcome,
  undecidedOutcome,
  unrecordedWait,
  type MadeBefore,
} from '../../shared/approval-texts.ts';
import { outcomeOf, type SettledCall, type SpokenResult } from '../../shared/results.ts';
import type { ApprovalDesk } from './desk.ts';
import type { ChangedArguments, WaitEnd } from './wait.ts';
import { waitForAnswer, waitForApproval, waitForOutcome } from './waiting-call.ts';

/** What a gated call is settled with. */
export interface Asking {
  readonly desk: Pick<ApprovalDesk, 'wait' | 'tellEnds' | 'grants' | 'denials' | 'changedCalls' | 'madeBefore'>;
  /** Of a call that is to be made again: who wishes it, and why. */
  readonly again?: NonNullable<WaitingCall['again']>;
  readonly settings: ApprovalSettings;
  /** Whether the turn is cancelled, so that nothing may be begun. */
  readonly isCancelled: () => boolean;
  /** Makes the call. */
  readonly run: (call: ProposedCall, generation: number) => Promise<SettledCall>;
}

type Decided = Extract<WaitEnd, { type: 'decided' }>;

/** A call that the spec gates by this selector. Never rejects. */
export function settleGated(call: ProposedCall, selector: string, asking: Asking): Promise<SettledCall> {
  const { desk, settings, again } = asking;
  const denied = desk.denials.get(call.argumentsDigest);
  if (denied) {
    const spoken = deniedBefore(call, denied, desk.madeBefore(denied.callKey));
    return Promise.resolve({ call, result: { spoken }, decided: denied });
  }
  const grant = desk.grants.find(call, Date.now());
  if (grant) {
    const { approver, grantedAt: decidedAt } = grant;
    const { callKey, argumentsDigest: digest } = call;
    const reason = 'for the rest of the session';
    const decided = { callKey, decision: 'approve', decidedAt, repeated: false, approver, reason, digest } as const;
    return runApproved(call, decided, asking);
  }
  return desk
    .wait(waitForApproval(call, selector, { since: Date.now(), settings, ...(again && { again }) }))
    .then((end) => settleAsked(call, end, asking));
}

function settleAsked(call: ProposedCall, end: WaitEnd, asking: Asking): Promise<SettledCall> | SettledCall {
  const { desk, settings } = asking;
  const before = desk.madeBefore(call.callKey);
  if (end.type !== 'decided') return { call, result: { spoken: undecided(call, end, { settings, before }) } };
  const { decision, decided, changed } = end;
  if (decision.type === 'deny') return deny(call, end, asking, deniedCall(call, decided, before));
  if (decision.type === 'approve' && decision.forSession) desk.grants.add(call, decided);
  if (!changed) return runApproved(call, decided, asking);
  const runs = withArguments(call, changed);
  desk.changedCalls.set(call.callKey, runs);
  return runApproved(runs, decided, asking).then((settled) => ({ ...settled, call, note: noteOf(runs) }));
}

/** What the model is told of a call that ran with a person's arguments. */
export function noteOf({ arguments: args, argumentsRef }: ProposedCall): string {
  return changedArgumentsNote({ arguments: args, isLarge: argumentsRef !== undefined });
}

/** `ask_user_question`: the answer is the result. Never rejects. */
export async function settleQuestion(call: ProposedCall, asking: Asking): Promise<SettledCall> {
  const { desk, settings } = asking;
  const denied = desk.denials.get(call.argumentsDigest);
  if (denied) return { call, result: { spoken: declinedQuestion(denied) }, decided: denied };
  const end = await desk.wait(waitForAnswer(call, { since: Date.now(), settings }));
  if (end.type === 'expired') return { call, result: { spoken: expiredQuestion(settings.deadlineMs ?? 0) } };
  if (end.type !== 'decided') return { call, result: { spoken: undecided(call, end, { settings }) } };
  const { decision, decided } = end;
  if (decision.type !== 'answer') return deny(call, end, asking, declinedQuestion(decided));
  return { call, result: { spoken: answeredQuestion(decision.text) }, decided };
}

/** Runs a call that a person allowed; an unknown outcome is theirs to judge, and it is never sent again unasked. */
async function runApproved(call: ProposedCall, decided: DecidedCall, asking: Asking): Promise<SettledCall> {
  let standing = decided;
  for (let generation = 0; ; generation += 1) {
    if (asking.isCancelled()) {
      return {
        call,
        result: { spoken: cancelledApproved(call, asking.desk.madeBefore(call.callKey)) },
        decided: standing,
      };
    }
    const running = asking.run(call, generation);
    asking.desk.tellEnds();
    const settled = { ...(await running), decided: standing, generation };
    if (outcomeOf(settled) !== 'unknown') return settled;
    const known = wordsOf(settled);
    const { desk, settings } = asking;
    const frame = { since: Date.now(), settings };
    const end = await desk.wait(waitForOutcome(call, { generation, known }, frame));
    if (end.type !== 'decided') return { ...settled, result: { spoken: undecidedOutcome(known) } };
    standing = end.decided;
    const choice = end.decision.type === 'outcome' ? end.decision.choice : 'give-up';
    if (choice === 'run-again') continue;
    const spoken = settledOutcome(call, { choice, known, decided: standing });
    return { call, result: { spoken }, decided: standing, generation };
  }
}

function deny(call: ProposedCall, { decided }: Decided, { desk }: Asking, words: SpokenResult): SettledCall {
  desk.denials.set(call.argumentsDigest, decided);
  return { call, result: { spoken: words }, decided };
}

function undecided(
  call: ProposedCall,
  end: Exclude<WaitEnd, Decided>,
  { settings, before }: { readonly settings: ApprovalSettings; readonly before?: MadeBefore | undefined },
): SpokenResult {
  switch (end.type) {
    case 'expired':
      return expiredWait(call, settings.deadlineMs ?? 0, before);
    case 'cancelled':
      return cancelledWait(call, end.why, before);
    case 'unrecorded':
      return unrecordedWait(call, end.problem, before);
  }
}

function withArguments(call: ProposedCall, changed: ChangedArguments): ProposedCall {
  const { argumentsRef: _theModels, ...rest } = call;
  const { arguments: args, argumentsRef, digest } = changed;
  return { ...rest, arguments: args, argumentsDigest: digest, ...(argumentsRef && { argumentsRef }) };
}

function wordsOf({ result }: SettledCall): string {
  return 'spoken' in result ? result.spoken.text : (result.facts.inlineText ?? 'The outcome of this call is unknown.');
}
