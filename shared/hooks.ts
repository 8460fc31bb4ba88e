// What a project is told while its turns run. Hooks run in Activities, never in Workflow code.
import type { ApprovalEvent } from './approval-events.ts';

/**
 * A hook for approvals.
 * Contract: told at least once of each event, several times after a failure, so that it goes by `eventId`; it ends within 30 s,
 * when the signal aborts; what it throws is tried again five times in all, then logged, and never fails the turn.
 */
export type ApprovalHook = (event: ApprovalEvent, context: { readonly signal: AbortSignal }) => void | Promise<void>;

/** What a project is told while its turns run. */
export interface LongshoreHooks {
  readonly onApproval?: ApprovalHook;
}
