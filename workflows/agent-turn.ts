// The Workflow `longshoreAgentTurn`, and the same turn run in line inside a user's own Workflow.
import { defineQuery, setHandler, workflowInfo } from '@temporalio/workflow';
import { TURN_STATE_QUERY, type AgentTurnInput, type AgentTurnResult, type TurnState } from '../shared/turn.ts';
import { showEnd } from './approvals/attributes.ts';
import { Turn } from './run-turn.ts';

/** Where a turn stands; answered by `longshoreAgentTurn`. */
export const turnStateQuery = defineQuery<TurnState>(TURN_STATE_QUERY);

/**
 * One turn of an agent, from a user's message to the answer. Every way it can end is a result (`status`), cancellation
 * included: a cancelled turn completes with status `cancelled`, so that its transcript can be continued.
 * Input: see `AgentTurnInput`; build it with `turnInput` of `longshore/client`.
 */
export function longshoreAgentTurn(input: AgentTurnInput): Promise<AgentTurnResult> {
  const turn = new Turn(input, workflowInfo().workflowId);
  setHandler(turnStateQuery, () => turn.state());
  return turn.run((status) => showEnd(status, input));
}

let inlineTurns = 0;

/**
 * Runs a turn in line, as part of the calling Workflow: its Activities stand in the caller's history.
 * `id` must be unique among the turns of the calling Workflow. @default `<workflow id>~1`, `~2`, … in order of calls.
 * When the calling scope is cancelled, the turn ends with status `cancelled`; it does not throw.
 */
export async function runAgentTurn(
  input: AgentTurnInput,
  options: { readonly id?: string } = {},
): Promise<AgentTurnResult> {
  inlineTurns += 1;
  const { workflowId } = workflowInfo();
  return new Turn(input, `${workflowId}~${options.id ?? inlineTurns}`).run();
}
