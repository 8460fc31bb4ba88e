// The sandbox-safe entry `longshore/workflow`: what a user's own workflows module re-exports and calls.
export { longshoreAgentTurn, runAgentTurn, turnStateQuery } from './agent-turn.ts';
export { longshoreRetentionSweep } from './retention-sweep.ts';
export type { AgentTurnInput, AgentTurnResult, TurnEnd, TurnState, TurnStatus } from '../shared/turn.ts';
export { resolveApprovalUpdate } from './approvals/handler.ts';
export type { AgentSpec } from '../shared/agent-spec.ts';
export type { UserMessage, UserPart } from '../shared/messages.ts';
export type { RetentionSweepInput, RetentionSweepResult } from '../shared/sweep.ts';
