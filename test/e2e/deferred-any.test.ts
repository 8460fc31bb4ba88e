// Whatever a model does with tools that are not shown to it, and whatever their server makes of them meanwhile: the tool array
// stays the same, every call has one result, nothing is sent that does not fit, and the turn replays.
import * as fc from 'fast-check';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { exposedNameOf } from '../../shared/exposed-names.ts';
import { replayTurn } from '../../testing/replay.ts';
import type { ScriptedToolCall } from '../../testing/scripted-model.ts';
import { startRawRelay, toolBytes, type RawRelay } from '../support/raw-relay.ts';
import { BULK, createShop, lookup, wrapped, type Shop, type ShopState } from '../support/shop.ts';
import { inOrder, resultsOf, toolTexts } from '../support/turn-history.ts';
import { createWorld, workflowBundle, type World } from '../support/turn-world.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

const RUNS = 8;

/** What `get` takes: first a number, then a name, then it is gone. */
const LATER: ShopState = { tools: [lookup('list', {}), ...BULK] };
const NEXT: ShopState = {
  tools: [lookup('get', { name: { type: 'string' } }), lookup('publish', {}), ...LATER.tools],
  next: LATER,
};
const FIRST: ShopState = { tools: [lookup('get'), lookup('publish', {}), ...LATER.tools], next: NEXT };
const FITS: readonly RegExp[] = [/^called get \{"id":1\}$/, /^called get \{"name":"x"\}$/, /^nothing$/];

let folder: string;
let relay: RawRelay;
let shops: readonly Shop[];
let world: World;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'longshore-any-')));
  shops = Array.from({ length: RUNS }, (_, index) => createShop(folder, `shop${index}`, FIRST));
  const mcpServers = Object.fromEntries(shops.map(({ entry }, index) => [`shop${index}`, entry]));
  relay = await startRawRelay();
  world = await createWorld({ plugin: { mcp: { mcpServers } }, extraEnv: { OPENAI_BASE_URL: relay.baseUrl } });
  relay.forwardTo(world.model.baseUrl);
});
afterAll(async () => {
  await world.close();
  await relay.close();
  await rm(folder, { recursive: true, force: true });
});

const ACTIONS = {
  search: () => ({ name: 'search_tools', arguments: { query: 'get' } }),
  list: (server) => ({ name: 'list_tools', arguments: { mcp_server: server } }),
  info: (server) => ({ name: 'get_tool_info', arguments: { mcp_server: server, tool_name: 'get' } }),
  byNumber: (server) => wrapped(server, 'get', { id: 1 }),
  byName: (server) => wrapped(server, 'get', { name: 'x' }),
  directly: (server) => ({ name: exposedNameOf({ server, tool: 'get' }), arguments: { id: 1 } }),
  wrongly: (server) => wrapped(server, 'get', { id: 'one' }),
  nothing: (server) => wrapped(server, 'nothing'),
  nowhere: () => wrapped('nowhere', 'get', { id: 1 }),
} satisfies Readonly<Record<string, (server: string) => ScriptedToolCall>>;

/** Calls of one step, or the change of the server, which is alone in its step. */
type Step = readonly (keyof typeof ACTIONS)[] | 'publish';

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.array(fc.constantFrom(...(Object.keys(ACTIONS) as (keyof typeof ACTIONS)[])), {
      minLength: 1,
      maxLength: 3,
    }),
  },
  { weight: 1, arbitrary: fc.constant('publish' as const) },
);
const shown = fc.constantFrom({}, { preload_tools: ['list'] }, { preload_tools: ['get'] }, { preload: true });

it('[DISC-55] a turn keeps its tool array, byte for byte, one result a call, and replays, whatever it finds and whatever changes (srv-2)', async () => {
  let run = 0;
  const check = async (steps: readonly Step[], mode: object): Promise<void> => {
    const server = `shop${run}`;
    const shop = shops[run];
    run += 1;
    const asked = steps.map((one) =>
      one === 'publish' ? [wrapped(server, 'publish', {})] : one.map((action) => ACTIONS[action](server)),
    );
    const answers = asked.map((toolCalls) => ({ toolCalls }));
    const before = relay.bodies.length;
    const spec = { mcp_servers: [{ name: server, require_approval_for_tools: [], ...mode }] };
    const turn = await world.run(spec, { script: inOrder(...answers, { text: 'done' }) });
    expect(turn.result).toMatchObject({ status: 'completed' });
    // One array, and as many requests as answers: none was repeated.
    const bodies = relay.bodies.slice(before);
    expect(bodies).toHaveLength(answers.length + 1);
    expect(new Set(bodies.map(toolBytes)).size).toBe(1);
    // One result a call, in call order.
    expect(toolTexts(turn.requests.at(-1))).toHaveLength(asked.flat().length);
    const messages = turn.requests.at(-1)?.messages ?? [];
    const wanted = messages.flatMap(({ tool_calls: calls = [] }) => calls.map(({ id }) => id));
    expect(messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id]))).toEqual(wanted);
    expect(unfit(shop?.log() ?? [])).toEqual([]);
    await replayTurn(turn.history, { workflows: { workflowBundle: await workflowBundle() } });
    // What it saw stands in its history, in the order in which it was so.
    const loads = resultsOf(turn.history, 'longshoreLoadCatalog');
    expect(loads.filter(({ changedFrom, hash }) => changedFrom === hash)).toEqual([]);
  };
  await fc.assert(fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), shown, check), {
    numRuns: RUNS,
    endOnFailure: true,
    examples: [[[['byNumber'], 'publish', ['byNumber'], ['byName', 'search'], 'publish', ['byName'], ['list']], {}]],
  });
  const [first] = shops;
  expect(first?.log().filter((line) => line.startsWith('called get'))).toEqual([
    'called get {"id":1}',
    'called get {"name":"x"}',
  ]);
});

/** Calls of `get` that do not fit what the server was at that time. */
function unfit(log: readonly string[]): readonly string[] {
  let state = 0;
  return log.filter((line) => {
    if (line.startsWith('called publish')) state += 1;
    return line.startsWith('called get') && FITS[state]?.test(line) !== true;
  });
}
