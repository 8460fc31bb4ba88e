// What a hook is told of calls that wait for a person.
import type { DecidedCall, WaitingCall } from './approvals.ts';
import type { JsonObject } from './json.ts';

/**
 * What happened: the call began to wait; its reminder was due; a person, or the spec at the deadline, decided; nobody did in
 * time; the turn ended meanwhile.
 */
export type ApprovalEventType = 'waiting' | 'reminder' | 'decided' | 'expired' | 'cancelled';

/** One event of one call, as a hook gets it. */
export interface ApprovalEvent {
  readonly type: ApprovalEventType;
  /** The same whenever this event is told again: `<approval id>:<digest>:<type>`. */
  readonly eventId: string;
  /** What `longshore approvals approve` takes. */
  readonly approvalId: string;
  readonly workflowId: string;
  readonly session: string;
  /** The agent's name. */
  readonly agent: string;
  /** As it waits, large arguments read from the store. */
  readonly call: WaitingCall;
  readonly arguments: JsonObject;
  /** With type `decided`. */
  readonly decided?: DecidedCall;
  /** When it happened, by the Workflow's clock; milliseconds since 1970. */
  readonly at: number;
}
