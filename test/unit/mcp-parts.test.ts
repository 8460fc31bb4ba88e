// The parts of the pool that need no server: cutting lines, listing, checking schemas, logging.
import { describe, expect, it } from 'vitest';

import { LineLog } from '../../activities/mcp/line-log.ts';
import { describeTools, listAllTools, MOST_PAGES } from '../../activities/mcp/listing.ts';
import { MessageReader } from '../../activities/mcp/message-reader.ts';
import { parseMessage, toToolResponse } from '../../activities/mcp/messages.ts';
import { createSchemaChecker } from '../../activities/mcp/schema-check.ts';
import { createServerLog, type PoolLogEntry } from '../../activities/mcp/server-log.ts';
import { validateArguments } from '../../activities/model/validate-arguments.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';

const check = (schema: JsonValue | undefined): Promise<string | undefined> =>
  createSchemaChecker(AbortSignal.timeout(30_000))(schema);

describe('createSchemaChecker', () => {
  it('reports a schema that takes a core for minutes, once and again, and goes on', async () => {
    let doubled: JsonObject = { type: 'string' };
    for (let level = 0; level < 15; level += 1) doubled = { anyOf: [doubled, doubled] };
    const before = performance.now();
    const schema = { type: 'object', properties: { doubled } };
    for (const _time of [1, 2]) expect(await check(schema)).toBe('inputSchema takes more than 2 s to compile');
    expect(performance.now() - before).toBeLessThan(20_000);
    expect(await check({ type: 'object', properties: { a: { type: 'string' } } })).toBeUndefined();
  });

  it('takes 5,000 properties side by side, whose faults are then found', async () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `field_${index}`);
    const schema = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])) };
    expect(await check(schema)).toBeUndefined();
    expect(validateArguments(schema, { field_0: 'a', field_4999: 'b' })).toBeNull();
    expect(validateArguments(schema, { field_4999: 7 })).toBe('/field_4999 must be string');
  });

  it('says of a schema in itself a thousand times that it is nested too deeply', async () => {
    let nested: JsonObject = { type: 'string' };
    for (let level = 0; level < 1_000; level += 1) nested = { type: 'object', properties: { nested } };
    expect(await check(nested)).toBe('inputSchema is nested too deeply to be compiled');
  });
});

describe('MessageReader', () => {
  it('cuts lines wherever chunks end, within a character too', () => {
    const bytes = Buffer.from('one\nzwölf 🦀\n\nlast');
    for (const size of [1, 2, 3, 5, 100]) {
      const reader = new MessageReader(100);
      const lines: string[] = [];
      for (let at = 0; at < bytes.length; at += size)
        lines.push(...reader.append(bytes.subarray(at, at + size)).map(String));
      expect([...lines, reader.rest()]).toEqual(['one', 'zwölf 🦀', '', 'last']);
    }
  });

  it('refuses a line above the limit, whether its end has come or not', () => {
    expect(() => new MessageReader(4).append(Buffer.from('12345'))).toThrow('more than 4 bytes');
    expect(() => new MessageReader(4).append(Buffer.from('1\n12345\n'))).toThrow('more than 4 bytes');
    expect(new MessageReader(4).append(Buffer.from('1234\n1234\n'))).toEqual(['1234', '1234']);
  });

  it('takes 50 MB in chunks of 64 KB without copying what came before each time', () => {
    const reader = new MessageReader(64 * 1024 * 1024);
    const chunk = Buffer.alloc(65_536, 'x');
    const before = performance.now();
    for (let count = 0; count < 800; count += 1) reader.append(chunk);
    const [line] = reader.append(Buffer.from('\n'));
    expect(performance.now() - before).toBeLessThan(5_000);
    expect(line).toHaveLength(800 * 65_536);
  });
});

describe('parseMessage', () => {
  it.each(['a log line', '7', '"text"', '{"level":"info"}', '{"jsonrpc":"2.0"}'])(
    'takes for no message: %s',
    (line) => {
      expect(parseMessage(line)).toBeUndefined();
    },
  );

  it('turns an answer of the wrong form into an error answer to the same request', () => {
    expect(parseMessage('{"jsonrpc":"2.0","id":4,"result":null}')).toMatchObject({ id: 4, error: { code: -32_600 } });
  });
});

describe('toToolResponse', () => {
  it.each([
    ['nothing', {}, { content: [] }],
    ['content that is no list', { content: 'x' }, { content: ['x'] }],
    ['structured content of null', { content: [], structuredContent: null }, { content: [] }],
    ['a flag that is no boolean', { content: [], isError: 'yes' }, { content: [] }],
  ])('bears %s', (_, result, response) => {
    expect(toToolResponse(result)).toEqual(response);
  });
});

describe('listAllTools', () => {
  it.each([
    ['empty', ''],
    ['null', null],
    ['a number', 4],
  ])('ends at a cursor that is %s', async (_, nextCursor) => {
    let pages = 0;
    const tools = await listAllTools(() => {
      pages += 1;
      return Promise.resolve({ tools: [pages], nextCursor });
    });
    expect(tools).toEqual([1]);
  });

  it('ends at a cursor that was there before', async () => {
    const tools = await listAllTools(({ cursor }) => {
      const page = cursor === undefined ? 0 : Number(cursor);
      return Promise.resolve({ tools: [page], nextCursor: String((page + 1) % 3) });
    });
    expect(tools).toEqual([0, 1, 2, 0]);
  });

  it('ends with a server that always has another page', async () => {
    let pages = 0;
    await listAllTools(() => {
      pages += 1;
      return Promise.resolve({ tools: [], nextCursor: String(pages) });
    });
    expect(pages).toBe(MOST_PAGES);
  });

  it('sends each cursor as it came', async () => {
    const asked: JsonObject[] = [];
    await listAllTools((params) => {
      asked.push(params);
      return Promise.resolve(asked.length === 1 ? { tools: [], nextCursor: 'c' } : { tools: [] });
    });
    expect(asked).toEqual([{}, { cursor: 'c' }]);
  });
});

