// A user's own workflows module: Longshore's Workflow is re-exported, since TypeScript plugins cannot ship Workflows.
import { executeChild, workflowInfo } from '@temporalio/workflow';
import { runAgentTurn, type AgentSpec, type AgentTurnResult } from 'longshore/workflow';

export { longshoreAgentTurn } from 'longshore/workflow';

/** What the order desk is asked. */
export interface OrderQuestion {
  readonly spec: AgentSpec;
  readonly orderId: string;
}

/** A Workflow of the user's own that asks an agent twice: once as a child, once in line. */
export async function reviewOrder({ spec, orderId }: OrderQuestion): Promise<{ child: string; inline: string }> {
  const message = { type: 'user.message' as const, content: `Where is order ${orderId}?` };
  const input = { version: 1 as const, spec, message };
  // As a child: a history, an id and a cancellation of its own; seen by `longshore turns list`.
  const asChild: AgentTurnResult = await executeChild('longshoreAgentTurn', {
    workflowId: `${workflowInfo().workflowId}-agent`,
    args: [input],
  });
  // In line: the turn's Activities stand in this Workflow's own history.
  const inline = await runAgentTurn(input);
  return { child: asChild.answer ?? asChild.status, inline: inline.answer ?? inline.status };
}
