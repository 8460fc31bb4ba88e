// Turns whose tools are not in the tool array: found, loaded when they are needed, called by every way, gated, changed in
// mid-turn; with real servers over stdio.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { resetTurn } from '../../client/reset.ts';
import { retryCall } from '../../client/retry-call.ts';
import type { CallModelInput, CallToolInput, JudgeCallInput, LoadCatalogInput } from '../../shared/activities.ts';
import type { AgentTurnResult } from '../../shared/turn.ts';
import { at, decide, refusalOf, waitingCall, waitingCalls } from '../support/approvals.ts';
import { action, BULK, createShop, lookup, wrapped, type Shop } from '../support/shop.ts';
import { activitiesOf, contentText, inOrder, resultsOf, toolTexts } from '../support/turn-history.ts';
import { createWorld, workflowBundle, type EndedTurn, type World } from '../support/turn-world.ts';
import type { WorldWorkerPlan } from '../support/world-worker.ts';

const ORDERS = [lookup('get_order'), lookup('list_orders', {}), action('refund'), lookup('secret')];
const SHOP = { tools: [...ORDERS, ...BULK] };
const NAMES = ['found', 'idle', 'early', 'gated', 'moving', 'growing', 'late', 'stuck', 'partly', 'shown'] as const;

let folder: string;
let shops: Readonly<Record<(typeof NAMES)[number], Shop>>;
let world: World;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'longshore-deferred-')));
  const made = NAMES.map((name) => [name, createShop(folder, name, SHOP)] as const);
  // Every name has its shop.
  shops = Object.fromEntries(made) as typeof shops;
  const mcpServers = Object.fromEntries(made.map(([name, { entry }]) => [name, entry]));
  world = await createWorld({ plugin: { mcp: { mcpServers } } });
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const free = (name: string, more: object = {}) => ({ name, require_approval_for_tools: [], ...more });
const loadsOf = ({ history }: Pick<EndedTurn, 'history'>) =>
  activitiesOf<LoadCatalogInput>(history, 'longshoreLoadCatalog').map(({ input }) => [input.server.name, input.reason]);
const callsOf = ({ history }: Pick<EndedTurn, 'history'>) =>
  activitiesOf<CallToolInput>(history, 'longshoreCallTool').map(({ input }) => input);
const outcomes = ({ view }: Pick<EndedTurn, 'view'>, step: number) =>
  view.steps[step]?.toolCalls.map(({ outcome }) => outcome);