describe('describeTools', () => {
  const inputSchema = { type: 'object' };

  it('gives a tool that is listed twice once, and says so only where the two differ', async () => {
    const raw = [
      { name: 'a', inputSchema },
      { name: 'a', inputSchema },
      { name: 'b', inputSchema },
      { name: 'b', description: 'other', inputSchema },
    ];
    const { tools, problems } = await describeTools(raw, check, {});
    expect(tools.map((tool) => tool.name)).toEqual(['a', 'b']);
    expect(problems).toEqual([{ tool: 'b', problem: expect.stringContaining('more than once') }]);
  });

  it('keeps a good tool beside bad copies of it, before and behind, and names each of them', async () => {
    const bad = (type: string) => ({ name: 'a', inputSchema: { type: 'object', properties: { x: { type } } } });
    const good = { name: 'a', description: 'good', inputSchema };
    const { tools, problems } = await describeTools(
      [bad('strnig'), bad('intger'), good, good, bad('nubmer')],
      check,
      {},
    );
    expect(tools).toEqual([{ name: 'a', description: 'good', inputSchema }]);
    expect(problems).toEqual([
      { tool: 'a', problem: expect.stringMatching(/^inputSchema /) },
      { tool: 'a', problem: expect.stringMatching(/^inputSchema /) },
      { tool: 'a', problem: expect.stringContaining('first good one') },
    ]);
  });

  it('leaves out what is no tool, and takes no hint that is no boolean', async () => {
    const raw = [
      {},
      null,
      'x',
      { name: '' },
      { name: 'a', inputSchema, annotations: { readOnlyHint: 'true', title: 'A' } },
    ];
    const { tools, problems } = await describeTools(raw, check, {});
    expect(tools).toEqual([{ name: 'a', inputSchema, annotations: { title: 'A' } }]);
    expect(problems).toHaveLength(4);
  });

  it('lets the configuration override single hints', async () => {
    const raw = [{ name: 'a', inputSchema, annotations: { readOnlyHint: true, idempotentHint: true } }];
    const { tools } = await describeTools(raw, check, { a: { readOnlyHint: false } });
    expect(tools[0]?.annotations).toEqual({ readOnlyHint: false, idempotentHint: true });
  });
});

describe('a schema', () => {
  it.each<[string, JsonValue]>([
    ['2020-12 by default', { type: 'object', properties: { a: { prefixItems: [{ type: 'string' }] } } }],
    [
      'draft 7 by its name',
      { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { a: { items: [{}] } } },
    ],
    ['draft 7 without its name', { type: 'object', properties: { a: { type: 'array', items: [{ type: 'string' }] } } }],
    ['a draft nobody knows', { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object' }],
    ['definitions of its own', { type: 'object', $defs: { t: {} }, properties: { a: { $ref: '#/$defs/t' } } }],
    ['formats and keywords nobody knows', { type: 'object', 'x-order': 1, properties: { a: { format: 'zip' } } }],
    ['an $id that another tool has too', { $id: 'https://example.com/a', type: 'object' }],
    ['the same $id', { $id: 'https://example.com/a', type: 'object', properties: {} }],
  ])('is good: %s', async (_, schema) => {
    expect(await check(schema)).toBeUndefined();
  });

  it.each<[string, JsonValue | undefined]>([
    ['none', undefined],
    ['no object', true],
    ['the schema of a list', { type: 'array' }],
    ['without a type', {}],
    ['with a reference to nowhere', { type: 'object', properties: { a: { $ref: '#/$defs/t' } } }],
    ['with a pattern that is none', { type: 'object', properties: { a: { pattern: '(' } } }],
  ])('is bad: %s', async (_, schema) => {
    expect(await check(schema)).toMatch(/^inputSchema /);
  });
});

describe('LineLog', () => {
  it('writes whole lines, bounded in length and number', () => {
    const lines: string[] = [];
    const log = new LineLog({
      redact: (text) => text.replaceAll('secret', '***'),
      longestSecret: () => 6,
      write: (line) => lines.push(line),
    });
    log.append(Buffer.from('a sec'));
    log.append(Buffer.from(`ret\n${'x'.repeat(10_000)}\n`));
    expect(lines).toEqual(['a ***', 'x'.repeat(2_000)]);
    for (let count = 0; count < 10_000; count += 1) log.line('more');
    expect(lines).toHaveLength(201);
  });
});

describe('the log of a server', () => {
  it('never quotes an answer that came late', () => {
    const entries: PoolLogEntry[] = [];
    const log = createServerLog(
      'a',
      (entry) => entries.push(entry),
      (text) => text,
    );
    log.trouble(new Error('Received a response for an unknown message ID: {"result":"private"}'));
    expect(entries).toEqual([{ level: 'debug', server: 'a', message: 'a late answer was dropped' }]);
  });
});
