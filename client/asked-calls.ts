// What a history says of the calls that people were asked about: what the last pause shows of each, the decisions that stand,
// and whether it still waits. Grows event by event, as part of a turn's record; needs no Worker.
import type { NotifyInput, PauseRecord, TurnIdentity } from '../shared/activities.ts';
import {
  approvalId,
  RESOLVE_APPROVAL_UPDATE,
  type ApprovalDecision,
  type ResolveApprovalInput,
  type ResolveApprovalResult,
  type WaitingCall,
} from '../shared/approvals.ts';
import { isObject } from '../shared/json.ts';

/** A decision that stands, as its Update said it. */
export interface DecisionRecord {
  readonly decision: ApprovalDecision;
  readonly digest: string;
  /** What the caller claimed to be; not verified. */
  readonly approver: string;
  readonly reason?: string;
  /** Milliseconds since 1970, of the Workflow's clock. */
  readonly decidedAt: number;
}

/** A call that a person was or is asked about. */
export interface AskedCall {
  /** The turn that asks: its id is that of the execution, or of a turn in line inside it. */
  readonly turn: TurnIdentity;
  /** As the newest pause shows it. */
  call: WaitingCall;
  /** In order; more than one where the outcome of an approved call was asked for too. */
  readonly decisions: DecisionRecord[];
  /** `decided` until the call has its result, then `ended`. */
  state: 'waiting' | 'decided' | 'ended';
}

/** Builds the record of asked calls, by their ids. */
export class AskedCalls {
  readonly byId = new Map<string, AskedCall>();
  private readonly accepted = new Map<string, ResolveApprovalInput>();

  /** Takes a pause in; gives what waits now and did not before. */
  addPause(turn: TurnIdentity, pause: PauseRecord): readonly AskedCall[] {
    const listed = new Set(pause.waiting.map((call) => approvalId(turn.workflowId, call.callKey)));
    // A pause shows all that waits: what it leaves out was settled without an Update, by a deadline or a cancellation.
    for (const asked of this.waiting()) {
      const id = approvalId(asked.turn.workflowId, asked.call.callKey);
      if (asked.turn.workflowId === turn.workflowId && !listed.has(id)) asked.state = 'ended';
    }
    return pause.waiting.flatMap((call) => {
      const id = approvalId(turn.workflowId, call.callKey);
      const known = this.byId.get(id);
      const isNew = known?.state !== 'waiting' || known.call.kind !== call.kind;
      const asked: AskedCall = known ?? { turn, call, decisions: [], state: 'waiting' };
      asked.call = call;
      asked.state = 'waiting';
      this.byId.set(id, asked);
      return isNew ? [asked] : [];
    });
  }

  /** Takes in that an earlier run of the turn had sent these calls. */
  addSentBefore(turn: TurnIdentity, callKeys: readonly string[]): void {
    for (const callKey of callKeys) {
      const asked = this.byId.get(approvalId(turn.workflowId, callKey));
      if (asked) asked.call = { ...asked.call, sentBefore: true };
    }
  }

  /** Takes in that an Update was accepted; `eventId` is what its completion refers to. */
  addAccepted(eventId: string, name: string | null | undefined, input: unknown): void {
    if (name !== RESOLVE_APPROVAL_UPDATE || !isObject(input)) return;
    // Written by our own client, and taken by the Workflow's validator.
    this.accepted.set(eventId, input as unknown as ResolveApprovalInput);
  }

  /** Whether the completion of an accepted Update is a decision. */
  isDecision(acceptedEventId: string): boolean {
    return this.accepted.has(acceptedEventId);
  }

  /** Takes in what an accepted Update came to; gives the call it decided, or null where the decision stood already. */
  addDecided(acceptedEventId: string, result: ResolveApprovalResult): AskedCall | null {
    const input = this.accepted.get(acceptedEventId);
    const asked = input && this.byId.get(approvalId(input.workflowId, input.callKey));
    if (!asked || result.repeated) return null;
    const { decision, digest, approver, reason } = input;
    const decidedAt = result.decidedAt;
    asked.decisions.push({ decision, digest, approver, decidedAt, ...(reason !== undefined && { reason }) });
    asked.state = 'decided';
    return asked;
  }

  /** Takes in what hooks are told; it is told of a reminder always, of ends only where there is a hook. */
  addNotice({ turn, event, calls, at }: NotifyInput): void {
    for (const { call } of calls) {
      const asked = this.byId.get(approvalId(turn.workflowId, call.callKey));
      if (asked?.call.digest !== call.digest || asked.state !== 'waiting') continue;
      if (event === 'reminder') asked.call = { ...asked.call, remindedAt: at };
      if (event === 'expired' || event === 'cancelled') asked.state = 'ended';
    }
  }

  /** Takes in that a call is made: it waits no longer. */
  addStarted(workflowId: string, callKey: string): void {
    const asked = this.byId.get(approvalId(workflowId, callKey));
    if (asked?.state === 'waiting') asked.state = 'decided';
  }

  /** Takes in that a call has its result. */
  addEnded(workflowId: string, callKey: string): void {
    const asked = this.byId.get(approvalId(workflowId, callKey));
    if (asked) asked.state = 'ended';
  }

  /** Takes in that the execution closed: nothing waits any more. */
  close(): void {
    for (const asked of this.waiting()) asked.state = 'ended';
  }

  /** What waits now. */
  waiting(): readonly AskedCall[] {
    return [...this.byId.values()].filter((asked) => asked.state === 'waiting');
  }
}
