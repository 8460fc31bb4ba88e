// Tool results nested without end: what is too deep is left out in words, the rest of the result is kept, and a call that was
// made never ends in an error of ours.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { isDeeperThan, MOST_LEVELS, withoutDepths } from '../../activities/mcp/depth.ts';
import { pickPayload } from '../../activities/payload/pick.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { deskOf, openDesk, writer } from '../support/local-tools.ts';
import { inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type World } from '../support/turn-world.ts';

const DEEP = 100_000;
const nested = (levels: number): JsonValue =>
  JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`) as JsonValue;

let world: World;
beforeAll(async () => {
  // Answers with what its second argument names: structured content, a block or an error's data.
  const program = `
    const deep = '{"a":'.repeat(${DEEP}) + '1' + '}'.repeat(${DEEP});
    const text = '{"type":"text","text":"it is done"}';
    const results = {
      structured: '"result":{"content":[' + text + '],"structuredContent":' + deep + '}',
      block: '"result":{"content":[' + text + ',' + deep + ']}',
      data: '"error":{"code":5,"message":"it is wrong","data":' + deep + '}',
    };
    const answer = (id, more) => console.log('{"jsonrpc":"2.0","id":' + JSON.stringify(id) + ',' + more + '}');
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      const serverInfo = { name: 'deep', version: '1' };
      const { protocolVersion } = params ?? {};
      const hello = { protocolVersion, capabilities: { tools: {} }, serverInfo };
      if (method === 'initialize') answer(id, '"result":' + JSON.stringify(hello));
      const tools = Object.keys(results).map((name) => ({ name, inputSchema: { type: 'object' } }));
      if (method === 'tools/list') answer(id, '"result":' + JSON.stringify({ tools }));
      if (method === 'tools/call') answer(id, results[params.name]);
    });`;
  const deep = { command: process.execPath, args: ['-e', program] };
  const local = deskOf(writer('dig', () => nested(DEEP)));
  world = await createWorld({ plugin: { mcp: { mcpServers: { deep } }, localServers: [local] } });
});
afterAll(() => world.close());

describe('a result nested 100,000 levels deep', () => {
  const spec = { mcp_servers: [{ name: 'deep', preload: true, require_approval_for_tools: [] }] };

  it('of a tool that writes keeps its text and its outcome, and says what was left out', async () => {
    const names = ['structured', 'block', 'data'];
    const toolCalls = names.map((name) => ({ name: `deep__${name}`, arguments: {} }));
    const { result, view, requests } = await world.run(spec, { script: inOrder({ toolCalls }, { text: 'done' }) });
    expect(result).toMatchObject({ status: 'completed' });
    expect(view.steps[0]?.toolCalls.map((call) => call.outcome)).toEqual(['ok', 'ok', 'error']);
    const texts = toolTexts(requests[1]);
    expect(texts[0]).toMatch(/it is done[^]*Structured content nested deeper than 500 levels cannot be kept/);
    expect(texts[1]).toMatch(/it is done[^]*A content block nested deeper than 500 levels cannot be kept/);
    expect(texts[2]).toMatch(/it is wrong[^]*Data nested deeper than 500 levels cannot be kept/);
  });

  it('of a local tool is told in words', async () => {
    const script = inOrder({ toolCalls: [{ name: 'desk__dig', arguments: {} }] }, { text: 'done' });
    const { view, requests } = await world.run(openDesk, { script });
    expect(view.steps[0]?.toolCalls[0]).toMatchObject({ outcome: 'ok' });
    expect(toolTexts(requests[1])[0]).toContain('nested deeper than 500 levels');
  });
});

describe('a result', () => {
  it('always comes out shallow enough to be taken apart, with every shallow text of it', () => {
    const levels = fc.constantFrom(0, 1, MOST_LEVELS - 3, MOST_LEVELS - 2, MOST_LEVELS, MOST_LEVELS + 1, 5_000);
    fc.assert(
      fc.property(levels, levels, levels, (block, structured, other) => {
        const result: JsonObject = {
          content: [{ type: 'text', text: 'kept' }, nested(block)],
          structuredContent: nested(structured),
          other: nested(other),
        };
        const shallow = withoutDepths(result);
        expect(isDeeperThan(shallow, MOST_LEVELS)).toBe(false);
        const { content = [] } = shallow;
        const { main } = pickPayload({ content: content as readonly JsonValue[] });
        expect(Buffer.from(main.bytes).toString()).toContain('kept');
      }),
    );
  });
});
