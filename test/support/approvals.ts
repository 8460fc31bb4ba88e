// Decides on waiting calls of a turn as any client would: by the Query for what waits and the Update that decides.
import { WorkflowUpdateFailedError, type Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import {
  RESOLVE_APPROVAL_UPDATE,
  type ApprovalDecision,
  type ResolveApprovalInput,
  type ResolveApprovalResult,
  type WaitingCall,
} from '../../shared/approvals.ts';
import type { StartedTurn, World } from './turn-world.ts';

/** Waits until so many calls wait on record, and gives them. */
export async function waitingCalls(turn: StartedTurn, count = 1): Promise<readonly WaitingCall[]> {
  const look = async (): Promise<readonly WaitingCall[]> => (await turn.state()).waiting ?? [];
  return eventually(look, (waiting) => waiting.length === count);
}

/** Looks again and again until it sees what is wanted. */
export async function eventually<T>(
  look: () => Promise<T>,
  isWanted: (seen: T) => boolean,
  timeoutMs = 20_000,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (isWanted(seen)) return seen;
    if (Date.now() > end) throw new Error(`After ${timeoutMs} ms there is still ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The one call that waits. */
export async function waitingCall(turn: StartedTurn): Promise<WaitingCall> {
  const [call] = await waitingCalls(turn, 1);
  if (!call) throw new Error('nothing waits');
  return call;
}

/** A turn, and the client that leads to it. */
export interface Addressed {
  readonly client: Client;
  readonly workflowId: string;
}

/** A turn of a world. */
export function at({ client }: Pick<World, 'client'>, { workflowId }: Pick<StartedTurn, 'workflowId'>): Addressed {
  return { client, workflowId };
}

/** Sends a decision on a call as it was shown. */
export function decide(
  turn: Addressed,
  call: Pick<WaitingCall, 'callKey' | 'digest'>,
  decision: ApprovalDecision | ApprovalDecision['type'],
  more: Partial<ResolveApprovalInput> & { readonly execution?: string } = {},
): Promise<ResolveApprovalResult> {
  const { execution = turn.workflowId, ...rest } = more;
  const input: ResolveApprovalInput = {
    workflowId: turn.workflowId,
    callKey: call.callKey,
    digest: call.digest,
    // Only decisions that need nothing more are named by their type.
    decision: typeof decision === 'string' ? ({ type: decision } as ApprovalDecision) : decision,
    approver: 'ann@test',
    ...rest,
  };
  return turn.client.workflow
    .getHandle(execution)
    .executeUpdate<ResolveApprovalResult, [ResolveApprovalInput]>(RESOLVE_APPROVAL_UPDATE, { args: [input] });
}

/** Why a decision was refused: type, message, mend and present state. */
export async function refusalOf(decision: Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    await decision;
  } catch (error) {
    if (!(error instanceof WorkflowUpdateFailedError) || !(error.cause instanceof ApplicationFailure)) throw error;
    const { type, message, nonRetryable, details } = error.cause;
    return { type, message, nonRetryable, ...(details?.[0] as object) };
  }
  throw new Error('the decision was accepted');
}
