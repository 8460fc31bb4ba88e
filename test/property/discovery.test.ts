// The discovery tools over hostile catalogs: the budget holds for every answer, pages are complete, and all that is cut can be
// reached by the pointers that the answers name.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ServerCatalog } from '../../activities/discovery/context.ts';
import { shownName } from '../../activities/discovery/lines.ts';
import { callDiscoveryTool } from '../../activities/discovery/server.ts';
import { countTokens } from '../../activities/measure.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { DISCOVERY_TOOLS } from '../../shared/discovery-tools.ts';
import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { serverCatalog } from '../support/catalogs.ts';

const piece = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.constantFrom(
    '<|endoftext|>',
    '👩‍👩‍👧‍👦',
    '漢字',
    '\ud800',
    '\n',
    '"',
    '\\',
    ' ',
    '[cut, ',
    '~',
    '/',
    '<b>',
    'a. ',
    '__proto__',
  ),
);
/** Texts of up to so many thousand characters of one piece, or of some hundred of several. */
const texts = (...times: readonly number[]): fc.Arbitrary<string> =>
  fc
    .tuple(fc.array(piece, { maxLength: 20 }), fc.constantFrom(...times))
    .map(([pieces, times]) => pieces.join('').slice(0, 40).repeat(times));
const longText = texts(1, 1, 1, 7, 100);
const hugeText = texts(1, 1, 7, 400, 10_000);
const name = fc.oneof(
  fc.string({ minLength: 1, maxLength: 30 }),
  longText.map((text) => text || 'x'),
  fc.constantFrom('a', '__proto__', '…'),
);

const { schema } = fc.letrec<{ schema: JsonValue }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    longText,
    fc.constantFrom<JsonValue>(null, true, 1e300, [], {}, { $ref: '#/$defs/a' }, { $ref: '#' }, { $ref: '#/a/~' }),
    fc.array(tie('schema'), { maxLength: 6 }),
    fc.dictionary(name, tie('schema'), { maxKeys: 6 }),
    fc.dictionary(
      fc.constantFrom('type', 'enum', 'items', 'anyOf', 'properties', '$defs', 'a', 'required'),
      tie('schema'),
      { maxKeys: 5 },
    ),
  ),
}));

const deep = fc.integer({ min: 50, max: 3_000 }).map((levels) => {
  let value: JsonValue = 'end';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? { properties: value } : { a: value };
  return value;
});
const wide = fc
  .tuple(fc.integer({ min: 100, max: 1_000 }), fc.string({ maxLength: 30 }))
  .map(([count, name]) => numbered(count, name));
const inputSchema = fc
  .oneof(
    schema,
    deep,
    wide,
    wide.map((properties) => ({ type: 'object', properties })),
  )
  .map((value): JsonObject => (isObject(value) ? (value as JsonObject) : { value }));

const tool = fc.record({ tool: name, description: hugeText, title: longText, inputSchema, outputSchema: inputSchema });
const catalogs = fc
  .array(fc.tuple(name, fc.uniqueArray(tool, { maxLength: 5, selector: ({ tool }) => tool })), { maxLength: 3 })
  .map((servers) => servers.map(([server, tools]) => serverCatalog(server, tools)));

function numbered(count: number, name: string): JsonObject {
  const entries = Array.from({ length: count }, (_, n): [string, JsonValue] => [`${name}${n}`, { type: 'string' }]);
  return Object.fromEntries(entries);
}

describe('a discovery answer', () => {
  it('[DISC-6] has no more tokens than its budget, whatever the catalogs and the call', async () => {
    const pointer = fc.oneof(
      fc.constantFrom('', '/properties', '/a', '/~at:0', '/~from:1', '/~description', '/~description/~from:9', '#'),
      longText,
    );
    await fc.assert(
      fc.asyncProperty(
        catalogs,
        fc.constantFrom(...DISCOVERY_TOOLS, 'other'),
        fc.record({ server: fc.nat(2), tool: fc.nat(4), known: fc.boolean(), pointer, text: hugeText }),
        fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 300, max: 6_000 })),
        async (catalogs, call, { server, tool, known, pointer, text }, budget) => {
          const catalog = catalogs[server];
          const mcp_server = known ? (catalog?.server ?? text) : text;
          const tool_name = known ? (catalog?.tools[tool]?.tool ?? text) : text;
          const args: Readonly<Record<string, JsonObject>> = {
            search_tools: { query: text || 'a', ...(known && { mcp_server }), limit: 50 },
            list_tools: { mcp_server, cursor: known ? '' : text },
            get_tool_info: { mcp_server, tool_name, pointer },
            get_tool_output_schema: { mcp_server, tool_name, pointer },
          };
          const answer = await callDiscoveryTool(call, args[call] ?? { [text]: text }, { catalogs, budget });
          expect(answer.text).not.toBe('');
          expect(answer.text.isWellFormed()).toBe(true);
          expect((await countTokens(answer.text, 100_000)).tokens).toBeLessThanOrEqual(budget);
        },
      ),
      { numRuns: 150 },
    );
  });
});

