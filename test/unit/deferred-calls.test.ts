// Deferred tools on real servers, by the Activities alone: catalogs loaded when they are needed, calls judged by them, and tools
// that change or go while a turn runs.
import { describe, expect, test, vi } from 'vitest';
import { openJournal } from '../../activities/store/journal.ts';
import type { CallToolInput, ProposedCall } from '../../shared/activities.ts';
import type { ServerCatalogFacts } from '../../shared/catalog.ts';
import { digestOf } from '../../shared/digest.ts';
import {
  callInput,
  createCatalogWorld,
  listedTool,
  manyTools,
  specServer,
  type CatalogWorld,
} from '../support/catalog-world.ts';
import { startHttpServer } from '../support/mcp-http-server.ts';

const reading = (name: string, args: readonly string[] = []) =>
  listedTool(name, args, { annotations: { readOnlyHint: true } });
const notify = reading('notify');
const quit = reading('quit');

const load = async (world: CatalogWorld, more: Parameters<typeof specServer>[1] = {}, known?: string) =>
  world.run('longshoreLoadCatalog', {
    turn: world.turn,
    server: specServer('shop', more),
    reason: 'call',
    ...(known !== undefined && { known }),
  });

function proposed(tool: string, args: ProposedCall['arguments'], more: Partial<ProposedCall> = {}): ProposedCall {
  return {
    callKey: 't1/0/0',
    callId: 'c',
    name: 'call_tool',
    server: 'shop',
    tool,
    arguments: args,
    argumentsDigest: '',
    schemaHash: '',
    tags: [],
    effect: 'write',
    via: 'call_tool',
    unresolved: true,
    ...more,
  };
}

const judge = async (world: CatalogWorld, { server, ref, hash }: ServerCatalogFacts, call: ProposedCall) =>
  world.run('longshoreJudgeCall', { turn: world.turn, call, catalog: { server, ref, hash } });

