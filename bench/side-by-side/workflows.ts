// The two bare Workflows: one that keeps nothing but what its two Activities answer, and one that carries the whole
// conversation through every model call, as an integration does that keeps it in the Workflow.
import { proxyActivities } from '@temporalio/workflow';
import type { RequestMessage } from '../../shared/model.ts';

/** What a model Activity answers. */
export interface BareAnswer {
  readonly text: string;
  readonly calls: readonly { readonly callId: string; readonly name: string }[];
}

/** The Activities of both. */
export interface BareActivities {
  /** Asks with the conversation that the Worker has in memory. */
  minimalModel(model: string): Promise<BareAnswer>;
  /** Asks with the conversation it is given. */
  naiveModel(model: string, messages: readonly RequestMessage[]): Promise<BareAnswer>;
  barePage(page: number): Promise<string>;
}

const { minimalModel, naiveModel, barePage } = proxyActivities<BareActivities>({ startToCloseTimeout: '1m' });

/** Alternates model and tool until the model asks for no more. */
export async function minimalTurn(model: string): Promise<string> {
  for (let page = 0; ; page++) {
    const answer = await minimalModel(model);
    if (answer.calls.length === 0) return answer.text;
    await barePage(page);
  }
}

/** The same, with the conversation in the Workflow. */
export async function naiveTurn(model: string): Promise<string> {
  const messages: RequestMessage[] = [{ role: 'user', parts: [{ type: 'text', text: 'Go on.' }] }];
  for (let page = 0; ; page++) {
    const answer = await naiveModel(model, messages);
    const [call] = answer.calls;
    if (!call) return answer.text;
    messages.push(...stepOf(call, await barePage(page), page));
  }
}

/** What a step adds to the conversation. */
export function stepOf(
  call: { readonly callId: string; readonly name: string },
  text: string,
  page: number,
): RequestMessage[] {
  const { callId, name } = call;
  return [
    { role: 'assistant', text: '', reasoning: [], toolCalls: [{ callId, name, input: { page } }] },
    { role: 'tool', results: [{ callId, name, isError: false, text, images: [] }] },
  ];
}
