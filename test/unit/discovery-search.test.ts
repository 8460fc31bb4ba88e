// `search_tools`: what is found, in which order, and what a hit's line says.
import { describe, expect, it } from 'vitest';
import { callDiscoveryTool } from '../../activities/discovery/server.ts';
import { searchIndexOf } from '../../activities/discovery/search-index.ts';
import { signatureLine } from '../../activities/discovery/signature.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { catalogTool, objectSchema, serverCatalog } from '../support/catalogs.ts';

const text = { type: 'string' };
const shop = serverCatalog('shop', [
  {
    tool: 'create_order',
    description: 'Creates an order. It is paid later.',
    inputSchema: objectSchema({ customer: text }),
  },
  { tool: 'refundPayment', description: 'Gives money back.', inputSchema: objectSchema({ payment_id: text }) },
  { tool: 'list_orders', title: 'Purchases', description: 'Lists what was ordered.' },
  { tool: 'ship', description: 'Sends a parcel.', inputSchema: objectSchema({ tracking_number: text }) },
  { tool: 'cancel_order', description: 'Cancels an order.' },
]);
const chat = serverCatalog('chat', [
  { tool: 'post_message', description: 'Sends messages to a channel.', inputSchema: objectSchema({ channel: text }) },
  { tool: '検索', description: '注文履歴を検索する。' },
]);

async function search(query: string, more: JsonObject = {}, catalogs = [shop, chat]): Promise<readonly string[]> {
  const { text, isError } = await callDiscoveryTool('search_tools', { query, ...more }, { catalogs });
  expect(isError ? text : '').toBe('');
  return text.split('\n');
}

