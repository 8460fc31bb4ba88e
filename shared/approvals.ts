// What waits for a person, and what a person decides: names on the wire, forms, and the digest a decision is bound to.
// Source: architecture D9.
import type { BlobRef } from './file-store.ts';
import type { ToolTag } from './catalog.ts';
import type { JsonObject } from './json.ts';

/** The Update that decides on one waiting call. */
export const RESOLVE_APPROVAL_UPDATE = 'longshoreResolveApproval';
/** The Update that asks for a distrusted result anew. */
export const RETRY_CALL_UPDATE = 'longshoreRetryCall';

/** What is asked: may this run, a question of the agent, or what became of an approved call whose outcome is unknown. */
export type WaitingKind = 'approval' | 'question' | 'outcome';

/** What happens at a deadline. @default expire */
export type OnDeadline = 'expire' | 'deny' | 'approve';

/** Deadlines of approvals as the spec sets them, in milliseconds; absent means without one. */
export interface ApprovalSettings {
  readonly deadlineMs?: number;
  readonly remindAfterMs?: number;
  readonly onDeadline: OnDeadline;
  /** How long "for the rest of the session" holds at most. @default DEFAULT_GRANT_FOR_MS */
  readonly grantForMs?: number;
}

/** @default of `config.approvals.grant_for`, 24 hours: as long as a person may still know what they allowed. */
export const DEFAULT_GRANT_FOR_MS = 86_400_000;

/** What a decision may carry: characters of who decides, of a reason and of an answer; bytes of changed arguments. */
export const DECISION_LIMITS = {
  approver: 200,
  reason: 4_000,
  answer: 10_000,
  argumentBytes: 1_000_000,
  /** Levels in each other: Temporal's converters go down into them, as does all that reads them. */
  argumentDepth: 500,
  workflowId: 1_000,
  callKey: 200,
  digest: 200,
} as const;

/** As much of changed arguments may be refused in one turn, in bytes: each refusal stands in history twice, where it has no room for ever. */
export const REFUSED_ARGUMENT_BYTES = 4_000_000;

/** One call that waits for a person. Times are milliseconds since 1970, of the Workflow's clock. */
export interface WaitingCall {
  readonly kind: WaitingKind;
  readonly callKey: string;
  readonly server: string;
  readonly tool: string;
  /** Empty when they are large: then `argumentsRef` has them. */
  readonly arguments: JsonObject;
  readonly argumentsRef?: BlobRef;
  /**
   * What a decision must name: the digest of server, tool and canonical arguments. That of an outcome covers the generation
   * too, so that "run again" sent twice runs once.
   */
  readonly digest: string;
  readonly tags: readonly ToolTag[];
  /** The selector of the spec that gates the call; absent for questions and outcomes. */
  readonly selector?: string;
  readonly since: number;
  readonly expiresAt: number | null;
  readonly onDeadline: OnDeadline;
  /** Set once the reminder was due. */
  readonly remindedAt?: number;
  /** Sandbox paths that the arguments name. */
  readonly files: readonly string[];
  /** Of a question. */
  readonly question?: { readonly text: string; readonly options: readonly string[] };
  /** Of an outcome: what is known of the call, in words. */
  readonly known?: string;
  /** Of a call that was made already and is to be made again: who asked for that, and why. */
  readonly again?: { readonly by: string; readonly reason?: string };
  /** An earlier run of the turn, which a reset or a retry of the Workflow cut off, had sent this very call: what it did may stand. */
  readonly sentBefore?: true;
}

/** What a person decides. `arguments` replaces the call's own; `forSession` grants the tool for the rest of the session. */
export type ApprovalDecision =
  | { readonly type: 'approve'; readonly arguments?: JsonObject; readonly forSession?: boolean }
  | { readonly type: 'deny' }
  /** To a question. */
  | { readonly type: 'answer'; readonly text: string }
  /** To an unknown outcome: send it again, take it as done, or give it up. */
  | { readonly type: 'outcome'; readonly choice: 'run-again' | 'done' | 'give-up' };

/** Input of the Update `longshoreResolveApproval`. */
export interface ResolveApprovalInput {
  /** As the approval shown said: a decision belongs to one call of one turn. */
  readonly workflowId: string;
  readonly callKey: string;
  readonly digest: string;
  readonly decision: ApprovalDecision;
  readonly reason?: string;
  /** What the caller claims to be; not verified. At most 200 characters. */
  readonly approver: string;
}

/** Result of the Update: the decision that stands, the same one for the same decision sent twice. */
export interface ResolveApprovalResult {
  readonly callKey: string;
  readonly decision: ApprovalDecision['type'];
  readonly decidedAt: number;
  /** The same decision stood already. */
  readonly repeated: boolean;
}

/** A decision as history and record keep it. */
export interface DecidedCall extends ResolveApprovalResult {
  readonly approver: string;
  readonly reason?: string;
  /** Of a decision with changed arguments: the digest of what the model asked for, and of what ran. */
  readonly digest: string;
  readonly changedDigest?: string;
  /** Nobody decided: the spec's `on_deadline` did. `approver` says so too. */
  readonly byDeadline?: true;
  /** On an unknown outcome: what the person chose. */
  readonly choice?: 'run-again' | 'done' | 'give-up';
}

/** "Approve for the rest of the session": one tool of one server. Carried from turn to turn of a session. */
export interface ApprovalGrant {
  readonly server: string;
  readonly tool: string;
  readonly approver: string;
  readonly grantedAt: number;
  readonly expiresAt: number;
}

/** Input of the Update `longshoreRetryCall`. */
export interface RetryCallInput {
  /** The turn; needed only where a Workflow runs several in line. @default the Workflow's only turn */
  readonly workflowId?: string;
  readonly callKey: string;
  readonly by: string;
  readonly reason?: string;
}

/** Result of the Update: accepted; the generation that will be sent. */
export interface RetryCallResult {
  readonly callKey: string;
  readonly generation: number;
}

/**
 * The executions that may hold a turn: the one of its own id, else the Workflow that runs it in line as `<workflow id>~<name>`.
 * Ask for them in this order.
 */
export function executionsOfTurn(turnId: string): readonly string[] {
  const cut = turnId.lastIndexOf('~');
  return cut > 0 ? [turnId, turnId.slice(0, cut)] : [turnId];
}

/** The opaque id of a waiting call towards people: turn and call key. */
export function approvalId(workflowId: string, callKey: string): string {
  return `${workflowId}:${callKey.replaceAll('/', '.')}`;
}

/** The turn and call key of an id, or null for what is none. */
export function parseApprovalId(id: string): { readonly workflowId: string; readonly callKey: string } | null {
  const match = /^(.+):(t\d+\.\d+\.\d+)$/s.exec(id);
  const [, workflowId, key] = match ?? [];
  return workflowId === undefined || key === undefined ? null : { workflowId, callKey: key.replaceAll('.', '/') };
}