describe('a catalog that is loaded in the middle of a turn', () => {
  test('[LOAD-9] has what the spec selects, and judges calls as the turn would have', async () => {
    const world = await createCatalogWorld({
      shop: { tools: [...manyTools(3), listedTool('look', ['at'], { annotations: { readOnlyHint: true } })] },
    });
    const facts = await load(world, { disable_tools: ['tool_0'] });
    expect(facts).toMatchObject({ server: 'shop', toolCount: 3, problems: [] });
    expect(facts).not.toHaveProperty('unavailable');
    const good = await judge(world, facts, proposed('look', { at: 'a' }));
    expect(good).toEqual({
      ...proposed('look', { at: 'a' }),
      unresolved: undefined,
      tags: ['@read-only'],
      effect: 'read',
      schemaHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      argumentsDigest: digestOf(['shop', 'look', { at: 'a' }]),
    });
    expect('unresolved' in good).toBe(false);
    const bad = await judge(world, facts, proposed('look', {}));
    expect(bad.fault).toMatchObject({ type: 'bad-arguments', tokens: expect.any(Number) });
    expect(bad.fault?.text).toContain("must have required property 'at'");
    const misspelt = await judge(world, facts, proposed('lok', {}));
    expect(misspelt.fault).toMatchObject({ type: 'unknown-tool' });
    expect(misspelt.fault?.text).toContain('Nearest: look');
  });

  test('[LOAD-9] judges large arguments by reference', async () => {
    const world = await createCatalogWorld({ shop: { tools: [listedTool('look', ['at'])] } });
    const facts = await load(world);
    const args = { at: 'a'.repeat(20_000) };
    const argumentsRef = await world.store.putBlob(Buffer.from(JSON.stringify(args)));
    const call = await judge(world, facts, proposed('look', {}, { argumentsRef }));
    expect(call).toMatchObject({ arguments: {}, argumentsRef, argumentsDigest: digestOf(['shop', 'look', args]) });
    expect(call).not.toHaveProperty('fault');
  });

  test('[LOAD-11] lets nothing be found or called that is disabled, by whatever name', async () => {
    const tools = [listedTool('look'), listedTool('wipe')];
    const world = await createCatalogWorld({ shop: { tools } });
    const facts = await load(world, { disable_tools: ['wipe'] });
    for (const call of [
      proposed('wipe', {}),
      proposed('shop__wipe', {}),
      proposed('wipe', {}, { name: 'shop__wipe' }),
      proposed('wipe', {}, { name: 'shop.wipe' }),
    ]) {
      expect((await judge(world, facts, call)).fault).toMatchObject({ type: 'unknown-tool' });
    }
    const { server, ref, hash } = facts;
    const discovery = { catalogs: [{ server, ref, hash }], tokens: 2_000 };
    const ask = async (tool: string, args: CallToolInput['arguments']) =>
      world.run('longshoreCallTool', callInput(world, ['discovery', tool], { arguments: args, discovery }));
    const found = await ask('search_tools', { query: 'wipe' });
    expect(found).toMatchObject({ outcome: 'ok', exempt: true });
    expect(found.inlineText).not.toContain('wipe(');
    expect((await ask('list_tools', { mcp_server: 'shop' })).inlineText).toMatch(/Tools 1 to 1 of 1/);
    expect(await ask('get_tool_info', { mcp_server: 'shop', tool_name: 'wipe' })).toMatchObject({ outcome: 'error' });
  });

  test('[LOAD-4] of a spec that names tools which are not there lets none be called, and says why', async () => {
    const world = await createCatalogWorld({ shop: { tools: manyTools(2) } });
    const facts = await load(world, { disable_tools: ['tool_x'] });
    expect(facts).toMatchObject({ toolCount: 0, unavailable: expect.stringContaining('`tool_x` (disable_tools.0)') });
    const call = await judge(world, facts, proposed('tool_0', {}));
    expect(call.fault).toMatchObject({ type: 'unknown-tool', stage: 'server' });
    expect(call.fault?.text).toContain('tool_x');
    const { server, ref, hash } = facts;
    const input = { arguments: { query: 'tool' }, discovery: { catalogs: [{ server, ref, hash }], tokens: 2_000 } };
    const found = await world.run('longshoreCallTool', callInput(world, ['discovery', 'search_tools'], input));
    expect(found.inlineText).toContain('Not available now');
  });

  test('[LOAD-4] of a server that does not start is empty, until it does', async () => {
    const broken = { type: 'stdio', command: process.execPath, args: ['-e', 'process.exit(3)'], env: {} } as const;
    const world = await createCatalogWorld({}, { configured: { shop: broken } });
    const facts = await load(world, {}, 'before');
    expect(facts).toMatchObject({ toolCount: 0, unavailable: expect.stringContaining('shop'), changedFrom: 'before' });
  });
});