describe('search_tools', () => {
  it.each([
    ['a name in any spelling', 'refund payment', '[shop] refundPayment'],
    ['a title', 'purchases', '[shop] list_orders'],
    ['a description', 'give my money back', '[shop] refundPayment'],
    ['an argument', 'tracking number', '[shop] ship'],
    ['another form of a word', 'sending a message', '[chat] post_message'],
    ['the beginning of a word', 'cancella', '[shop] cancel_order'],
    ['a misspelt word', 'send a mesage to chanel', '[chat] post_message'],
    ['Japanese', '履歴', '[chat] 検索'],
  ])('[DISC-1] finds a tool by %s', async (_, query, expected) => {
    const [, first] = await search(query);
    expect(first?.slice(0, expected.length + 1)).toBe(`${expected}(`);
  });

  it('[DISC-1] puts the tool that the query names first', async () => {
    const twins = serverCatalog('twins', [
      { tool: 'get_order_history', description: 'get order get order get order' },
      { tool: 'getOrder', description: 'One.' },
    ]);
    expect((await search('get_order', {}, [twins]))[1]).toMatch(/^getOrder\(/);
  });

  it('[DISC-2] answers the same whatever the order of servers and tools, equal hits by name', async () => {
    const equals = ['beta', 'alpha', 'delta', 'gamma'].map((tool) => ({ tool, description: 'Counts sheep.' }));
    const there = await search('count sheep', {}, [shop, serverCatalog('farm', equals), chat]);
    const back = await search('count sheep', {}, [chat, serverCatalog('farm', equals.toReversed()), shop]);
    expect(there.slice(1).map((line) => line.split('(')[0])).toEqual([
      '[farm] alpha',
      '[farm] beta',
      '[farm] delta',
      '[farm] gamma',
    ]);
    expect(back).toEqual(there);
  });

  it('[DISC-2] keeps an index for equal catalogs, and makes another for others', async () => {
    const [first, same, other] = [
      searchIndexOf('a', shop.tools),
      searchIndexOf('a', shop.tools),
      searchIndexOf('b', chat.tools),
    ];
    expect(same).toBe(first);
    expect(other).not.toBe(first);
    expect((await other).search('message')).toEqual([0]);
  });

  it('[DISC-1] searches one server where it is named, and says how many more there are', async () => {
    const lines = await search('order', { mcp_server: 'shop', limit: 2 });
    expect(lines[0]).toBe('2 of 3 matching tools of server "shop", best first:');
    expect(lines.slice(1).map((line) => line.split('(')[0])).toEqual(['cancel_order', 'list_orders']);
  });

  it('[DISC-1] shows 8 hits unless told, and at most 50', async () => {
    const many = serverCatalog(
      'many',
      Array.from({ length: 90 }, (_, n) => ({ tool: `t${n}`, description: 'Counts.' })),
    );
    expect(await search('counts', {}, [many])).toHaveLength(9);
    expect(await search('counts', { limit: 1_000 }, [many])).toHaveLength(51);
  });

  it('[DISC-5] says where nothing matches, and which servers could not be asked', async () => {
    const gone = { ...serverCatalog('gone', []), unavailable: 'it ended with code 1' };
    const lines = await search('weather', {}, [shop, gone]);
    expect(lines[0]).toBe('No tool matches "weather". Searched: gone, shop. Try other words, or list_tools.');
    expect(lines[1]).toBe('Not available now, and so not searched: gone.');
  });

  it.each(['', '  ', '?!', 'the of'])('[DISC-5] refuses the query %j, which has no word', async (query) => {
    const answer = await callDiscoveryTool('search_tools', { query }, { catalogs: [shop] });
    expect(answer).toMatchObject({ isError: true });
    expect(answer.text).toMatch(/^The query has no word to search for\./);
  });
});

describe('the line of a tool', () => {
  const line = (properties: JsonObject, required: readonly string[] = [], defs: JsonObject = {}): string =>
    signatureLine(catalogTool('act', { inputSchema: { ...objectSchema(properties, required), ...defs } }));

  it('[DISC-1] has the required arguments first, then the others, then the first sentence', () => {
    const tool = catalogTool('act', {
      description: '<p>Acts on\n[things](https://example.com/a). More follows.</p>',
      inputSchema: objectSchema({ a: text, b: { type: 'integer' }, c: { type: 'array', items: text } }, ['b']),
    });
    expect(signatureLine(tool)).toBe('act(b: integer, a?: string, c?: string[]) — Acts on things.');
  });

  const types: readonly [JsonValue, string][] = [
    [{ enum: ['a', 'b'] }, '"a"|"b"'],
    [{ enum: [1, 2, 3, 4, 5] }, '1|2|3|4|…'],
    [{ const: true }, 'true'],
    [{ type: ['string', 'null'] }, 'string|null'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string|number'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, '("a"|"b")[]'],
    [{ properties: {} }, 'object'],
    [{ $ref: '#/$defs/Name' }, 'string'],
    [{ $ref: '#/$defs/Loop' }, 'any'],
    [{ $ref: 'https://example.com/other' }, 'any'],
    [true, 'any'],
  ];
  it.each(types)('[DISC-1] has %j as %s', (schema, shown) => {
    const defs = { $defs: { Name: { type: 'string' }, Loop: { $ref: '#/$defs/Loop' } } };
    expect(line({ a: schema }, [], defs)).toBe(`act(a?: ${shown})`);
  });

  it('[DISC-1] counts the arguments that it leaves out', () => {
    const names = Array.from({ length: 20 }, (_, n) => `a${n}`);
    const properties = Object.fromEntries(names.map((name) => [name, text]));
    expect(line(properties)).toMatch(/a7\?: string, … 12 optional\)$/);
    expect(line(properties, names)).toMatch(/a11: string, … 8 more required, 0 optional\)$/);
  });

  it('[DISC-1] leaves out what nearly every tool of the server takes', async () => {
    const tools = Array.from({ length: 30 }, (_, n) => ({
      tool: `count_${n}`,
      description: 'Counts.',
      inputSchema: objectSchema({ signature: text, [`own_${n}`]: text }),
    }));
    const [, first] = await search('count_7', {}, [serverCatalog('many', tools)]);
    expect(first).toBe('count_7(own_7?: string, … 1 optional) — Counts.');
  });

  it('[DISC-1] names a tool so that the name can be given back', () => {
    const odd = catalogTool(`a\nb ${'x'.repeat(200)}`);
    expect(signatureLine(odd)).toBe(`${odd.exposedName}()`);
  });
});
