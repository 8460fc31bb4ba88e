// Hiding a tool is not a permission: a hidden tool runs for whoever names it, while what is disabled runs for nobody, and what is
// gated waits for a person, by whatever name it is called. With the spec of the page about it.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineLocalServer } from '../../activities/mcp/local.ts';
import { isObject } from '../../shared/json.ts';
import { parseSpecText } from '../../shared/spec-text.ts';
import type { ScriptedToolCall } from '../../testing/index.ts';
import { at, decide, waitingCalls } from '../support/approvals.ts';
import { reader, writer } from '../support/local-tools.ts';
import { ROOT } from '../support/source-files.ts';
import { inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type World } from '../support/turn-world.ts';

/** What ran, in order. */
const ran: string[] = [];
const running = (name: string) => () => {
  ran.push(name);
  return `${name} ran`;
};
const read = (name: string) => reader(name, running(name));
const write = (name: string) => writer(name, running(name));
// So many that deferring them is worth it.
const more = Array.from({ length: 30 }, (_, index) => read(`look_up_item_number_${index}`));
const localServers = [
  defineLocalServer({ name: 'chat', tools: [read('list_channels'), write('post_message')] }),
  defineLocalServer({
    name: 'billing',
    tools: [read('get_invoice'), write('delete_customer'), write('refund_charge'), ...more],
  }),
  defineLocalServer({ name: 'notes', tools: [read('read_note')] }),
];

const file = 'examples/tool-schemas/agent.yaml';
const parsed = parseSpecText(readFileSync(join(ROOT, file), 'utf8'), file);
// But for its model, which is the world's.
const { model: _model, ...spec } = 'value' in parsed && isObject(parsed.value) ? parsed.value : {};

const through = (tool: string): ScriptedToolCall => ({
  name: 'call_tool',
  arguments: { mcp_server: 'billing', tool_name: tool, input: {} },
});
/** Every way to name a tool. */
const everyWay = (tool: string): readonly ScriptedToolCall[] => [
  { name: `billing__${tool}`, arguments: {} },
  { name: `billing.${tool}`, arguments: {} },
  through(tool),
];

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers } });
});
afterAll(() => world.close());

describe('a tool that is hidden', () => {
  it('[DISC-44] runs all the same for a model that names it without having looked for it', async () => {
    const { requests, view } = await world.run(spec, {
      text: 'Go on.',
      script: inOrder({ toolCalls: [...everyWay('get_invoice')] }, { text: 'done' }),
    });
    const shown = requests[0]?.tools?.map((tool) => tool.function.name) ?? [];
    expect(shown).toEqual(expect.arrayContaining(['chat__post_message', 'call_tool', 'notes__read_note']));
    expect(shown.filter((name) => name.startsWith('billing'))).toEqual([]);
    expect(toolTexts(requests[1])).toEqual(['get_invoice ran', 'get_invoice ran', 'get_invoice ran']);
    expect(view.discovery).toMatchObject({
      calls: 0,
      toolsCalled: [{ server: 'billing', tool: 'get_invoice', calls: 3 }],
    });
  });
});

describe('a tool that is disabled', () => {
  it('[DISC-44] runs by no name, and no search finds it', async () => {
    const search = { name: 'search_tools', arguments: { query: 'delete customer', mcp_server: 'billing' } };
    const info = { name: 'get_tool_info', arguments: { mcp_server: 'billing', tool_name: 'delete_customer' } };
    const { requests, view } = await world.run(spec, {
      text: 'Go on.',
      script: inOrder({ toolCalls: [...everyWay('delete_customer'), search, info] }, { text: 'done' }),
    });
    expect(ran).not.toContain('delete_customer');
    expect(view.steps[0]?.toolCalls.slice(0, 3).map(({ outcome }) => outcome)).toEqual(['error', 'error', 'error']);
    expect(view.discovery.failures.map(({ stage }) => stage)).toEqual(['tool', 'tool', 'tool', 'discovery']);
    const [found = ''] = toolTexts(requests[1]).slice(3);
    expect(found).not.toMatch(/^delete_customer\(/m);
  });
});

describe('a tool that is gated', () => {
  it('[DISC-44] waits for a person by whatever name it is called, and does not run when denied', async () => {
    const calls = everyWay('refund_charge');
    const turn = await world.start(spec, {
      text: 'Go on.',
      script: inOrder({ toolCalls: [...calls] }, { text: 'done' }),
    });
    const waiting = await waitingCalls(turn, calls.length);
    expect(waiting.map(({ server, tool, selector }) => [server, tool, selector])).toEqual(
      calls.map(() => ['billing', 'refund_charge', 'refund_charge']),
    );
    for (const [index, call] of waiting.entries()) {
      await decide(at(world, turn), call, index === 0 ? 'approve' : 'deny');
    }
    const { view } = await turn.ended();
    expect(view.steps[0]?.toolCalls.map(({ outcome }) => outcome)).toEqual(['ok', 'denied', 'denied']);
    expect(ran.filter((name) => name === 'refund_charge')).toHaveLength(1);
  });
});
