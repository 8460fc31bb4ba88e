// What waits for a person, and how each wait ended: the pure core of approvals. Every wait ends once; what ended it first
// stands. No promise, timer or message is known here.
import type {
  ApprovalDecision,
  DecidedCall,
  ResolveApprovalInput,
  ResolveApprovalResult,
  WaitingCall,
} from '../../shared/approvals.ts';
import { digestOf } from '../../shared/digest.ts';
import { canonicalJson } from '../../shared/json.ts';
import { conflicting, notFound, over, stale, wrongKind, type Refusal } from './refusals.ts';
import type { ChangedArguments, Wait, WaitEnd } from './wait.ts';

/** What becomes of a decision: it would stand, it stands already, or it is refused. */
type Judgement =
  | { readonly type: 'open'; readonly wait: Wait }
  | { readonly type: 'repeat'; readonly result: ResolveApprovalResult }
  | { readonly type: 'refuse'; readonly refusal: Refusal };

/** All waits of a turn. A call may wait more than once, each time under a digest of its own. */
export class WaitingCalls {
  private readonly waits = new Map<string, Wait>();

  /** Begins a wait. One after another of the same call gets a digest of its own, so that no earlier decision fits it. */
  begin(asked: WaitingCall): Wait {
    let call = asked;
    while (this.knows(call.callKey, call.digest)) call = { ...call, digest: digestOf(['again', call.digest]) };
    const wait: Wait = { call };
    this.waits.set(keyOf(call), wait);
    return wait;
  }

  /** What has no end yet, in the order in which it began. */
  open(): readonly WaitingCall[] {
    return [...this.waits.values()].filter((wait) => !wait.end).map((wait) => wait.call);
  }

  /** Whether this call waits, or waited, under this digest. */
  knows(callKey: string, digest: string): boolean {
    return this.waits.has(keyOf({ callKey, digest }));
  }

  /** What would become of a decision that comes at this time; changes nothing. */
  judge(input: ResolveApprovalInput, at: number): Judgement {
    const waits = [...this.waits.values()].filter(({ call }) => call.callKey === input.callKey);
    if (waits.length === 0) return { type: 'refuse', refusal: notFound(input, this.open()) };
    const wait = waits.find(({ call }) => call.digest === input.digest);
    if (!wait) return { type: 'refuse', refusal: stale(input, waits.at(-1)) };
    if (wait.end) return judgeEnded(wait, input);
    const { expiresAt, kind } = wait.call;
    // The timer may not have fired yet: what counts is the time.
    if (expiresAt !== null && at >= expiresAt) {
      return { type: 'refuse', refusal: over({ call: wait.call, end: { type: 'expired', at: expiresAt } }) };
    }
    if (!takes(kind, input.decision)) return { type: 'refuse', refusal: wrongKind(wait.call, input.decision) };
    return { type: 'open', wait };
  }

  /** Ends a wait by a decision, if it is open; the judgement says whether it was. */
  decide(input: ResolveApprovalInput, at: number, changed?: ChangedArguments): Judgement | ResolveApprovalResult {
    const judged = this.judge(input, at);
    if (judged.type !== 'open') return judged;
    const { call } = judged.wait;
    const isChanged = changed !== undefined && changed.digest !== call.digest && !isSame(call, changed);
    const { decision, approver, reason } = input;
    const result = { callKey: call.callKey, decision: decision.type, decidedAt: at, repeated: false };
    const decided: DecidedCall = {
      ...result,
      approver,
      digest: call.digest,
      ...(reason !== undefined && { reason }),
      ...(isChanged && { changedDigest: changed.digest }),
      ...(decision.type === 'outcome' && { choice: decision.choice }),
    };
    judged.wait.end = { type: 'decided', decision, decided, ...(isChanged && { changed }) };
    return result;
  }

  /** How a wait ended; undefined while it is open. */
  endOf(call: WaitingCall): WaitEnd | undefined {
    return this.waits.get(keyOf(call))?.end;
  }

  /** Ends a wait without a person; what ended it before stands. */
  end(call: WaitingCall, end: WaitEnd): void {
    const wait = this.waits.get(keyOf(call));
    if (wait && !wait.end) wait.end = end;
  }

  /** Ends a wait as the spec says for its deadline. A question cannot be approved, and no outcome is decided unasked. */
  lapse(call: WaitingCall, at: number): void {
    const type = call.onDeadline === 'expire' || call.kind === 'outcome' ? null : call.onDeadline;
    if (type === null || (call.kind === 'question' && type === 'approve'))
      return this.end(call, { type: 'expired', at });
    const { callKey, digest } = call;
    const approver = `on_deadline: ${type}`;
    const result = { callKey, decision: type, decidedAt: at, repeated: false };
    this.end(call, { type: 'decided', decision: { type }, decided: { ...result, approver, digest, byDeadline: true } });
  }

  /** Notes that an earlier run of the turn had sent these calls, for as long as they wait. */
  sentBefore(callKeys: readonly string[]): void {
    for (const wait of this.waits.values()) {
      if (!wait.end && callKeys.includes(wait.call.callKey)) wait.call = { ...wait.call, sentBefore: true };
    }
  }

  /** The last wait of a call, ended or not. */
  last(callKey: string): WaitingCall | undefined {
    return [...this.waits.values()].findLast(({ call }) => call.callKey === callKey)?.call;
  }

  /** Notes that the reminder was due. */
  remind(call: WaitingCall, at: number): void {
    const wait = this.waits.get(keyOf(call));
    if (wait && !wait.end) wait.call = { ...wait.call, remindedAt: at };
  }
}

function keyOf({ callKey, digest }: Pick<WaitingCall, 'callKey' | 'digest'>): string {
  return `${callKey} ${digest}`;
}

/** The same decision sent twice is one, whoever sends it. */
function judgeEnded({ call, end }: Wait, input: ResolveApprovalInput): Judgement {
  if (
    end?.type === 'decided' &&
    canonicalJson(plain(end.decision, call)) === canonicalJson(plain(input.decision, call))
  ) {
    const { callKey, decision, decidedAt } = end.decided;
    return { type: 'repeat', result: { callKey, decision, decidedAt, repeated: true } };
  }
  const wait = { call, ...(end && { end }) };
  return { type: 'refuse', refusal: end?.type === 'decided' ? conflicting(wait) : over(wait) };
}

/** A decision in the fewest words: arguments that are the call's own change nothing. */
function plain(decision: ApprovalDecision, call: WaitingCall): ApprovalDecision {
  if (decision.type !== 'approve') return decision;
  const { arguments: args, forSession } = decision;
  const isOwn = args === undefined || (!call.argumentsRef && canonicalJson(args) === canonicalJson(call.arguments));
  return { type: 'approve', ...(!isOwn && { arguments: args }), ...(forSession === true && { forSession }) };
}

/** A call that waits once more has a digest of its own, whatever its arguments are. Large ones are compared by their blobs. */
function isSame(call: WaitingCall, changed: ChangedArguments): boolean {
  if (call.argumentsRef || changed.argumentsRef) return call.argumentsRef?.sha256 === changed.argumentsRef?.sha256;
  return canonicalJson(call.arguments) === canonicalJson(changed.arguments);
}

function takes(kind: WaitingCall['kind'], { type }: ApprovalDecision): boolean {
  switch (kind) {
    case 'approval':
      return type === 'approve' || type === 'deny';
    case 'question':
      return type === 'answer' || type === 'deny';
    case 'outcome':
      return type === 'outcome';
  }
}
