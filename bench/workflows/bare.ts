// The Workflow that every comparison starts from: the same two Activities a step, and nothing else.
import { proxyActivities } from '@temporalio/workflow';

interface BareActivities {
  bareModel(step: number): Promise<{ text: string; calls: number }>;
  bareTool(step: number): Promise<string>;
}

const { bareModel, bareTool } = proxyActivities<BareActivities>({ startToCloseTimeout: '1m', heartbeatTimeout: '10s' });

/** Alternates model and tool until the model asks for no more. */
export async function bareTurn(): Promise<string> {
  for (let step = 0; ; step++) {
    const answer = await bareModel(step);
    if (answer.calls === 0) return answer.text;
    await bareTool(step);
  }
}