describe('a tool at the time of its call', () => {
  const before = [notify, quit, reading('look', ['at'])];

  async function turnWith(tools: Parameters<CatalogWorld['offer']>[1]['tools']) {
    const world = await createCatalogWorld({ shop: { tools } });
    const facts = await load(world);
    const { tools: known } = await world.catalog(facts.ref);
    const call = async (tool: string, more: Partial<CallToolInput> = {}) => {
      const schemaHash = known.find((one) => one.tool === tool)?.schemaHash ?? '';
      const tags = ['@read-only'] as const;
      const input = { arguments: { at: 'a' }, schemaHash, tags, checkSchema: true as const, ...more };
      return world.run('longshoreCallTool', callInput(world, ['shop', tool], input));
    };
    return { world, facts, call };
  }

  test('[LOAD-12] that is as the turn knows it is called, and its server is not asked again', async () => {
    const { world, call } = await turnWith(before);
    expect(await call('look')).toMatchObject({ outcome: 'ok', inlineText: 'look {"at":"a"}' });
    expect(await world.asked('shop')).toEqual(['started', 'listed', 'called look']);
  });

  test('[LOAD-12] srv-2: that has changed is not sent, once its server said so; the answer has the new schema', async () => {
    const { world, facts, call } = await turnWith(before);
    const look = reading('look', ['place']);
    await world.offer('shop', { tools: [notify, quit, look] });
    await call('notify');
    const result = await call('look');
    expect(result).toMatchObject({ outcome: 'error', schemaChanged: { is: digestOf(look.inputSchema) } });
    expect(result.inlineText).toContain('Nothing was sent');
    expect(result.inlineText).toContain('"place"');
    expect(await world.asked('shop')).toEqual(['started', 'listed', 'called notify', 'listed']);
    // The turn goes on by the new one; what did not change was never in its way.
    const next = await world.run('longshoreLoadCatalog', {
      turn: world.turn,
      server: specServer('shop'),
      reason: 'changed',
      known: facts.hash,
    });
    expect(next.changedFrom).toBe(facts.hash);
    const schemaHash = result.schemaChanged?.is ?? '';
    expect(await call('look', { arguments: { place: 'b' }, schemaHash })).toMatchObject({ outcome: 'ok' });
  });

  test('[LOAD-12] that may do more by now is not sent before it is judged anew', async () => {
    const { world, facts, call } = await turnWith(before);
    await world.offer('shop', { tools: [notify, quit, listedTool('look', ['at'])] });
    await call('notify');
    const result = await call('look');
    expect(result).toMatchObject({ outcome: 'error', schemaChanged: { is: result.schemaChanged?.was } });
    expect(result.inlineText).toContain('Nothing was sent');
    expect(await world.asked('shop')).not.toContain('called look');
    const next = await world.run('longshoreLoadCatalog', {
      turn: world.turn,
      server: specServer('shop'),
      reason: 'changed',
      known: facts.hash,
    });
    const { tags, effect } = await judge(world, next, proposed('look', { at: 'a' }));
    expect({ tags, effect }).toEqual({ tags: ['@write'], effect: 'write' });
    expect(await call('look', { effect: 'write', tags })).toMatchObject({ outcome: 'ok' });
    await world.offer('shop', {
      tools: [notify, quit, { ...listedTool('look', ['at']), annotations: { destructiveHint: true } }],
    });
    await call('notify');
    const later = { callKey: 't1/1/0', effect: 'write' } as const;
    const worse = await call('look', { ...later, tags });
    expect(worse).toMatchObject({ outcome: 'error', schemaChanged: { is: worse.schemaChanged?.was } });
    expect(worse.inlineText).toContain('@destructive');
    expect(await call('look', { ...later, tags: ['@destructive'] })).toMatchObject({ outcome: 'ok' });
  });

  test('[LOAD-12] that is gone says so, and what its server has', async () => {
    const { world, call } = await turnWith(before);
    await world.offer('shop', { tools: [notify, reading('looks', ['at'])] });
    await call('notify');
    const result = await call('look');
    expect(result).toMatchObject({ outcome: 'error', schemaChanged: { is: null } });
    expect(result.inlineText).toContain('does not offer it any more');
    expect(result.inlineText).toContain('looks');
    expect(await world.asked('shop')).not.toContain('called look');
  });

  test('[LOAD-12] that cannot be used any more says why', async () => {
    const { world, call } = await turnWith(before);
    const inputSchema = { type: 'object' as const, properties: { at: { type: 'strnig' } } };
    await world.offer('shop', { tools: [notify, { name: 'look', inputSchema }] });
    await call('notify');
    const result = await call('look');
    expect(result).toMatchObject({ outcome: 'error', schemaChanged: { is: null } });
    expect(result.inlineText).toContain('cannot be used');
  });

  test('[LOAD-12] srv-2: beside others that changed is called, and the change is recorded once', async () => {
    const { world, call } = await turnWith([...before, reading('other')]);
    await world.offer('shop', { tools: before });
    const called = [await call('notify'), await call('look'), await call('look')];
    expect(called.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'ok']);
    expect(called.flatMap(({ note }) => note ?? [])).toEqual([{ catalogChanged: true }]);
    expect(await call('other')).toMatchObject({ outcome: 'error', schemaChanged: { is: null } });
  });

  test('[LOAD-12] of a server that came back with another list is not sent', async () => {
    const { world, call } = await turnWith(before);
    await world.offer('shop', { tools: [reading('look', ['place'])] });
    await call('quit');
    // Until its process has ended it is the one that was listed.
    await vi.waitFor(async () => expect((await call('look')).schemaChanged).toBeDefined(), { timeout: 20_000 });
    const asked = await world.asked('shop');
    expect(asked.slice(asked.lastIndexOf('started'))).toEqual(['started', 'listed']);
  });

  test('[LOAD-12] whose new schema is large is told by the way to it', async () => {
    const { world, call } = await turnWith(before);
    const many = Array.from({ length: 600 }, (_, index) => `argument_number_${index}`);
    await world.offer('shop', { tools: [notify, reading('look', many)] });
    await call('notify');
    const result = await call('look');
    expect(result.inlineText).toContain('get_tool_info with mcp_server "shop" and tool_name "look"');
    expect(result.tokens).toBeLessThan(200);
  });

  test('[LOAD-12] that writes leaves its journal empty: nothing was sent', async () => {
    const { world, call } = await turnWith(before);
    await world.offer('shop', { tools: [notify, reading('look', ['place'])] });
    await call('notify');
    const input = { effect: 'write' as const, arguments: { at: 'a' } };
    expect(await call('look', input)).toMatchObject({ outcome: 'error', schemaChanged: {} });
    const argumentsDigest = digestOf(['shop', 'look', { at: 'a' }]);
    const key = { workflowId: world.turn.workflowId, callKey: 't1/0/0', generation: 0, argumentsDigest };
    expect(await openJournal(world.store, key).state()).toEqual({ state: 'none' });
  });

  test('[LOAD-12] is listed once for all calls that wait for the same list', async () => {
    const { world, call } = await turnWith(before);
    await call('notify');
    await Promise.all(Array.from({ length: 8 }, async () => call('look')));
    expect((await world.asked('shop')).filter((line) => line === 'listed')).toHaveLength(2);
  });

  test('[LOAD-12] whose session was refused is compared anew before it goes out again', async () => {
    let tools = [reading('json', ['at']), reading('stream')];
    const server = await startHttpServer({ tools: () => tools });
    const world = await createCatalogWorld(
      {},
      { configured: { shop: { type: 'http', url: server.url, headers: {} } } },
    );
    const { ref } = await load(world);
    const known = (await world.catalog(ref)).tools;
    const call = async (tool: string, effect: CallToolInput['effect'] = 'read') => {
      const schemaHash = known.find((one) => one.tool === tool)?.schemaHash ?? '';
      return world.run(
        'longshoreCallTool',
        callInput(world, ['shop', tool], { schemaHash, checkSchema: true, effect }),
      );
    };
    expect(await call('json')).toMatchObject({ outcome: 'ok' });
    const sent = () => server.seen.filter(({ rpc }) => rpc === 'tools/call').length;
    tools = [reading('json', ['place']), reading('stream')];
    for (const effect of ['write', 'read'] as const) {
      server.forgetSessions(404);
      const before = sent();
      expect(await call('json', effect)).toMatchObject({
        outcome: 'error',
        schemaChanged: { was: expect.any(String) },
      });
      // The one that was refused unseen, of a server that nobody knew to be another; the next call knows.
      expect(sent()).toBe(effect === 'write' ? before + 1 : before);
    }
    server.forgetSessions(404);
    expect(await call('stream')).toMatchObject({ outcome: 'ok', inlineText: 'answer' });
  });
});
