// Turns with real MCP servers, through the plugin: over stdio and HTTP, all content kinds, gates, selectors, dead servers.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TurnView } from '../../client/turn-view.ts';
import type { ScriptedToolCall } from '../../testing/scripted-model.ts';
import { packagedFile, packagedServer } from '../support/mcp-pools.ts';
import { activitiesOf, contentText, inOrder, toolTexts } from '../support/turn-history.ts';
import { at, decide, waitingCall } from '../support/approvals.ts';
import { createWorld, type EndedTurn, type World } from '../support/turn-world.ts';

const caniuse = packagedFile('caniuse-db/data.json');
let world: World;
let folder: string;
let web: ChildProcess;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'longshore-mcp-')));
  const port = await freePort();
  web = await startWeb(port);
  const mcpServers = {
    fs: packagedServer('@modelcontextprotocol/server-filesystem/dist/index.js', [folder, dirname(caniuse)]),
    everything: packagedServer('@modelcontextprotocol/server-everything/dist/index.js', ['stdio']),
    calc: { ...packagedServer('@coo-quack/calc-mcp/dist/index.js'), description: 'Sums and encodings.' },
    dead: {
      type: 'stdio',
      command: process.execPath,
      args: ['-e', 'console.error("the moon is full"); process.exit(3)'],
    },
    web: { type: 'http', url: `http://127.0.0.1:${port}/mcp` },
  };
  world = await createWorld({ plugin: { mcp: { mcpServers } } });
});
afterAll(async () => {
  await world.close();
  web.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  // A server that listens on TCP has an address with a port.
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function startWeb(port: number): Promise<ChildProcess> {
  const program = packagedFile('@modelcontextprotocol/server-everything/dist/index.js');
  const child = spawn(process.execPath, [program, 'streamableHttp'], { env: { ...process.env, PORT: String(port) } });
  for (let output = ''; !output.includes('listening');) output += String((await once(child.stderr, 'data'))[0]);
  child.stderr.resume();
  child.stdout.resume();
  return child;
}

const open = (name: string, more: object = {}) => ({ name, preload: true, require_approval_for_tools: [], ...more });

/** One step with these calls on these servers, then the answer. */
function calls(servers: readonly object[], ...toolCalls: readonly ScriptedToolCall[]): Promise<EndedTurn> {
  return world.run({ mcp_servers: servers }, { script: inOrder({ toolCalls }, { text: 'done' }) });
}

const firstCall = (view: TurnView) => view.steps[0]?.toolCalls[0];

describe('content kinds over stdio', () => {
  it('[MCP-1] text: a file of 4.7 MB sent twice in one message is saved as that file, byte for byte (view-7)', async () => {
    const { view, result, requests } = await calls([{ name: 'fs', preload: true }], {
      name: 'fs__read_text_file',
      arguments: { path: caniuse },
    });
    expect(result).toMatchObject({ status: 'completed' });
    const call = firstCall(view);
    expect(call).toMatchObject({ outcome: 'ok', placement: 'file', rule: 'per-result', bytes: 4_749_325, files: [] });
    const [bytes, blob] = await Promise.all([readFile(caniuse), world.store.readBlob(call?.sha256 ?? '')]);
    expect(Buffer.compare(bytes, blob)).toBe(0);
    expect(toolTexts(requests[1])[0]).toContain(call?.path ?? 'no path');
    expect(view.history.bytes).toBeLessThan(100_000);
  });

  it('[MCP-2] images reach the model as image parts beside their text, and are files too', async () => {
    const { view, requests } = await calls([open('everything')], { name: 'everything__get-tiny-image', arguments: {} });
    const call = firstCall(view);
    expect(call).toMatchObject({ outcome: 'ok', placement: 'inline' });
    expect(call?.files).toMatchObject([{ mediaType: 'image/png' }]);
    const image = Buffer.from(await world.store.readBlob(call?.files[0]?.sha256 ?? '')).toString('base64');
    expect(JSON.stringify(requests[1]?.messages)).toContain(`data:image/png;base64,${image}`);
    expect(toolTexts(requests[1])[0]).toContain(call?.files[0]?.path);
  });

  it('[MCP-3] structured content, resources and links: nothing is lost, nothing told twice', async () => {
    const { view, requests } = await calls(
      [open('everything')],
      { name: 'everything__get-structured-content', arguments: { location: 'Chicago' } },
      { name: 'everything__get-resource-reference', arguments: { resourceType: 'Text', resourceId: 1 } },
      { name: 'everything__get-resource-reference', arguments: { resourceType: 'Blob', resourceId: 2 } },
      { name: 'everything__get-resource-links', arguments: { count: 2 } },
    );
    const [structured, text, blob] = view.steps[0]?.toolCalls ?? [];
    const texts = toolTexts(requests[1]);
    expect(JSON.parse(texts[0] ?? '')).toHaveProperty('temperature');
    expect(structured?.files).toEqual([]);
    expect(text?.files).toHaveLength(1);
    const body = Buffer.from(await world.store.readBlob(text?.files[0]?.sha256 ?? '')).toString('utf8');
    expect(body).toMatch(/resource/i);
    expect(`${texts[1]}${body}`).toContain('1');
    expect(blob?.files).toHaveLength(1);
    expect(texts[3]).toMatch(/:\/\//);
  });

  it('[MCP-4] an error of the tool keeps its flag and reaches the model as it came', async () => {
    const { view, requests } = await calls([{ name: 'fs', preload: true }], {
      name: 'fs__read_text_file',
      arguments: { path: join(folder, 'not-there.txt') },
    });
    expect(firstCall(view)).toMatchObject({ outcome: 'error', placement: 'inline' });
    expect(toolTexts(requests[1])[0]).toMatch(/ENOENT|no such file/i);
  });
});

describe('a server over Streamable HTTP', () => {
  it('[MCP-5] serves a turn like any other', async () => {
    const { view, requests } = await calls(
      [open('web')],
      { name: 'web__echo', arguments: { message: 'over the wire' } },
      { name: 'web__get-sum', arguments: { a: 19, b: 23 } },
    );
    expect(view.steps[0]?.toolCalls.map((one) => one.outcome)).toEqual(['ok', 'ok']);
    const [echo, sum] = toolTexts(requests[1]);
    expect(echo).toContain('over the wire');
    expect(sum).toContain('42');
  });
});

describe('gates and selectors', () => {
  it('[MCP-6] asks about a call of a tool without annotations, since it counts as a write (ask-4)', async () => {
    const toolCalls = [{ name: 'calc__base64', arguments: { input: 'hi', action: 'encode' } }];
    const spec = { mcp_servers: [{ name: 'calc', preload: true }] };
    const turn = await world.start(spec, { text: 'Go on.', script: inOrder({ toolCalls }, { text: 'done' }) });
    const shown = await waitingCall(turn);
    expect(shown).toMatchObject({ server: 'calc', tool: 'base64', tags: ['@write'], selector: '@write' });
    await decide(at(world, turn), shown, 'deny');
    const { view, requests, history, result } = await turn.ended();
    expect(result.status).toBe('completed');
    expect(firstCall(view)).toMatchObject({ outcome: 'denied', placement: 'inline', attempts: 0 });
    expect(toolTexts(requests[1])[0]).toMatch(/denied this call of `base64` on server `calc`/);
    expect(activitiesOf(history, 'longshoreCallTool')).toHaveLength(0);
  });

  it('[MCP-6] runs it where the spec gates nothing', async () => {
    const { view, requests } = await calls([open('calc')], {
      name: 'calc__base64',
      arguments: { input: 'hi', action: 'encode' },
    });
    expect(firstCall(view)).toMatchObject({ outcome: 'ok' });
    expect(toolTexts(requests[1])[0]).toContain('aGk=');
  });

  it('[MCP-7] does not call a tool that is disabled or not enabled, even if the model asks for it', async () => {
    const path = join(folder, 'precious.txt');
    await writeFile(path, 'precious');
    const write = { name: 'fs__write_file', arguments: { path, content: 'gone' } };
    for (const more of [
      { enable_tools: ['@read-only'] },
      { disable_tools: ['write_file'] },
      { enable_tools: ['read_text_file'] },
    ]) {
      const { view, requests, history } = await calls([open('fs', more)], write);
      expect(requests[0]?.tools?.map((tool) => tool.function.name)).not.toContain('fs__write_file');
      expect(requests[0]?.tools?.map((tool) => tool.function.name)).toContain('fs__read_text_file');
      expect(firstCall(view)?.outcome).toBe('error');
      expect(activitiesOf(history, 'longshoreCallTool')).toHaveLength(0);
      expect(await readFile(path, 'utf8')).toBe('precious');
    }
  });

  it('[MCP-8] ends typed where the spec names a tool that the server does not offer, before the model is asked', async () => {
    for (const key of ['enable_tools', 'disable_tools', 'require_approval_for_tools']) {
      const { result, requests } = await calls([{ name: 'fs', preload: true, [key]: ['serach'] }]);
      expect(result).toMatchObject({ status: 'failed', error: { type: 'ToolUnknown' }, steps: 0 });
      expect(result.error?.message).toContain('serach');
      expect(result.error?.message).toContain('fs');
      expect(requests).toHaveLength(0);
    }
  });

  it('[MCP-9] ends typed where the spec names a server that nobody configured, and lists those that are', async () => {
    const { result } = await calls([{ name: 'sf', preload: true }]);
    expect(result).toMatchObject({ status: 'failed', error: { type: 'McpServerUnknown' } });
    expect(`${result.error?.message} ${result.error?.mend}`).toMatch(/everything/);
  });
});

describe('a server that does not start', () => {
  it('[MCP-10] beside a healthy one is told to the model; the turn goes on (srv-4)', async () => {
    const { result, requests, view } = await calls(
      [open('calc'), open('dead')],
      { name: 'dead__anything', arguments: {} },
      { name: 'calc__base64', arguments: { input: 'hi', action: 'encode' } },
    );
    expect(result.status).toBe('completed');
    expect(contentText(requests[0]?.messages[0])).toMatch(/dead: not available/);
    expect(contentText(requests[0]?.messages[0])).toContain('calc: Sums and encodings.');
    expect(view.steps[0]?.toolCalls.map((one) => one.outcome)).toEqual(['error', 'ok']);
  });
});
