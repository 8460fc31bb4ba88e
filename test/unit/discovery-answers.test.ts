// `list_tools`, `get_tool_info`, `get_tool_output_schema`: pages, schemas whole and cut, and what is wrong with a call.
import { describe, expect, it } from 'vitest';
import { callDiscoveryTool } from '../../activities/discovery/server.ts';
import { countTokens } from '../../activities/measure.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { objectSchema, serverCatalog } from '../support/catalogs.ts';

const text = { type: 'string' };
const order = objectSchema({ id: text, lines: { type: 'array', items: { $ref: '#/$defs/Line' } } }, ['id']);
const line = objectSchema({ 'unit/price': { type: 'number' }, next: { $ref: '#/$defs/Line' } });
const shop = serverCatalog('shop', [
  {
    tool: 'create_order',
    description: 'Creates an order.',
    tags: ['@write'],
    inputSchema: { ...order, $defs: { Line: line } },
    outputSchema: objectSchema({ total: { type: 'number' } }),
  },
  { tool: 'create_invoice' },
  { tool: 'wide', inputSchema: objectSchema(numbered(400, (n) => ({ type: 'string', description: `Value ${n}.` }))) },
  { tool: 'wordy', description: 'word '.repeat(20_000).trim() },
  { tool: 'returns_much', outputSchema: objectSchema(numbered(300, () => order)) },
]);
const empty = serverCatalog('empty', []);
const gone = { ...serverCatalog('gone', []), unavailable: 'it ended with code 1' };
const catalogs = [shop, empty, gone];

function numbered(count: number, make: (n: number) => JsonValue): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, make(n)]));
}

async function answer(tool: string, args: JsonObject, budget?: number): Promise<string> {
  const { text, isError } = await callDiscoveryTool(tool, args, { catalogs, ...(budget !== undefined && { budget }) });
  expect(isError ? text : '').toBe('');
  return text;
}

async function fault(tool: string, args: JsonObject): Promise<string> {
  const { text, isError } = await callDiscoveryTool(tool, args, { catalogs });
  expect(isError).toBe(true);
  return text;
}

