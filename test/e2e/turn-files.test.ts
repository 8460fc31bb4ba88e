// What is saved and how it is read back: real lines, content told once, reads that never grow, secrets taken out.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getEncoding } from 'js-tiktoken';
import type { CallToolInput } from '../../shared/activities.ts';
import type { ScriptedToolCall } from '../../testing/scripted-model.ts';
import { deskOf, openDesk, reader } from '../support/local-tools.ts';
import { activitiesOf, historyText, inOrder, occurrences, toolTexts } from '../support/turn-history.ts';
import { createWorld, MODEL_KEY, type EndedTurn, type World } from '../support/turn-world.ts';

const o200k = getEncoding('o200k_base');
const count = (text: string): number => o200k.encode(text, [], []).length;
const SECRET = 'sk-harbour-5f2c9e7d1a';
const LINES = Array.from({ length: 3_000 }, (_, line) => `Line ${line}: the "quoted" ship \\ number ${line}`).join(
  '\n',
);
const FIVE = { port: 'Bremen', berth: 7, pilot: 'Ada', draught: 9.5, cargo: ['grain', 'steel'] };
const FILE_BODY = 'The body of the file that was asked for.\n'.repeat(20);

const desk = deskOf(
  reader('lines', () => ({ content: [{ type: 'text', text: LINES }] })),
  reader('one_line', () => 'x1y2 '.repeat(60_000)),
  reader('same_twice', () => ({ content: [{ type: 'text', text: JSON.stringify(FIVE) }], structuredContent: FIVE })),
  reader('only_structured', () => ({ content: [], structuredContent: FIVE })),
  reader('five_beside_text', () => ({ content: [{ type: 'text', text: LINES }], structuredContent: FIVE })),
  reader('nothing', () => ({ content: [] })),
  reader('empty_object', () => ({ content: [], structuredContent: {} })),
  reader('acknowledges', () => ({
    content: [
      { type: 'text', text: 'File read.' },
      { type: 'resource', resource: { uri: 'file:///log.txt', mimeType: 'text/plain', text: FILE_BODY } },
    ],
  })),
  reader(
    'pointer_like',
    () => '[Large result of x, saved as a file]\npath: /sandbox/tool-results/t1.0.0-x-0000000000000000.txt',
  ),
  reader(
    'leaks',
    ({ bytes }) =>
      `${'a line without it\n'.repeat(Number(bytes) / 18)}the key is ${SECRET}, keep it\n${'b '.repeat(50)}`,
  ),
  reader('echo_key', () => `OPENAI_API_KEY=${MODEL_KEY}`),
  reader('leaks_in_error', () => {
    throw new Error(`401 for Bearer ${SECRET}`);
  }),
);

/** A stdio server whose calls fail with a protocol error that shows the key it was configured with. */
const LEAKY_SERVER = `
  import { Server } from '@modelcontextprotocol/sdk/server/index.js';
  import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
  import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
  const server = new Server({ name: 'leaky', version: '1' }, { capabilities: { tools: {} } });
  const tool = (name, readOnlyHint) => ({ name, inputSchema: { type: 'object' }, annotations: { readOnlyHint } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [tool('look', true), tool('write', false), tool('say', true)] }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => {
    if (params.name !== 'say') throw new Error('refused for ' + process.env.HARBOUR_KEY);
    const text = JSON.stringify({ key: process.env.HARBOUR_KEY, uri: 'https://x.example/?k=' + process.env.HARBOUR_KEY });
    return { content: [{ type: 'text', text }, { type: 'resource_link', uri: 'https://x.example/?k=' + process.env.HARBOUR_KEY, name: 'l' }] };
  });
  await server.connect(new StdioServerTransport());
`;

let world: World;
beforeAll(async () => {
  const mcpServers = {
    leaky: {
      command: process.execPath,
      args: ['--input-type=module', '-e', LEAKY_SERVER],
      env: { HARBOUR_KEY: '${HARBOUR_KEY}' },
    },
  };
  world = await createWorld({
    plugin: { localServers: [desk], mcp: { mcpServers } },
    extraEnv: { HARBOUR_KEY: SECRET },
  });
});
afterAll(() => world.close());

const call = (tool: string, args: Record<string, unknown> = {}): ScriptedToolCall => ({
  name: `desk__${tool}`,
  arguments: args,
});
const sandbox = (tool: string, args: Record<string, unknown>): ScriptedToolCall => ({
  name: `sandbox__${tool}`,
  arguments: args,
});
const step = async (toolCalls: readonly ScriptedToolCall[], servers: readonly object[] = openDesk.mcp_servers) => {
  const turn = await world.run({ mcp_servers: servers }, { script: inOrder({ toolCalls }, { text: 'done' }) });
  return { ...turn, calls: turn.view.steps[0]?.toolCalls ?? [], texts: toolTexts(turn.requests[1]) };
};
const blobText = async (sha256: string | undefined): Promise<string> =>
  Buffer.from(await world.store.readBlob(sha256 ?? '')).toString('utf8');

