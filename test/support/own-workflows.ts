// A user's own workflows module: Longshore's Workflow re-exported beside Workflows that use turns in line and as children.
import {
  CancellationScope,
  executeChild,
  isCancellation,
  proxyActivities,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { runAgentTurn, type AgentTurnInput, type AgentTurnResult } from '../../workflows/index.ts';

export { longshoreAgentTurn, longshoreRetentionSweep } from '../../workflows/index.ts';

const { greet } = proxyActivities<{ greet(name: string): Promise<string> }>({ startToCloseTimeout: '10 seconds' });

/** A Workflow that has nothing to do with agents. */
export async function greeting(name: string): Promise<string> {
  await sleep(1);
  return greet(name);
}

/** One turn as a child, one in line. */
export async function childAndInline(
  input: AgentTurnInput,
): Promise<{ child: AgentTurnResult; inline: AgentTurnResult }> {
  const child: AgentTurnResult = await executeChild('longshoreAgentTurn', {
    workflowId: `${workflowInfo().workflowId}-agent`,
    args: [input],
  });
  return { child, inline: await runAgentTurn(input) };
}

/** Two turns in line at once. */
export async function twoInline(input: AgentTurnInput): Promise<readonly AgentTurnResult[]> {
  return Promise.all([runAgentTurn(input), runAgentTurn(input)]);
}

/** A turn in line whose scope is cancelled by the caller's clock. */
export async function inlineCancelled(input: AgentTurnInput): Promise<AgentTurnResult> {
  const scope = new CancellationScope();
  const turn = scope.run(() => runAgentTurn(input));
  await sleep(500);
  scope.cancel();
  return turn.catch((error: unknown) => {
    if (isCancellation(error)) throw new Error('a cancelled turn is a result, not a throw');
    throw error;
  });
}
