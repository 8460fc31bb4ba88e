// Recordings of turns with deferred tools: found and called, gated, and changed in mid-turn.
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { at, decide, waitingCall, waitingCalls } from '../support/approvals.ts';
import { action, BULK, createShop, lookup, wrapped, type ShopState } from '../support/shop.ts';
import { inOrder } from '../support/turn-history.ts';
import type { World } from '../support/turn-world.ts';

const TOOLS = [lookup('get_order'), lookup('list_orders', {}), action('refund'), ...BULK];
const AFTER = [
  lookup('get_order', { number: { type: 'string' } }),
  lookup('list_orders', {}),
  action('refund', { number: { type: 'string' } }),
  ...BULK,
];
const STATES: Readonly<Record<string, ShopState>> = {
  shop: { tools: TOOLS },
  moving: { tools: [lookup('publish', {}), ...TOOLS], next: { tools: AFTER } },
};

/** The servers of these recordings, as a configuration has them; what they need stands in the folder. */
export function shopEntries(folder: string): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Object.entries(STATES).map(([name, state]) => [name, createShop(folder, name, state).entry]),
  );
}

const gated = (...names: readonly string[]) => ({
  mcp_servers: names.map((name) => ({ name })),
  config: { approvals: {} },
});

/** Each by the name of its history. */
export const DEFERRED_RECORDINGS: Readonly<Record<string, (world: World) => Promise<History>>> = {
  async 'deferred-found'(world) {
    const wrong = wrapped('shop', 'get_order', { id: 'seven' });
    const turn = await world.run(gated('shop', 'moving'), {
      workflowId: 'turn-deferred-found',
      script: inOrder(
        { toolCalls: [{ name: 'search_tools', arguments: { query: 'get order' } }, wrong] },
        { toolCalls: [wrapped('shop', 'get_order', { id: 7 }), wrong, wrapped('shop', 'get_odrer', { id: 7 })] },
        { text: 'found' },
      ),
    });
    return turn.history;
  },
  async 'deferred-gated'(world) {
    const turn = await world.start(gated('shop'), {
      workflowId: 'turn-deferred-gated',
      text: 'Go on.',
      script: inOrder(
        { toolCalls: [wrapped('shop', 'refund', { id: 1 }), wrapped('shop', 'refund', { id: 2 })] },
        { toolCalls: [{ name: 'shop__refund', arguments: { id: 2 } }] },
        { text: 'asked' },
      ),
    });
    const [first, second] = await waitingCalls(turn, 2);
    if (!first || !second) throw new Error('nothing waits');
    await decide(at(world, turn), first, { type: 'approve', arguments: { id: 11 } });
    await decide(at(world, turn), second, 'deny');
    return (await turn.ended()).history;
  },
  async 'deferred-changed'(world) {
    const turn = await world.start(gated('moving'), {
      workflowId: 'turn-deferred-changed',
      text: 'Go on.',
      script: inOrder(
        { toolCalls: [wrapped('moving', 'publish', {}), wrapped('moving', 'refund', { id: 1 })] },
        { toolCalls: [wrapped('moving', 'get_order', { number: 'A-1' }), wrapped('moving', 'list_orders')] },
        { text: 'changed' },
      ),
    });
    const waiting = await waitingCall(turn);
    // The list has changed before the approved call is made.
    while ((await turn.state()).openCalls.length > 1) await new Promise((resolve) => setTimeout(resolve, 20));
    await decide(at(world, turn), waiting, 'approve');
    return (await turn.ended()).history;
  },
};