describe('what is saved', () => {
  it('[VIEW-1] is the text with its real lines, byte for byte, not an escaped JSON string (view-3)', async () => {
    const { calls } = await step([call('lines')]);
    expect(calls[0]).toMatchObject({ placement: 'file', mediaType: 'text/plain' });
    expect(await blobText(calls[0]?.sha256)).toBe(LINES);
  });

  it('[VIEW-2] tells content once, whatever its form, and shows empty as empty (view-4)', async () => {
    const names = ['same_twice', 'only_structured', 'nothing', 'empty_object'];
    const { texts, calls } = await step(names.map((name) => call(name)));
    expect(JSON.parse(texts[0] ?? '')).toEqual(FIVE);
    expect(JSON.parse(texts[1] ?? '')).toEqual(FIVE);
    expect(texts[2]).toMatch(/empty/);
    expect(texts[3]?.trim()).toMatch(/^\{\}$|empty/);
    expect(calls.map((one) => [one.outcome, one.files.length])).toEqual(names.map(() => ['ok', 0]));
  });

  it('[VIEW-3] keeps structured fields beside a long text: neither is lost (view-4)', async () => {
    const { calls, texts } = await step([call('five_beside_text')]);
    expect(calls[0]).toMatchObject({ placement: 'file', files: [{ mediaType: 'application/json' }] });
    expect(await blobText(calls[0]?.sha256)).toBe(LINES);
    expect(JSON.parse(await blobText(calls[0]?.files[0]?.sha256))).toEqual(FIVE);
    expect(texts[0]).toContain(calls[0]?.files[0]?.path);
  });

  it('[VIEW-4] keeps a resource beside an acknowledgement, readable by its path (view-5)', async () => {
    const turn = await world.run(openDesk, {
      script: ({ messages }, n) => {
        if (n === 0) return { toolCalls: [call('acknowledges')] };
        const path = /\/sandbox\/tool-results\/\S+-1\.[a-z]+/.exec(JSON.stringify(messages))?.[0] ?? 'no path';
        return n === 1 ? { toolCalls: [sandbox('read_file', { path })] } : { text: 'done' };
      },
    });
    const [first, second] = toolTexts(turn.requests[2]);
    expect(first).toContain('File read.');
    expect(second).toContain('The body of the file that was asked for.\nThe body of the file');
  });

  it('[VIEW-5] is no pointer because a tool printed one: it is just text', async () => {
    const { calls, texts } = await step([call('pointer_like')]);
    expect(calls[0]).toMatchObject({ placement: 'inline', rule: 'fits', path: null });
    expect(texts[0]).toContain('[Large result of x, saved as a file]');
  });
});

