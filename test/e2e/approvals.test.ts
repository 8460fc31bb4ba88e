// Calls that wait for a person, on the real dev server: decisions, refusals, deadlines, and what the model is told.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RESOLVE_APPROVAL_UPDATE, type ResolveApprovalInput, type ResolveApprovalResult, type WaitingCall } from '../../shared/approvals.ts';
import { deskOf, reader, writer } from '../support/local-tools.ts';
import { inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type StartedTurn, type World } from '../support/turn-world.ts';

const ran: string[] = [];
const desk = deskOf(
  writer('change', ({ n }) => {
    ran.push(`change ${String(n)}`);
    return `changed ${String(n)}`;
  }),
  reader('echo', ({ text }) => String(text)),
);
const gated = { mcp_servers: [{ name: 'desk', preload: true }] };
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

async function waiting(turn: StartedTurn, count: number): Promise<readonly WaitingCall[]> {
  const end = Date.now() + 20_000;
  for (;;) {
    const state = await turn.state();
    if ((state.waiting?.length ?? 0) >= count) return state.waiting ?? [];
    if (Date.now() > end) throw new Error(`waiting for ${count} calls: ${JSON.stringify(state)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function decide(turn: StartedTurn, call: WaitingCall, decision: ResolveApprovalInput['decision'], more: Partial<ResolveApprovalInput> = {}) {
  const input = { workflowId: turn.workflowId, callKey: call.callKey, digest: call.digest, decision, approver: 'ann@test', ...more };
  return world.client.workflow
    .getHandle(turn.workflowId)
    .executeUpdate<ResolveApprovalResult, [ResolveApprovalInput]>(RESOLVE_APPROVAL_UPDATE, { args: [input] });
}

describe('three calls in one step', () => {
  it('[ASK-1] ask-1: the approved one runs once, the denied one is told why, the free one runs at once; in call order', async () => {
    const toolCalls = [call('change', { n: 1 }), call('change', { n: 2 }), call('echo', { text: 'free' })];
    const turn = await world.start(gated, { text: 'All three.', script: inOrder({ toolCalls }, { text: 'done' }) });
    const [first, second] = await waiting(turn, 2);
    expect(await turn.state()).toMatchObject({ status: 'waiting' });
    await decide(turn, second!, { type: 'deny' }, { reason: 'not today' });
    await decide(turn, first!, { type: 'approve' });
    const { result, requests, history } = await turn.ended();
    expect(result.status).toBe('completed');
    expect(toolTexts(requests[1])).toEqual(['changed 1', expect.stringContaining('not today'), 'free']);
    expect(ran).toEqual(['change 1']);
  });
});
