// The entry `longshore/client`: start, watch, read, list, cancel and continue turns; see and decide what waits; check specs.
export {
  cancelTurn,
  describeTurn,
  listTurns,
  readTurn,
  startTurn,
  turnInput,
  watchTurn,
  type StartTurnOptions,
  type TurnListing,
} from './turns.ts';
export {
  getApproval,
  listApprovals,
  type Approval,
  type ApprovalDetails,
  type ListApprovalsOptions,
} from './approvals.ts';
export {
  answer,
  approve,
  deny,
  resolveOutcome,
  type ApproveOptions,
  type DecideOptions,
  type Decision,
  type OutcomeChoice,
} from './decide.ts';
export { resetTurn, type ResetOptions, type ResetTurn } from './reset.ts';
export { retryCall, type RetriedCall, type RetryCallOptions } from './retry-call.ts';
export type { DecisionView, WaitingView } from './decision-view.ts';
export type { DiscoveryView } from './discovery-view.ts';
export type { StepView, ToolCallView, TurnView } from './turn-view.ts';
export type { TurnNews, TurnRecord } from './turn-record.ts';
export { checkSpec, parseSpecText, type SpecCheck, type SpecFault } from '../shared/spec-check.ts';
export type { AgentSpec } from '../shared/agent-spec.ts';
export type { UserMessage, UserPart } from '../shared/messages.ts';