async function pagesOf(catalog: ServerCatalog, budget: number): Promise<readonly string[]> {
  const names: string[] = [];
  let cursor = '';
  for (;;) {
    const args = { mcp_server: catalog.server, cursor };
    const { text } = await callDiscoveryTool('list_tools', args, { catalogs: [catalog], budget });
    expect((await countTokens(text, 100_000)).tokens).toBeLessThanOrEqual(budget);
    const [head = '', ...lines] = text.split('\n');
    const [, from, to] = /^Tools (\d+) to (\d+) of /.exec(head) ?? [];
    expect([Number(from), Number(to)]).toEqual([names.length + 1, names.length + lines.length]);
    expect(lines.length).toBeGreaterThan(0);
    names.push(...lines);
    const next = /Next page: cursor "([^"]+)"\.$/.exec(head)?.[1];
    if (next === undefined) return names;
    cursor = next;
  }
}

/** Lines that are not the tool's whose turn it is; one more or less counts too. */
function misplaced(lines: readonly string[], tools: readonly CatalogTool[]): readonly string[] {
  const sorted = tools.toSorted((a, b) => (a.exposedName < b.exposedName ? -1 : 1));
  const isRight = (line: string, tool: CatalogTool | undefined): boolean =>
    tool !== undefined && (line.startsWith(shownName(tool)) || line === tool.exposedName);
  const wrong = lines.filter((line, index) => !isRight(line, sorted[index]));
  return lines.length === sorted.length ? wrong : [...wrong, `${lines.length} of ${sorted.length}`];
}

describe('the pages of list_tools', () => {
  it('[DISC-3] have each tool once, by name, whatever the order, the names and the budget', async () => {
    const tools = fc.uniqueArray(fc.record({ tool: name, description: longText }), {
      minLength: 1,
      maxLength: 40,
      selector: ({ tool }) => tool,
    });
    await fc.assert(
      fc.asyncProperty(tools, fc.integer({ min: 300, max: 1_500 }), async (tools, budget) => {
        const catalog = serverCatalog('shop', tools);
        expect(misplaced(await pagesOf(catalog, budget), catalog.tools)).toEqual([]);
      }),
      { numRuns: 25 },
    );
  });

  it('[DISC-3] have each of 10,000 tools once', async () => {
    const tools = Array.from({ length: 10_000 }, (_, n) => ({
      tool: `tool_${(n * 7_919) % 10_000}`,
      description: 'Does it.',
    }));
    const catalog = serverCatalog('many', tools);
    expect(misplaced(await pagesOf(catalog, 20_000), catalog.tools)).toEqual([]);
    const { text } = await callDiscoveryTool('search_tools', { query: 'tool 4711' }, { catalogs: [catalog] });
    expect(text.split('\n')[1]).toBe('tool_4711() — Does it.');
  });
});

/** A schema whose texts are all different, so that each can be looked for. */
function withLeaves(shape: JsonValue): { readonly value: JsonValue; readonly leaves: ReadonlySet<string> } {
  const leaves = new Set<string>();
  const visit = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value === 'object' && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, visit(member)]));
    }
    const leaf = `leaf-${leaves.size}-${'x'.repeat(leaves.size % 50)};`;
    leaves.add(leaf);
    return leaf;
  };
  return { value: visit(shape), leaves };
}

describe('a schema that is cut', () => {
  const key = fc.oneof(
    fc.string({ minLength: 1, maxLength: 12 }),
    fc.constantFrom('a/b', 'a~b', '~1', '__proto__', '…', 'x'.repeat(150)),
  );
  const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4, depthSize: 'large' },
      fc.constant<JsonValue>(null),
      fc.array(tie('tree'), { maxLength: 12 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 12 }),
    ),
  }));

  it('[DISC-4] can be walked to every one of its parts by the pointers that the answers name', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(tree, { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 350, max: 1_000 }),
        async (shape, budget) => {
          const { value, leaves } = withLeaves(shape);
          const catalog = serverCatalog('shop', [{ tool: 't', outputSchema: { value } }]);
          const missing = new Set(leaves);
          const waiting = [''];
          const asked = new Set<string>();
          for (let pointer = waiting.pop(); pointer !== undefined; pointer = waiting.pop()) {
            if (asked.has(pointer)) continue;
            asked.add(pointer);
            const args = { mcp_server: 'shop', tool_name: 't', pointer };
            const { text, isError } = await callDiscoveryTool('get_tool_output_schema', args, {
              catalogs: [catalog],
              budget,
            });
            expect(isError ? `${pointer}: ${text}` : '').toBe('');
            const shown = text.split('\n').find((row) => /^["{[]/.test(row)) ?? '';
            collect(JSON.parse(shown) as JsonValue, missing, waiting);
          }
          expect([...missing]).toEqual([]);
        },
      ),
      { numRuns: 25 },
    );
  });
});

function collect(value: JsonValue, missing: Set<string>, waiting: string[]): void {
  if (typeof value === 'string') {
    missing.delete(value);
    const pointer = /\[cut, .*?pointer ([\s\S]*)\]$/.exec(value)?.[1];
    if (pointer !== undefined) waiting.push(pointer);
  } else if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value as JsonObject)) collect(member, missing, waiting);
  }
}
