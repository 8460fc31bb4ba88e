// A call that waits for a person, and how the wait ended.
import type { ApprovalDecision, DecidedCall, WaitingCall } from '../../shared/approvals.ts';
import type { BlobRef } from '../../shared/file-store.ts';
import type { JsonObject } from '../../shared/json.ts';

/** Arguments that a person put in place of the model's, as they were checked. Empty when large: then the reference has them. */
export interface ChangedArguments {
  readonly arguments: JsonObject;
  readonly argumentsRef?: BlobRef;
  readonly digest: string;
}

/** How a wait ended. Times are milliseconds since 1970, of the Workflow's clock. */
export type WaitEnd =
  | {
      readonly type: 'decided';
      readonly decision: ApprovalDecision;
      readonly decided: DecidedCall;
      readonly changed?: ChangedArguments;
    }
  | { readonly type: 'expired'; readonly at: number }
  | { readonly type: 'cancelled'; readonly at: number; readonly why: 'turn' | 'wall-time' }
  /** The pause could not be recorded, so that nobody can be asked. */
  | { readonly type: 'unrecorded'; readonly at: number; readonly problem: string };

/** A wait with its end, once it has one. */
export interface Wait {
  call: WaitingCall;
  end?: WaitEnd;
}
