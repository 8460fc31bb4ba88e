// A turn's input and result, and what one can ask of it while it runs.
import type { AgentSpec } from './agent-spec.ts';
import type { ApprovalGrant, WaitingCall } from './approvals.ts';
import type { ContinueFrom } from './activities.ts';
import type { ErrorRecord } from './errors.ts';
import type { BlobRef } from './file-store.ts';
import type { UserMessage } from './messages.ts';

/** Workflow types on the wire. */
export const AGENT_TURN_WORKFLOW = 'longshoreAgentTurn';
/** The Query for a turn's state. */
export const TURN_STATE_QUERY = 'longshoreTurnState';
/** @default Task Queue of turns and their Activities. */
export const DEFAULT_TASK_QUEUE = 'longshore';

/** Input of `longshoreAgentTurn`. Everything that decides is frozen here. */
export interface AgentTurnInput {
  readonly version: 1;
  readonly spec: AgentSpec;
  /** Added after the spec's seed messages; absent when those suffice. */
  readonly message?: UserMessage;
  /** @default the session of `continueFrom`, else the Workflow's id */
  readonly session?: string;
  readonly continueFrom?: ContinueFrom;
  /** Whether the Search Attributes of Longshore are registered. @default false */
  readonly searchAttributes?: boolean;
  /** Whether `LongshoreRemindedAt` is registered too. @default false */
  readonly reminderAttribute?: boolean;
  /** Set by clients that know of deferral; in histories from before everything is preloaded. */
  readonly deferral?: 1;
}

/** How a turn ends. */
export type TurnEnd = 'completed' | 'failed' | 'cancelled' | 'iteration_limit' | 'budget';

/** Every state of a turn. */
export type TurnStatus = TurnEnd | 'waiting' | 'running';

/** Result of `longshoreAgentTurn`, for every way it can end. */
export interface AgentTurnResult {
  readonly status: TurnEnd;
  /** The model's last words; null when it had none, or when they are above 128 KiB and `answerRef` has them. */
  readonly answer: string | null;
  readonly answerRef?: BlobRef;
  readonly error: ErrorRecord | null;
  readonly session: string;
  /** The turn's ordinal in its chain. */
  readonly turn: number;
  /** Where another turn may go on; null when nothing was said. */
  readonly head: BlobRef | null;
  readonly steps: number;
  /** What a person allowed for the rest of the session; absent when nothing. */
  readonly grants?: readonly ApprovalGrant[];
}

/** Answer of the Query `longshoreTurnState`. */
export interface TurnState {
  readonly status: TurnStatus;
  readonly session: string;
  readonly turn: number;
  readonly step: number;
  readonly head: BlobRef | null;
  /** Calls that have no result yet. */
  readonly openCalls: readonly string[];
  /** What waits for a person; absent when nothing does. */
  readonly waiting?: readonly WaitingCall[];
}