describe.concurrent('a deferred tool', () => {
  it('[DISC-20] is found, called and answered, with one connection, one load and one tool array; a reset loads nothing anew', async () => {
    const search = { name: 'search_tools', arguments: { query: 'get order', mcp_server: 'found' } };
    const spec = { mcp_servers: [free('found'), free('idle')] };
    const turn = await world.run(spec, {
      script: ({ messages }) => {
        const told = messages.filter(({ role }) => role === 'tool').length;
        if (told === 0) return { toolCalls: [search] };
        return told === 1 ? { toolCalls: [wrapped('found', 'get_order', { id: 7 })] } : { text: 'found it' };
      },
    });
    expect(turn.result).toMatchObject({ status: 'completed', answer: 'found it' });
    const arrays = turn.requests.map(({ tools }) => JSON.stringify(tools));
    expect(new Set(arrays).size).toBe(1);
    expect(arrays[0]).toContain('call_tool');
    expect(arrays[0]).not.toContain('get_order');
    expect(contentText(turn.requests[0]?.messages[0])).toContain('- idle: The shop idle: orders and refunds.');
    expect(toolTexts(turn.requests[1])[0]).toMatch(/get_order.*id/);
    expect(toolTexts(turn.requests[2])[1]).toBe('get_order of {"id":7}\n');
    expect(loadsOf(turn)).toEqual([['found', 'discovery']]);
    expect(activitiesOf(turn.history, 'longshoreJudgeCall')).toHaveLength(0);
    expect(shops.found.log()).toEqual(['started', 'listed', 'called get_order {"id":7}']);
    expect(shops.idle.log()).toEqual([]);
    const models = activitiesOf<CallModelInput>(turn.history, 'longshoreCallModel').map(({ input }) => input);
    expect(models.map(({ catalogs = [] }) => catalogs.map(({ server }) => server))).toEqual([[], ['found'], ['found']]);
    expect(turn.view.steps[1]?.toolCalls[0]).toMatchObject({ server: 'found', tool: 'get_order', outcome: 'ok' });

    await resetTurn(world.client, turn.workflowId, { step: 1 });
    const handle = world.client.workflow.getHandle<() => Promise<AgentTurnResult>>(turn.workflowId);
    expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'found it' });
    expect(loadsOf({ history: await handle.fetchHistory() })).toEqual([['found', 'discovery']]);
  });

  it('[DISC-21] [LOAD-11] may be called before it is found, by every name, and is judged like any other', async () => {
    const disabled = { disable_tools: ['secret', 'list_orders'] };
    const workflowId = 'turn-called-early';
    const wrong = wrapped('early', 'get_order', { id: 'seven' });
    const turn = await world.start(
      { mcp_servers: [free('early', disabled)] },
      {
        text: 'Go.',
        script: async (_request, n) => {
          if (n === 0) {
            return {
              toolCalls: [
                wrapped('early', 'get_order', { id: 1, times: 1 }),
                wrapped('early', 'report_1', '{"id": 2}'),
                { name: 'early__get_order', arguments: { id: 3 } },
                { name: 'early.get_order', arguments: { id: 4 } },
                wrong,
                wrong,
                wrapped('early', 'secret', { id: 5 }),
                { name: 'early__secret', arguments: { id: 6 } },
                wrapped('erly', 'get_order', { id: 7 }),
              ],
            };
          }
          if (n === 1) {
            const info = { name: 'get_tool_info', arguments: { mcp_server: 'early', tool_name: 'secret' } };
            return {
              toolCalls: [
                wrong,
                wrapped('early', 'secret', { id: 5 }),
                info,
                { ...wrong, name: 'early__get_order', arguments: { id: 'seven' } },
              ],
            };
          }
          if (n === 2) await retryCall(world.client, workflowId, 't1/0/2');
          return { text: n === 2 ? 'too early' : 'done' };
        },
        workflowId,
      },
    );
    const ended = await turn.ended();
    expect(ended.result.status).toBe('completed');
    expect(loadsOf(ended)).toEqual([['early', 'call']]);
    const judged = activitiesOf<JudgeCallInput>(ended.history, 'longshoreJudgeCall').map(({ input }) => input.call);
    expect(judged.map(({ callKey }) => callKey)).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((index) => `t1/0/${index}`));
    const error = 'error';
    expect(outcomes(ended, 0)).toEqual([error, 'ok', 'ok', 'ok', error, error, error, error, error]);
    const [strange, report, direct, dotted, first, second, secret, hidden, server] = toolTexts(ended.requests[1]);
    expect(strange).toContain('times');
    expect([report, direct, dotted]).toEqual(
      [2, 3, 4].map((id) => `${id === 2 ? 'report_1' : 'get_order'} of {"id":${id}}\n`),
    );
    expect(first).toContain('"type":"integer"');
    expect(second).toMatch(/Refused: .*same call/);
    expect(second).not.toContain('integer');
    for (const text of [secret, hidden]) expect(text).toContain('has no tool "secret"');
    expect(server).toMatch(/no tool server "erly".*early/);
    const later = toolTexts(ended.requests[2]).slice(9);
    expect(later[0]).toContain('Refused: ');
    expect(later[1]).toContain('Refused: ');
    expect(later[2]).toMatch(/no tool "secret"/);
    expect(later[3]).toContain('Refused: ');
    expect(contentText(ended.requests[3]?.messages.at(-1))).toContain('get_order of {"id":3}');
    expect(shops.early.count('called get_order {"id":3}')).toBe(2);
    expect(shops.early.log().filter((line) => line.includes('secret'))).toEqual([]);
    expect(shops.early.count('listed')).toBe(1);
  });

  it('[DISC-22] called by call_tool is gated, changed, denied and placed as when called directly', async () => {
    const direct = { name: 'gated__refund', arguments: { id: 2 } };
    const turn = await world.start(
      { mcp_servers: [{ name: 'gated' }], config: { approvals: {} } },
      {
        text: 'Go.',
        script: inOrder(
          {
            toolCalls: [
              wrapped('gated', 'refund', { id: 1 }),
              wrapped('gated', 'refund', { id: 2 }),
              wrapped('gated', 'get_order', { id: 9 }),
            ],
          },
          { toolCalls: [direct, wrapped('gated', 'list_orders')] },
          { text: 'done' },
        ),
      },
    );
    const [first, second] = await waitingCalls(turn, 2);
    if (!first || !second) throw new Error('nothing waits');
    expect(first).toMatchObject({ server: 'gated', tool: 'refund', arguments: { id: 1 }, selector: '@write' });
    const unfit = decide(at(world, turn), first, { type: 'approve', arguments: { id: 'one' } });
    expect(await refusalOf(unfit)).toMatchObject({ type: 'ApprovalInvalid', state: 'waiting' });
    await decide(at(world, turn), first, { type: 'approve', arguments: { id: 11 } });
    await decide(at(world, turn), second, 'deny');
    const ended = await turn.ended();
    expect(outcomes(ended, 0)).toEqual(['ok', 'denied', 'ok']);
    expect(outcomes(ended, 1)).toEqual(['denied', 'ok']);
    expect(
      shops.gated
        .log()
        .filter((line) => line.startsWith('called'))
        .sort(),
    ).toEqual(['called get_order {"id":9}', 'called list_orders {}', 'called refund {"id":11}']);
    expect(loadsOf(ended)).toEqual([['gated', 'call']]);
    expect(callsOf(ended).every(({ checkSchema }) => checkSchema === true)).toBe(true);
    expect(shops.gated.count('listed')).toBe(1);
  });

  it('[DISC-23] of a server that was down is asked for again, and a cancelled turn waits for no listing', async () => {
    shops.late.become({ ...SHOP, isDown: true });
    shops.stuck.become({ ...SHOP, isHeld: true });
    const get = wrapped('late', 'get_order', { id: 1 });
    const list = { name: 'list_tools', arguments: { mcp_server: 'late' } };
    const stuck = [
      wrapped('stuck', 'get_order', { id: 1 }),
      { name: 'list_tools', arguments: { mcp_server: 'stuck' } },
    ];
    const turn = await world.start(
      { mcp_servers: [free('late'), free('stuck')] },
      {
        text: 'Go.',
        // A server that did not start is left alone for a second: until then the same calls are answered in the same way.
        script: ({ messages }, n) => {
          if (n > 0) shops.late.become(SHOP);
          const isBack = contentText(messages.findLast(({ role }) => role === 'tool')).includes('report_19');
          return { toolCalls: isBack ? stuck : [get, list] };
        },
      },
    );
    await vi.waitUntil(() => shops.stuck.count('listed') > 0, { timeout: 30_000 });
    await vi.waitUntil(async () => (await turn.state()).openCalls.length === 2, { timeout: 30_000 });
    await turn.cancel();
    const ended = await turn.ended();
    expect(ended.result.status).toBe('cancelled');
    const [called, listed] = toolTexts(ended.requests[1]);
    expect(called).toMatch(/server `late` is not available now/);
    expect(listed).toContain('late');
    const all = ended.view.steps.map((_, step) => outcomes(ended, step));
    expect(all.at(-1)).toEqual(['cancelled', 'cancelled']);
    expect(all.at(-2)).toEqual(['ok', 'ok']);
    expect(all.slice(0, -2).every((pair) => pair?.join() === 'error,error')).toBe(true);
    expect(all.length).toBeGreaterThan(2);
    const loads = loadsOf(ended);
    expect(loads).toEqual([...Array.from({ length: all.length - 1 }, () => ['late', 'call']), ['stuck', 'call']]);
    expect(contentText(ended.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool'))).not.toContain(
      'Refused',
    );
    expect(shops.stuck.log().filter((line) => line.startsWith('called'))).toEqual([]);
  });

  it('[DISC-24] of a selective server is found beside those that are shown, and a large result of it becomes a file of its name', async () => {
    const partly = free('partly', {
      preload_tools: ['get_order'],
      tool_settings: { report_3: { per_result_tokens: 500 } },
    });
    const big = { id: 4, times: 900 };
    shops.partly.become({
      tools: [...ORDERS, lookup('history', { id: { type: 'integer' }, times: { type: 'integer' } }), ...BULK],
    });
    const turn = await world.run(
      { mcp_servers: [partly] },
      {
        script: inOrder(
          {
            toolCalls: [
              { name: 'search_tools', arguments: { query: 'history' } },
              { name: 'partly__get_order', arguments: { id: 3 } },
            ],
          },
          { toolCalls: [wrapped('partly', 'history', big)] },
          { text: 'done' },
        ),
      },
    );
    const names = turn.requests[0]?.tools?.map((tool) => tool.function.name) ?? [];
    expect(names).toContain('partly__get_order');
    expect(names).toContain('search_tools');
    expect(names).not.toContain('partly__history');
    expect(outcomes(turn, 0)).toEqual(['ok', 'ok']);
    expect(toolTexts(turn.requests[1])[0]).toContain('history');
    expect(turn.view.steps[1]?.toolCalls[0]).toMatchObject({ placement: 'file', tool: 'history', server: 'partly' });
    expect(turn.view.steps[1]?.toolCalls[0]?.path).toMatch(/t1\.1\.0-history-[0-9a-f]{16}/);
    expect(loadsOf(turn)).toEqual([]);
    expect(shops.partly.count('listed')).toBe(1);
  });

  it('[DISC-25] that changed is answered with its new schema once; what is gone is told, and what is not affected goes on (srv-2)', async () => {
    const after = [
      lookup('get_order', { number: { type: 'string' } }),
      lookup('list_orders', {}),
      action('refund', { number: { type: 'string' } }),
    ];
    const next = { tools: [...after, lookup('new_tool'), ...BULK] };
    shops.moving.become({ tools: [action('publish', {}), ...SHOP.tools], next });
    const old = wrapped('moving', 'get_order', { id: 1 });
    const now = wrapped('moving', 'get_order', { number: 'A-1' });
    const spec = {
      mcp_servers: [{ name: 'moving', require_approval_for_tools: ['refund'] }],
      config: { approvals: {} },
    };
    const script = inOrder(
      { toolCalls: [wrapped('moving', 'publish', {}), wrapped('moving', 'refund', { id: 1 })] },
      { toolCalls: [old, now, wrapped('moving', 'list_orders'), wrapped('moving', 'secret', { id: 1 })] },
      { text: 'done' },
    );
    const turn = await world.start(spec, { text: 'Go.', script });
    const waiting = await waitingCall(turn);
    await vi.waitUntil(async () => (await turn.state()).openCalls.length === 1, { timeout: 20_000 });
    await decide(at(world, turn), waiting, 'approve');
    const ended = await turn.ended();
    expect(ended.result.status).toBe('completed');
    const [, refund, order, anew, listed, secret] = toolTexts(ended.requests[2]);
    expect(refund).toMatch(/Nothing was sent.*"number"/);
    expect(order).toContain('"number"');
    expect(anew).toBe('get_order of {"number":"A-1"}\n');
    expect(listed).toBe('list_orders of {}\n');
    expect(secret).toContain('secret');
    expect(outcomes(ended, 0)).toEqual(['ok', 'error']);
    expect(outcomes(ended, 1)).toEqual(['error', 'ok', 'ok', 'error']);
    expect(loadsOf(ended)).toEqual([
      ['moving', 'call'],
      ['moving', 'changed'],
    ]);
    const [, changed] = resultsOf(ended.history, 'longshoreLoadCatalog');
    expect(changed?.changedFrom).toMatch(/^[0-9a-f]{64}$/);
    const called = shops.moving.log().filter((line) => line.startsWith('called'));
    expect(called.slice(0, 1).concat(called.slice(1).toSorted())).toEqual([
      'called publish {}',
      'called get_order {"number":"A-1"}',
      'called list_orders {}',
    ]);
  });

  it('[DISC-25] that is new since its server said that its list has changed is found in the same turn', async () => {
    shops.growing.become({
      tools: [action('publish', {}), ...SHOP.tools],
      next: { tools: [...SHOP.tools, lookup('track_parcel', { parcel: { type: 'string' } })] },
    });
    const search = { name: 'search_tools', arguments: { query: 'track parcel', mcp_server: 'growing' } };
    const script = inOrder(
      { toolCalls: [wrapped('growing', 'publish', {})] },
      { toolCalls: [search] },
      { toolCalls: [wrapped('growing', 'track_parcel', { parcel: 'P-1' })] },
      { text: 'done' },
    );
    const turn = await world.run({ mcp_servers: [free('growing')] }, { script });
    expect(toolTexts(turn.requests[3]).slice(1)).toEqual([
      expect.stringContaining('track_parcel'),
      'track_parcel of {"parcel":"P-1"}\n',
    ]);
    expect(loadsOf(turn)).toEqual([
      ['growing', 'call'],
      ['growing', 'changed'],
    ]);
  });

  it('[DISC-25] of a preloaded server that changed before it was noticed: each tool is told once, and judged anew after', async () => {
    const shown = [lookup('get_order', { number: { type: 'string' } }), lookup('list_orders', {})];
    shops.shown.become({ tools: [action('publish', {}), ...SHOP.tools], next: { tools: shown } });
    const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `shown__${tool}`, arguments: args });
    const script = inOrder(
      { toolCalls: [call('publish')] },
      { toolCalls: [call('get_order', { id: 1 }), call('secret', { id: 1 }), call('list_orders')] },
      { toolCalls: [call('get_order', { number: 'A-2' }), call('get_order', { id: 1 }), call('secret', { id: 1 })] },
      { text: 'done' },
    );
    const turn = await world.run({ mcp_servers: [free('shown', { preload: true })] }, { script });
    const [, order, secret, listed, anew, wrong, gone] = toolTexts(turn.requests[3]);
    expect(order).toMatch(/has changed its arguments.*"number"/);
    expect(secret).toMatch(/does not offer it any more/);
    expect(listed).toBe('list_orders of {}\n');
    expect(anew).toBe('get_order of {"number":"A-2"}\n');
    expect(wrong).toContain('"number"');
    expect(gone).toMatch(/no tool `shown__secret`/);
    expect(loadsOf(turn)).toEqual([['shown', 'changed']]);
    expect(new Set(turn.requests.map(({ tools }) => JSON.stringify(tools))).size).toBe(1);
    const told = resultsOf(turn.history, 'longshoreCallTool').flatMap((facts) => facts.schemaChanged ?? []);
    expect(told.map(({ is }) => is === null).toSorted((a, b) => Number(a) - Number(b))).toEqual([false, true]);
  });
});

