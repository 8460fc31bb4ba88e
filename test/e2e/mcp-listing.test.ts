// Servers that are lost while they list their tools, servers that were not there when the turn asked, and tools whose names
// no provider takes.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { StdioServerConfig } from '../../shared/mcp-config.ts';
import { inOrder, toolTexts } from '../support/turn-history.ts';
import { testPool } from '../support/mcp-pools.ts';
import { createWorld } from '../support/turn-world.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-listing-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Ends at so many of its first listings, then lists a tool of that name. */
function frail(file: string, deaths: number, tool = 'look'): StdioServerConfig {
  const program = `
    const fs = require('node:fs');
    const [file, deaths, tool] = process.argv.slice(1);
    const seen = () => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8').length : 0);
    const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === 'initialize') {
        const { protocolVersion } = params;
        answer(id, { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'frail', version: '1' } });
      }
      if (method === 'tools/call') answer(id, { content: [{ type: 'text', text: 'word '.repeat(20000) }] });
      if (method !== 'tools/list') return;
      fs.appendFileSync(file, 'x');
      if (seen() <= Number(deaths)) process.exit(1);
      const inputSchema = { type: 'object' };
      answer(id, { tools: [{ name: tool, description: 'Looks.', inputSchema, annotations: { readOnlyHint: true } }] });
    });`;
  return { type: 'stdio', command: process.execPath, args: ['-e', program, file, String(deaths), tool], env: {} };
}

/** Refuses to list its tools, at length. */
function talkative(): StdioServerConfig {
  const program = `
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      const say = (more) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...more }));
      if (method === 'initialize') {
        const { protocolVersion } = params;
        say({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'talkative', version: '1' } } });
      }
      const message = 'no tools for ' + process.env.TOKEN + ': ' + 'because '.repeat(600_000);
      if (method === 'tools/list') say({ error: { code: -32603, message } });
    });`;
  return { type: 'stdio', command: process.execPath, args: ['-e', program], env: { TOKEN: '${TOKEN}' } };
}

it('[MCP-10] a listing refused with 5 MB of words is told in short, without secrets, and the turn goes on', async () => {
  const TOKEN = 'hush-hush-123456';
  const world = await createWorld({ plugin: { mcp: { mcpServers: { talkative: talkative() } } }, extraEnv: { TOKEN } });
  try {
    for (const preload of [true, false]) {
      const turn = await world.run(
        { mcp_servers: [{ name: 'talkative', preload }] },
        { script: inOrder({ toolCalls: [{ name: 'talkative__any', arguments: {} }] }, { text: 'done' }) },
      );
      expect(turn.result).toMatchObject({ status: 'completed', answer: 'done' });
      const [told = ''] = toolTexts(turn.requests[1]);
      expect(told).toMatch(/did not list its tools: no tools for \[redacted\]: because because/);
      expect(told.length).toBeLessThan(2_000);
    }
  } finally {
    await world.close();
  }
});

describe('a listing whose connection is lost', () => {
  it('is asked for again', async () => {
    const file = join(folder, 'once');
    const { pool } = testPool({ evil: frail(file, 1) });
    const { tools } = await pool.server('evil').listTools(AbortSignal.timeout(30_000));
    expect(tools.map((tool) => tool.name)).toEqual(['look']);
    expect(await readFile(file, 'utf8')).toBe('xx');
  });

  it('again and again is given up, and the error speaks of a listing', async () => {
    const file = join(folder, 'always');
    const { pool } = testPool({ evil: frail(file, 99) });
    const listing = pool.server('evil').listTools(AbortSignal.timeout(30_000));
    const error: unknown = await listing.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ type: 'McpServerUnavailable' });
    expect(String(error)).toMatch(/MCP server `evil`/);
    expect(String(error)).not.toMatch(/was called|A request to/);
    expect((await readFile(file, 'utf8')).length).toBeLessThanOrEqual(3);
  });
});

describe('in a turn', () => {
  const specFor = (name: string) => ({ mcp_servers: [{ name, preload: true, require_approval_for_tools: [] }] });

  it('a call to a server that was not there says so, with the reason', async () => {
    const evil = { command: join(folder, 'no-such-program') };
    const world = await createWorld({ plugin: { mcp: { mcpServers: { evil } } } });
    try {
      const script = inOrder({ toolCalls: [{ name: 'evil__look', arguments: {} }] }, { text: 'done' });
      const { result, requests } = await world.run(specFor('evil'), { script });
      expect(result).toMatchObject({ status: 'completed' });
      const [text] = toolTexts(requests[1]);
      expect(text).toContain('server `evil` was not available');
      expect(text).toContain('no-such-program');
      expect(text).not.toContain('There is no tool');
    } finally {
      await world.close();
    }
  });

  it.each(['検索する', '🔎'])('a tool called %s is told by its own name to the model', async (tool) => {
    const { command, args } = frail(join(folder, `named-${tool}`), 0, tool);
    const world = await createWorld({ plugin: { mcp: { mcpServers: { evil: { command, args } } } } });
    try {
      let exposed = '';
      const { result, requests } = await world.run(specFor('evil'), {
        script: (request, index) => {
          exposed = request.tools?.map((one) => one.function.name).find((name) => name.startsWith('evil')) ?? '';
          return index === 0 ? { toolCalls: [{ name: exposed, arguments: {} }] } : { text: 'done' };
        },
      });
      expect(result).toMatchObject({ status: 'completed' });
      const offered = requests[0]?.tools?.find((one) => one.function.name === exposed);
      expect(offered?.function.description).toBe(`Tool "${tool}" of server "evil". Looks.`);
      expect(toolTexts(requests[1])[0]).toContain(`Large result of the tool "${tool}"`);
    } finally {
      await world.close();
    }
  });
});