/** The JSON of an answer that may have a title before and a hint after. */
function jsonOf(answer: string): JsonValue {
  const row = answer.split('\n').find((row) => /^["{[]/.test(row)) ?? '';
  return JSON.parse(row) as JsonValue;
}

const info = (tool: string, pointer = ''): JsonObject => ({ mcp_server: 'shop', tool_name: tool, pointer });

describe('list_tools', () => {
  it('[DISC-3] lists tools by name, a line each', async () => {
    const lines = (await answer('list_tools', { mcp_server: 'shop' })).split('\n');
    expect(lines.slice(0, 3)).toEqual([
      'Tools 1 to 5 of 5 of server "shop".',
      'create_invoice',
      'create_order — Creates an order.',
    ]);
    expect(await answer('list_tools', { mcp_server: 'empty' })).toBe('Server "empty" has no tools.');
  });

  it('[DISC-3] goes on after a tool that is gone, and ends in words', async () => {
    const later = await answer('list_tools', { mcp_server: 'shop', cursor: 'after:shop__create_nothing' });
    expect(later.split('\n').slice(0, 2)).toEqual([
      'Tools 2 to 5 of 5 of server "shop".',
      'create_order — Creates an order.',
    ]);
    const end = await answer('list_tools', { mcp_server: 'shop', cursor: 'after:shop__wordy' });
    expect(end).toBe('No more tools of server "shop": it has 5, and this is the end of the list.');
  });

  it('[DISC-5] takes the name of the last tool for a cursor, and refuses what is none', async () => {
    const after = await answer('list_tools', { mcp_server: 'shop', cursor: 'wide' });
    expect(after.split('\n')[0]).toBe('Tools 5 to 5 of 5 of server "shop".');
    expect(await fault('list_tools', { mcp_server: 'shop', cursor: '2' })).toBe(
      'The cursor "2" is none of server "shop". Take the one that the page before names, or begin without one.',
    );
  });
});

describe('get_tool_info', () => {
  it('[DISC-4] shows description, tags and both schemas whole where they fit, $defs too', async () => {
    const text = await answer('get_tool_info', info('create_order'));
    expect(jsonOf(text)).toEqual({
      mcp_server: 'shop',
      tool_name: 'create_order',
      tags: ['@write'],
      description: 'Creates an order.',
      inputSchema: { ...order, $defs: { Line: line } },
      outputSchema: objectSchema({ total: { type: 'number' } }),
    });
    expect(text.split('\n').at(-1)).toBe('A "$ref": get_tool_info with it as pointer.');
  });

  it('[DISC-4] takes the exposed name for the tool too', async () => {
    expect(await answer('get_tool_info', info('shop__create_order'))).toBe(
      await answer('get_tool_info', info('create_order')),
    );
  });

  it.each([
    ['/properties/id', text, '/properties/id'],
    ['#/$defs/Line', line, '/$defs/Line'],
    ['/properties/lines/items/properties/unit~1price', { type: 'number' }, '/$defs/Line/properties/unit~1price'],
    [
      '/properties/lines/items/properties/next/properties/next',
      { $ref: '#/$defs/Line' },
      '/$defs/Line/properties/next',
    ],
    ['/required/0', 'id', '/required/0'],
    ['#/properties/lines/items/properties/unit%7E1price', { type: 'number' }, '/$defs/Line/properties/unit~1price'],
  ])('[DISC-4] shows the part at %s, through references', async (pointer, value, shown) => {
    const text = await answer('get_tool_info', info('create_order', pointer));
    expect(text.split('\n')[0]).toBe(`inputSchema of "create_order" at ${JSON.stringify(shown)}:`);
    expect(jsonOf(text)).toEqual(value);
  });

  it('[DISC-4] cuts a wide schema where the budget ends, and goes on from there to its end', async () => {
    const found = new Set<string>();
    let part = jsonOf(await answer('get_tool_info', info('wide'))) as { inputSchema: { properties: JsonObject } };
    let members: JsonObject = part.inputSchema.properties;
    for (let pages = 1; ; pages += 1) {
      for (const name of Object.keys(members)) if (name !== '…') found.add(name);
      const next = /pointer (\S+)\]$/.exec(JSON.stringify(members['…'] ?? '').slice(1, -1))?.[1];
      if (next === undefined) break;
      expect(pages).toBeLessThan(20);
      members = jsonOf(await answer('get_tool_info', info('wide', next))) as JsonObject;
    }
    expect(found.size).toBe(400);
  });

  it('[DISC-4] cuts a long description and tells the rest by pointer', async () => {
    let whole = '';
    let pointer = '';
    for (let pages = 0; pages < 60; pages += 1) {
      const value = jsonOf(await answer('get_tool_info', info('wordy', pointer)));
      const words = typeof value === 'string' ? value : ((value as JsonObject)['description'] as string);
      const cut = /… \[cut, 99999 characters, pointer (\S+)\]$/.exec(words);
      whole += cut ? words.slice(0, cut.index) : words;
      if (!cut) break;
      pointer = cut[1] ?? '';
    }
    expect(whole).toBe('word '.repeat(20_000).trim());
  });

  it('[DISC-4] leaves a large output schema to get_tool_output_schema, which cuts it', async () => {
    const text = await answer('get_tool_info', info('returns_much'));
    expect(jsonOf(text)).toMatchObject({ outputSchema: '[cut, get_tool_output_schema shows it]' });
    const output = await answer('get_tool_output_schema', info('returns_much'));
    expect(output).toMatch(/What is cut: get_tool_output_schema with its pointer\.$/);
    expect((await countTokens(output)).tokens).toBeGreaterThan(1_500);
  });
});

describe('get_tool_output_schema', () => {
  it('[DISC-4] shows it, a part of it, or that there is none', async () => {
    expect(jsonOf(await answer('get_tool_output_schema', info('create_order', '/properties/total')))).toEqual({
      type: 'number',
    });
    expect(await answer('get_tool_output_schema', info('create_invoice'))).toBe(
      'Tool "create_invoice" does not say what it returns: it has no output schema. A call shows it.',
    );
  });
});

describe('a call that cannot be answered', () => {
  it.each<[string, string, JsonObject, RegExp]>([
    ['an unknown server', 'list_tools', { mcp_server: 'shopp' }, /^There is no tool server "shopp"\. Servers: shop, /],
    [
      'a server that is gone',
      'list_tools',
      { mcp_server: 'gone' },
      /^Server "gone" is not available now: "it ended with code 1"/,
    ],
    [
      'an unknown tool',
      'get_tool_info',
      { mcp_server: 'shop', tool_name: 'order_create' },
      /^Server "shop" has no tool "order_create"\. Nearest: .*create_order/,
    ],
    [
      'a tool of another server',
      'get_tool_info',
      { mcp_server: 'empty', tool_name: 'wide' },
      /Server "shop" has it\.$/,
    ],
    ['a tool where there are none', 'get_tool_info', { mcp_server: 'empty', tool_name: 'x' }, /It has no tools\.$/],
    [
      'a pointer to nothing',
      'get_tool_info',
      info('create_order', '/properties/lime'),
      /^There is no "lime" in "\/properties"\. It has: lines, id\.$/,
    ],
    [
      'a pointer beyond a list',
      'get_tool_info',
      info('create_order', '/required/7'),
      /it is a list of 1, counted from 0\.$/,
    ],
    ['a pointer beyond a text', 'get_tool_info', info('create_order', '/type/x'), /it is a string\.$/],
    [
      'a pointer without a slash',
      'get_tool_info',
      info('create_order', 'properties'),
      /must be empty or begin with "\/"/,
    ],
    ['a pointer with a bad escape', 'get_tool_info', info('create_order', '/a~b'), /in a name "~" is written "~0"/],
    [
      'a place beyond the end',
      'get_tool_info',
      info('wide', '/properties/~from:400'),
      /has only 400 members, counted from 0\.$/,
    ],
    [
      'an argument that is none',
      'list_tools',
      { mcp_server: 'shop', page: 2 },
      /^The arguments do not fit list_tools: .*page.*Its schema: \{/,
    ],
    ['a missing argument', 'search_tools', {}, /^The arguments do not fit search_tools: query: /],
    ['an unknown tool to find tools by', 'find_tools', {}, /There are: search_tools, list_tools, get_tool_info/],
    [
      'call_tool, which nobody took apart',
      'call_tool',
      { mcp_server: 'shop', tool_name: 'wide' },
      /nothing was called\.$/,
    ],
  ])('[DISC-5] is told what is wrong with %s', async (_, tool, args, words) => {
    expect(await fault(tool, args)).toMatch(words);
  });

  it('[DISC-5] is told of a reference that leads nowhere, or in a circle', async () => {
    const broken = serverCatalog('b', [
      {
        tool: 't',
        inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { $ref: '#/$defs/A' } } },
      },
    ]);
    const args = { mcp_server: 'b', tool_name: 't', pointer: '/properties/a/x' };
    const { text } = await callDiscoveryTool('get_tool_info', args, { catalogs: [broken] });
    expect(text).toBe('There is no "x" in "/properties/a": its "$ref" "#/$defs/A" leads nowhere in this schema.');
  });
});