/** A Worker in a process of its own, once it polls. */
async function startWorker(own: World, mcpServers: Readonly<Record<string, object>>): Promise<ChildProcess> {
  const bundlePath = join(own.folder, 'workflows.js');
  await writeFile(bundlePath, (await workflowBundle()).code);
  const { address, taskQueue, env } = own;
  const plan: WorldWorkerPlan = { address, taskQueue, bundlePath, storeFolder: join(own.folder, 'store'), mcpServers };
  const program = fileURLToPath(new URL('../support/world-worker.ts', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(plan)], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  return child;
}

it('[DISC-26] a turn whose Worker is killed between discovery and call goes on with another, which loads nothing anew', async () => {
  const shop = createShop(folder, 'moved', SHOP);
  const mcpServers = { moved: shop.entry };
  const own = await createWorld({ plugin: { mcp: { mcpServers } } });
  let child: ChildProcess | undefined;
  try {
    await own.worker.stop();
    child = await startWorker(own, mcpServers);
    const killed = once(child, 'exit');
    const turn = await own.run(
      { mcp_servers: [free('moved')] },
      {
        // The model call under way is lost with its Worker: it is made again.
        script: async ({ messages }) => {
          const told = messages.filter(({ role }) => role === 'tool').length;
          if (told === 0) return { toolCalls: [{ name: 'search_tools', arguments: { query: 'order' } }] };
          if (told > 1) return { text: 'done' };
          if (child?.killed === false) {
            child.kill('SIGKILL');
            await killed;
            await own.addWorker();
          }
          const list = { name: 'list_tools', arguments: { mcp_server: 'moved' } };
          return { toolCalls: [wrapped('moved', 'get_order', { id: 5 }), list] };
        },
      },
    );
    expect(turn.result.status).toBe('completed');
    expect(turn.view.steps[1]?.model?.attempts).toBe(2);
    expect(outcomes(turn, 1)).toEqual(['ok', 'ok']);
    expect(loadsOf(turn)).toEqual([['moved', 'discovery']]);
    // The other Worker's connection is new: before it sends, it looks whether the tool is still the same.
    expect(shop.log()).toEqual(['started', 'listed', 'started', 'listed', 'called get_order {"id":5}']);
  } finally {
    child?.kill('SIGKILL');
    await own.close();
  }
});
