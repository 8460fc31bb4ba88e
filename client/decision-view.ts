// What waits and what was decided, in the form in which programs meet a call of a turn.
import { approvalId, type ApprovalDecision, type WaitingKind } from '../shared/approvals.ts';
import type { JsonObject } from '../shared/json.ts';
import type { AskedCall, DecisionRecord } from './asked-calls.ts';

/** A decision that a person made, or the deadline in a person's place. */
export interface DecisionView {
  readonly decision: ApprovalDecision['type'];
  /** What the caller claimed to be; not verified. */
  readonly approver: string;
  readonly decidedAt: string;
  readonly reason: string | null;
  /** The arguments that were put in place of the model's. */
  readonly changedArguments?: JsonObject;
  /** Set where the tool was allowed for the rest of the session. */
  readonly forSession?: true;
  /** The text of an answer. */
  readonly answer?: string;
  /** The choice on an unknown outcome. */
  readonly choice?: 'run-again' | 'done' | 'give-up';
}

/** What a call waits for. */
export interface WaitingView {
  /** For `longshore approvals`. */
  readonly id: string;
  readonly kind: WaitingKind;
  readonly since: string;
  readonly expiresAt: string | null;
}

/** What a call waits for, towards programs. */
export function waitingView({ turn, call }: AskedCall): WaitingView {
  const { callKey, kind, since, expiresAt } = call;
  const id = approvalId(turn.workflowId, callKey);
  return { id, kind, since: isoTime(since), expiresAt: expiresAt === null ? null : isoTime(expiresAt) };
}

/** A decision towards programs. */
export function decisionView({ decision, approver, decidedAt, reason }: DecisionRecord): DecisionView {
  const base = { decision: decision.type, approver, decidedAt: isoTime(decidedAt), reason: reason ?? null };
  switch (decision.type) {
    case 'approve': {
      const { arguments: changedArguments, forSession } = decision;
      return { ...base, ...(changedArguments && { changedArguments }), ...(forSession === true && { forSession }) };
    }
    case 'answer':
      return { ...base, answer: decision.text };
    case 'outcome':
      return { ...base, choice: decision.choice };
    case 'deny':
      return base;
  }
}

/** Milliseconds since 1970 as ISO 8601 in UTC. */
export function isoTime(time: number): string {
  return new Date(time).toISOString();
}
