// What a turn begins with: which servers are asked, which tools its array has, and what is known of the others.
import { describe, expect, test } from 'vitest';
import { discoveryTokens } from '../../activities/catalogs/definitions.ts';
import { loadCatalogRecord } from '../../activities/catalogs/record.ts';
import { systemText } from '../../activities/system-text.ts';
import type { TurnFrame } from '../../shared/activities.ts';
import { DISCOVERY_INSTRUCTIONS, DISCOVERY_TOOLS } from '../../shared/discovery-tools.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { createCatalogWorld, listedTool, manyTools, specServer, type CatalogWorld } from '../support/catalog-world.ts';

const deferral = 1 as const;
const SANDBOX_TOOLS = 6;
const frame: TurnFrame = {
  agent: 'a',
  model: { name: 'scripted/x', params: {} },
  instructions: 'Be brief.',
  responseFormat: { type: 'text' },
  catalog: { sha256: '', bytes: 0 },
};

const names = async (world: CatalogWorld, facts: { readonly ref: { sha256: string; bytes: number } }) =>
  (await world.catalog(facts.ref)).tools
    .map((tool) => tool.exposedName)
    .filter((name) => !name.startsWith('sandbox__'));

describe('the tools of a turn', () => {
  test('[LOAD-1] without deferral are those of all servers, in the form of older turns', async () => {
    const tool = listedTool('one', ['a'], { title: 'One', annotations: { title: 'First', readOnlyHint: true } });
    const world = await createCatalogWorld({ shop: { tools: [tool] } });
    const facts = await world.run('longshoreListTools', { turn: world.turn, servers: [specServer('shop')] });
    expect(facts).not.toHaveProperty('catalogs');
    expect(facts.servers[1]).toEqual({ name: 'shop', toolCount: 1, timeoutMs: 300_000, problems: [] });
    const { tools } = await world.catalog(facts.ref);
    expect(tools.find((one) => one.server === 'shop')).toEqual({
      exposedName: 'shop__one',
      server: 'shop',
      tool: 'one',
      description: 'Does one.',
      inputSchema: tool.inputSchema,
      tags: ['@read-only'],
      effect: 'read',
      schemaHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(await loadCatalogRecord(world.store, 'shop')).toBeNull();
  });

  test('[LOAD-1] are whole, selected or none, by the spec; the others are found by discovery', async () => {
    const world = await createCatalogWorld({
      whole: { tools: manyTools(3) },
      part: { tools: [...manyTools(), listedTool('look', [], { annotations: { readOnlyHint: true } })] },
      none: { tools: manyTools(), instructions: 'Sells boats.' },
    });
    const facts = await world.run('longshoreListTools', {
      turn: world.turn,
      deferral,
      askUserQuestions: true,
      servers: [
        specServer('whole', { preload: true }),
        specServer('part', { preload_tools: ['@read-only', 'tool_1'], disable_tools: ['tool_0'] }),
        specServer('none'),
      ],
    });
    expect(await names(world, facts)).toEqual([
      'ask_user_question',
      'call_tool',
      'get_tool_info',
      'get_tool_output_schema',
      'list_tools',
      'part__look',
      'part__tool_1',
      'search_tools',
      'whole__tool_0',
      'whole__tool_1',
      'whole__tool_2',
    ]);
    expect(facts.servers.slice(1)).toMatchObject([
      { name: 'whole', mode: 'preloaded', toolCount: 3 },
      { name: 'part', mode: 'selective', toolCount: 40 },
      { name: 'none', mode: 'deferred', toolCount: 40, instructions: 'Sells boats.' },
    ]);
    expect(facts.catalogs?.map(({ server, toolCount }) => [server, toolCount])).toEqual([
      ['part', 40],
      ['none', 40],
    ]);
    const [part] = facts.catalogs ?? [];
    const stored = part && (await world.catalog(part.ref));
    expect(stored?.servers.map(({ name }) => name)).toEqual(['part']);
    expect(stored?.tools.map(({ tool }) => tool)).not.toContain('tool_0');
  });

  test('[SECRET-3] show no secret in words, values or keywords of a server; names and rules stay', async () => {
    const secret = 'hush-hush';
    const words = { description: secret, default: { deep: [secret] }, example: secret, 'x-note': { of: [secret] } };
    const rules = { type: ['string', 'null'], enum: [secret], pattern: secret };
    const properties = { default: { ...rules, ...words }, [secret]: { type: 'object', properties: { a: words } } };
    const dependencies = { default: [secret] };
    const inputSchema = { type: 'object' as const, properties, required: [secret], dependencies };
    const outputSchema = { type: 'object' as const, properties };
    const world = await createCatalogWorld(
      { shop: { tools: [{ name: 'one', inputSchema, outputSchema }] } },
      { dependencies: { redact: (text) => text.replaceAll(secret, '***') } },
    );
    const servers = [specServer('shop', { preload: true })];
    const { ref } = await world.run('longshoreListTools', { turn: world.turn, deferral, servers });
    const tool = (await world.catalog(ref)).tools.find(({ server }) => server === 'shop');
    const hidden = { description: '***', default: { deep: ['***'] }, example: '***', 'x-note': { of: ['***'] } };
    const cleaned = { default: { ...rules, ...hidden }, [secret]: { type: 'object', properties: { a: hidden } } };
    expect(tool?.inputSchema).toEqual({ type: 'object', properties: cleaned, required: [secret], dependencies });
    expect(tool?.outputSchema).toEqual({ type: 'object', properties: cleaned });
  });

  test('[LOAD-2] leave a deferred server alone whose description is configured, or was recorded', async () => {
    const servers = {
      configured: { tools: manyTools(), description: 'As people say.' },
      recorded: { tools: manyTools(), instructions: 'As it says.' },
    };
    const world = await createCatalogWorld(servers);
    const input = { turn: world.turn, deferral, servers: [specServer('configured'), specServer('recorded')] };
    const first = await world.run('longshoreListTools', input);
    expect(first.servers[1]).toEqual({
      name: 'configured',
      mode: 'deferred',
      unasked: true,
      description: 'As people say.',
      toolCount: 0,
      timeoutMs: 300_000,
      problems: [],
    });
    expect(first.servers[2]).not.toHaveProperty('unasked');
    const second = await world.run('longshoreListTools', input);
    expect(second.servers[2]).toMatchObject({ unasked: true, description: 'As it says.', toolCount: 40 });
    expect(second.catalogs).toBeUndefined();
    expect(await world.asked('configured')).toEqual([]);
    expect(await world.asked('recorded')).toEqual(['started', 'listed']);
  });

  test('[LOAD-2] need no record: one that cannot be read has its server asked', async () => {
    const world = await createCatalogWorld(
      { shop: { tools: manyTools(), instructions: 'Sells.' } },
      {
        store: (store) => ({
          ...store,
          getObject: async (key) => {
            if (key.startsWith('catalogs/')) throw new LongshoreError('StoreUnavailable', 'away', 'wait');
            return store.getObject(key);
          },
        }),
      },
    );
    const input = { turn: world.turn, deferral, servers: [specServer('shop')] };
    expect((await world.run('longshoreListTools', input)).servers[1]).toMatchObject({
      toolCount: 40,
      mode: 'deferred',
    });
  });

  test('[LOAD-3] are preloaded where deferring them saves nothing, and deferred where it does', async () => {
    const cost = await discoveryTokens();
    const world = await createCatalogWorld({ small: { tools: manyTools(3) }, other: { tools: manyTools(2) } });
    const servers = [specServer('small'), specServer('other')];
    const facts = await world.run('longshoreListTools', { turn: world.turn, deferral, servers });
    expect(facts.servers.slice(1)).toMatchObject([
      { name: 'small', mode: 'preloaded', modeReason: 'small' },
      { name: 'other', mode: 'preloaded', modeReason: 'small' },
    ]);
    expect(facts.catalogs).toBeUndefined();
    expect(await names(world, facts)).toHaveLength(5);
    const alone = await world.run('longshoreListTools', { turn: world.turn, deferral, servers: [] });
    expect(facts.definitionTokens - alone.definitionTokens).toBeLessThanOrEqual(cost);
    // By the records: one grows, and then the sum is too much.
    await world.offer('other', { tools: manyTools(12) });
    const grown = await world.run('longshoreListTools', { turn: world.turn, deferral, servers });
    expect(grown.servers.slice(1).map(({ mode }) => mode)).toEqual(['deferred', 'deferred']);
    expect(grown.definitionTokens - alone.definitionTokens).toBeLessThanOrEqual(cost);
  });

  test('[LOAD-3] stay deferred beside a selective server, which keeps the discovery tools', async () => {
    const world = await createCatalogWorld({ small: { tools: manyTools(1) }, part: { tools: manyTools(2) } });
    const servers = [specServer('small'), specServer('part', { preload_tools: ['tool_0'] })];
    const facts = await world.run('longshoreListTools', { turn: world.turn, deferral, servers });
    expect(facts.servers.slice(1).map(({ mode }) => mode)).toEqual(['deferred', 'selective']);
  });

  test('[LOAD-1] end the turn by a name that a server asked now does not offer, and by a server that is not there', async () => {
    const world = await createCatalogWorld({ shop: { tools: manyTools() } });
    const list = async (server: ReturnType<typeof specServer>) =>
      world.run('longshoreListTools', { turn: world.turn, deferral, servers: [server] });
    await expect(list(specServer('shop', { disable_tools: ['tool_x'] }))).rejects.toMatchObject({
      type: 'ToolUnknown',
    });
    await expect(list(specServer('nobody'))).rejects.toMatchObject({ type: 'McpServerUnknown' });
  });

  test('[LOAD-4] say of a server that does not answer what it is, and that it is asked again', async () => {
    const broken = { type: 'stdio', command: process.execPath, args: ['-e', 'process.exit(3)'], env: {} } as const;
    const world = await createCatalogWorld(
      {},
      { configured: { late: { ...broken, description: 'Sends mail. To anybody. At night.' }, away: broken } },
    );
    const facts = await world.run('longshoreListTools', {
      turn: world.turn,
      deferral,
      servers: [specServer('late', { preload_tools: ['@all'] }), specServer('away', { preload: true })],
    });
    expect(facts.catalogs).toMatchObject([
      { server: 'late', toolCount: 0, unavailable: expect.stringContaining('late') },
    ]);
    const text = systemText(frame, await world.catalog(facts.ref));
    expect(text).toContain('- away: not available now');
    expect(text).toContain(`${DISCOVERY_INSTRUCTIONS}\n- late: Sends mail. To anybody. (did not answer`);
  });
});

describe('what the model is told of servers', () => {
  test('[LOAD-5] is a line of a sentence or two of each deferred one, in 300 characters at most', () => {
    const server = { toolCount: 0, timeoutMs: 1, problems: [], mode: 'deferred' } as const;
    const text = systemText(frame, {
      version: 1,
      servers: [
        { ...server, name: 'a', description: 'One. Two. Three.', instructions: 'Not this.' },
        { ...server, name: 'b', instructions: 'word '.repeat(200) },
        { ...server, name: 'c' },
        { ...server, name: 'd', mode: 'preloaded', description: 'Whole.', instructions: 'This too.' },
      ],
      tools: [],
    });
    const lines = text.split('\n').filter((line) => line.startsWith('- '));
    expect(lines).toEqual([
      '- d: Whole. In its own words: This too.',
      '- a: One. Two.',
      expect.stringMatching(/^- b: word .*…$/),
      '- c',
    ]);
    expect(lines[2]?.length).toBeLessThanOrEqual(305);
    expect(text).toContain(`${DISCOVERY_INSTRUCTIONS}\n- a:`);
  });
});

describe('the requests of a turn', () => {
  test('[LOAD-6] have the same tool array, byte for byte, whatever is loaded meanwhile', async () => {
    const world = await createCatalogWorld({ shop: { tools: manyTools(), description: 'Sells.' } });
    const { turn } = world;
    const server = specServer('shop');
    const facts = await world.run('longshoreListTools', { turn, deferral, servers: [server] });
    const call = { providerCallId: 'c1', name: 'call_tool' };
    const wrapped = { mcp_server: 'shop', tool_name: 'tool_1', input: { first: '1', second: '2', third: '3' } };
    world.answer({ toolCalls: [{ ...call, inputText: JSON.stringify(wrapped) }] });
    const first = await world.run('longshoreCallModel', {
      turn,
      step: 0,
      head: null,
      frame: { ...frame, catalog: facts.ref },
      messages: [{ type: 'user.message', content: 'Go' }],
    });
    expect(first.toolCalls).toMatchObject([{ via: 'call_tool', unresolved: true, server: 'shop', tool: 'tool_1' }]);
    expect(first.definitionTokens).toBeGreaterThan(0);
    expect(first.definitionTokens).toBeLessThan(first.sentTokens);
    const { ref, hash } = await world.run('longshoreLoadCatalog', { turn, server, reason: 'call' });
    world.answer({ toolCalls: [{ ...call, providerCallId: 'c2', inputText: JSON.stringify(wrapped) }] });
    const second = await world.run('longshoreCallModel', {
      turn,
      step: 1,
      head: first.head,
      messages: [{ type: 'user.message', content: 'Again' }],
      catalogs: [{ server: 'shop', ref, hash }],
    });
    expect(second.toolCalls).toMatchObject([{ via: 'call_tool', server: 'shop', tool: 'tool_1', effect: 'write' }]);
    expect(second.toolCalls[0]).not.toHaveProperty('unresolved');
    const [before, after] = world.requests.map(({ tools }) => JSON.stringify(tools));
    expect(before).toBe(after);
    expect(world.requests[0]?.tools).toHaveLength(SANDBOX_TOOLS + DISCOVERY_TOOLS.length);
    expect(world.requests[0]?.messages[0]).toEqual(world.requests[1]?.messages[0]);
    // What the model wrote stands in the transcript as it wrote it.
    expect(JSON.stringify(world.requests[1]?.messages)).toContain('\\"mcp_server\\"'.replaceAll('\\', ''));
  });
});
