// Recordings of turns that waited for a person: decided, expired, cancelled, answered, two at once.
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { at, decide, eventually, waitingCall, waitingCalls } from '../support/approvals.ts';
import { inOrder } from '../support/turn-history.ts';
import type { StartedTurn, World } from '../support/turn-world.ts';

const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });
const change = (n: number) => call('change', { n });
const gated = (approvals: Record<string, unknown> = {}) => ({
  mcp_servers: [{ name: 'desk', preload: true }],
  config: { approvals },
});

/** Each by the name of its history; they use the tools of `record.ts`. */
export const APPROVAL_RECORDINGS: Readonly<Record<string, (world: World) => Promise<History>>> = {
  async 'ask-approved-and-denied'(world) {
    const toolCalls = [call('report'), change(1), change(2), call('echo', { text: 'free' })];
    const turn = await start(world, 'approved-and-denied', gated(), toolCalls);
    const [first, second] = await waitingCalls(turn, 2);
    if (!first || !second) throw new Error('nothing waits');
    await Promise.all([decide(at(world, turn), first, 'approve'), decide(at(world, turn), second, 'deny')]);
    return (await turn.ended()).history;
  },
  /** As above, by turns that begin the call before they tell of the decision, where nobody is to be told. */
  async 'ask-call-first'(world) {
    const turn = await start(world, 'call-first', gated(), [call('report'), change(1), change(2)]);
    const [first, second] = await waitingCalls(turn, 2);
    if (!first || !second) throw new Error('nothing waits');
    await decide(at(world, turn), first, 'approve');
    await decide(at(world, turn), second, 'approve');
    return (await turn.ended()).history;
  },
  async 'ask-one-after-another'(world) {
    const turn = await start(world, 'one-after-another', gated(), [change(1), change(2)]);
    const [first, second] = await waitingCalls(turn, 2);
    if (!first || !second) throw new Error('nothing waits');
    await decide(at(world, turn), second, { type: 'approve', forSession: true });
    await waitingCalls(turn, 1);
    await decide(at(world, turn), first, 'approve');
    return (await turn.ended()).history;
  },
  async 'ask-expired'(world) {
    const spec = gated({ remind_after: '1s', deadline: '2s' });
    return (await (await start(world, 'expired', spec, [change(1)])).ended()).history;
  },
  async 'ask-changed-arguments'(world) {
    const turn = await start(world, 'changed-arguments', gated({ deadline: '1h' }), [change(1)]);
    await decide(at(world, turn), await waitingCall(turn), { type: 'approve', arguments: { n: 7 } });
    return (await turn.ended()).history;
  },
  async 'ask-question'(world) {
    const question = { name: 'ask_user_question', arguments: { question: 'Which pier?', options: ['North', 'South'] } };
    const turn = await start(world, 'question', gated(), [question]);
    await decide(at(world, turn), await waitingCall(turn), { type: 'answer', text: 'North' });
    return (await turn.ended()).history;
  },
  async 'ask-cancelled'(world) {
    const turn = await start(world, 'cancelled', gated({ deadline: '1h' }), [change(1), call('report')]);
    await waitingCall(turn);
    await eventually(
      () => turn.state(),
      (state) => state.openCalls.length === 1,
    );
    await turn.cancel();
    return (await turn.ended()).history;
  },
};

function start(
  world: World,
  name: string,
  spec: Record<string, unknown>,
  toolCalls: readonly ReturnType<typeof call>[],
): Promise<StartedTurn> {
  const script = inOrder({ toolCalls }, { text: 'done' });
  return world.start(spec, { workflowId: `turn-ask-${name}`, text: 'Go on.', script });
}