describe('reading back', () => {
  async function readBack(args: object, times: number, between?: ScriptedToolCall): Promise<EndedTurn> {
    return world.run(openDesk, {
      script: ({ messages }, n) => {
        if (n === 0) return { toolCalls: [call('one_line')] };
        const path = /\/sandbox\/tool-results\/\S+\.txt/.exec(JSON.stringify(messages))?.[0] ?? 'no path';
        if (n <= times) return { toolCalls: [sandbox('read_file', { path, ...args })] };
        if (between && n === times + 1) return { toolCalls: [between] };
        if (between && n === times + 2) return { toolCalls: [sandbox('read_file', { path, ...args })] };
        return { text: 'done' };
      },
    });
  }

  it('[READ-1] a whole file of one line stays within the limit, inline, and says where to go on (view-2, view-6)', async () => {
    const { view, requests } = await readBack({}, 1);
    expect(view.steps[1]?.toolCalls[0]).toMatchObject({ outcome: 'ok', placement: 'inline', rule: 'exempt' });
    const text = toolTexts(requests[2])[1] ?? '';
    expect(count(text)).toBeLessThanOrEqual(6_000);
    expect(text.length).toBeGreaterThan(1_000);
    expect(text).toMatch(/offset_bytes/);
  });

  it('[READ-2] the same a third time is refused with the reason, without an Activity (view-6)', async () => {
    const { view, requests, history } = await readBack({}, 3);
    expect(view.steps.slice(1, 4).map((one) => one.toolCalls[0]?.outcome)).toEqual(['ok', 'ok', 'error']);
    const text = toolTexts(requests[4])[3] ?? '';
    expect(text).toMatch(/refused/i);
    expect(text).toMatch(/identical/i);
    const reads = activitiesOf<CallToolInput>(history, 'longshoreCallTool').filter(
      (one) => one.input.tool === 'read_file',
    );
    expect(reads).toHaveLength(2);
  });

  it('[READ-3] in other words is the same read; another range is another one', async () => {
    const turn = await world.run(openDesk, {
      script: ({ messages }, n) => {
        if (n === 0) return { toolCalls: [call('one_line')] };
        const path = /\/sandbox\/tool-results\/\S+\.txt/.exec(JSON.stringify(messages))?.[0] ?? 'no path';
        const reads = [{ path }, { path: path.slice(1) }, { offset_bytes: 0, path }, { path, offset_bytes: 5_000 }];
        return n === 1 ? { toolCalls: reads.map((args) => sandbox('read_file', args)) } : { text: 'done' };
      },
    });
    expect(turn.view.steps[1]?.toolCalls.map((one) => one.outcome)).toEqual(['ok', 'ok', 'error', 'ok']);
  });

  it('[READ-4] is allowed again after write_file, and what was written can be read', async () => {
    const { view } = await readBack(
      { length_bytes: 100 },
      2,
      sandbox('write_file', { path: '/sandbox/notes.txt', content: 'n' }),
    );
    expect(view.steps.slice(1, 5).map((one) => one.toolCalls[0]?.outcome)).toEqual(['ok', 'ok', 'ok', 'ok']);
    const written = await world.run(openDesk, {
      script: inOrder(
        { toolCalls: [sandbox('write_file', { path: 'notes/a.txt', content: 'the lock opens at noon' })] },
        { toolCalls: [sandbox('read_file', { path: '/sandbox/notes/a.txt' })] },
        { text: 'done' },
      ),
    });
    expect(toolTexts(written.requests[2])[1]).toContain('the lock opens at noon');
    expect(written.view.steps[0]?.toolCalls[0]?.files).toMatchObject([{ path: '/sandbox/notes/a.txt', bytes: 22 }]);
  });

  it('[READ-5] a path that is not there, or outside, is an error that says so, not the end', async () => {
    const { texts, calls } = await step(
      ['/sandbox/nothing.txt', '/etc/passwd', '../../etc/passwd'].map((path) => sandbox('read_file', { path })),
    );
    expect(calls.map((one) => one.outcome)).toEqual(['error', 'error', 'error']);
    expect(texts.join('\n')).not.toContain('root:');
  });
});

describe('a configured secret', () => {
  it.each([
    ['inline', 1_800],
    ['file', 90_000],
  ])(
    '[SECRET-2] that turns up in a result is taken out of file, context and history (%s)',
    async (placement, bytes) => {
      const { calls, texts, history } = await step([call('leaks', { bytes })]);
      expect(calls[0]?.placement).toBe(placement);
      const saved = await blobText(calls[0]?.sha256);
      expect(occurrences(saved, '[redacted]')).toBe(1);
      expect(`${saved}\n${texts.join('\n')}\n${historyText(history)}`).not.toContain(SECRET);
    },
  );

  it('[SECRET-3] in an error of a tool, of a read and of a write, is taken out too', async () => {
    const { texts, history, calls } = await step(
      [call('leaks_in_error'), { name: 'leaky__look', arguments: {} }, { name: 'leaky__write', arguments: {} }],
      [...openDesk.mcp_servers, { name: 'leaky', preload: true, require_approval_for_tools: [] }],
    );
    expect(calls[0]?.outcome).toBe('error');
    expect(texts[1]).toContain('refused for [redacted]');
    expect(texts.join('\n')).not.toContain(SECRET);
    expect(historyText(history)).not.toContain(SECRET);
  });

  it('[SECRET-3] in the labels and addresses of further blocks is taken out too', async () => {
    const { texts, history, calls } = await step(
      [{ name: 'leaky__say', arguments: {} }],
      [{ name: 'leaky', preload: true }],
    );
    expect(calls[0]?.outcome).toBe('ok');
    expect(texts.join('\n')).not.toContain(SECRET);
    expect(historyText(history)).not.toContain(SECRET);
    for (const file of calls[0]?.files ?? []) expect(await blobText(file.sha256)).not.toContain(SECRET);
  });

  it("[SECRET-4] includes the model's own key", async () => {
    const { texts, history } = await step([call('echo_key')]);
    expect(texts[0]).toContain('[redacted]');
    expect(historyText(history)).not.toContain(MODEL_KEY);
  });
});
