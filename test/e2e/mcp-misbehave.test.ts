// Servers that misbehave, through the pool and the Activity `longshoreCallTool`: each fault is one call's, none the Worker's.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { MockActivityEnvironment } from '@temporalio/testing';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { createCallTool } from '../../activities/call-tool.ts';
import { createListTools } from '../../activities/list-tools.ts';
import type { McpPool } from '../../activities/mcp/pool.ts';
import { pickPayload } from '../../activities/payload/pick.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import type { ActivityDependencies } from '../../activities/dependencies.ts';
import type { CallToolInput } from '../../shared/activities.ts';
import type { CatalogFacts } from '../../shared/catalog.ts';
import type { ResultFacts } from '../../shared/facts.ts';
import type { JsonObject } from '../../shared/json.ts';
import { startHttpServer } from '../support/mcp-http-server.ts';
import { specOf } from '../support/turn-world.ts';
import { call, eventually, firstText, isRunning, packagedServer, testPool, testServer } from '../support/mcp-pools.ts';

let folder = '';
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'mcp-misbehave-')));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const contentOf = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

function dependenciesOf(pool: McpPool): ActivityDependencies {
  return {
    store: createLocalStore({ folder: join(folder, 'store'), namespace: 'test' }),
    pool,
    askModel: () => Promise.reject(new Error('no model here')),
    prices: {},
    localServers: [],
    redact: (text) => text,
    redactBytes: (bytes) => bytes,
  };
}

function callOf(tool: string, args: JsonObject = {}): CallToolInput {
  return {
    turn: { workflowId: 'w', session: 's', turn: 1 },
    callKey: 't1/0/0',
    server: 'a',
    tool,
    arguments: args,
    schemaHash: 'none',
    effect: 'read',
    generation: 0,
    perResultTokens: 6_000,
    previewCharacters: 100,
    imageTokens: 1_000,
  };
}

function perform(pool: McpPool, input: CallToolInput): Promise<ResultFacts> {
  return new MockActivityEnvironment().run(createCallTool(dependenciesOf(pool)), input);
}

describe('a server that dies whenever it is started', () => {
  it('is started by calls alone, after a wait that doubles and is told', async () => {
    const file = join(folder, 'dies');
    const server = testServer('dies', { env: { RECORD_FILE: file } });
    const { pool } = testPool({ a: server }, { restartPauses: { firstMs: 4_000, longestMs: 60_000 } });
    const attempt = (): Promise<string> => call(pool, ['a', 'echo']).then(firstText, (error: unknown) => String(error));
    const starts = async (): Promise<number> => (await contentOf(file)).split('started').length - 1;
    let meanwhile = '';
    // A call that comes in the moment of its end is told that the process is gone.
    await eventually(async () => {
      meanwhile = await attempt();
      return /ended without having answered|before it answered/.test(meanwhile);
    });
    expect(meanwhile).toMatch(/it has failed once and is started again in [\d.]+ m?s at the earliest/);
    expect(await starts()).toBe(1);
    await eventually(async () => (await attempt()) !== '' && (await starts()) === 2);
    await eventually(async () => /2 times in a row/.test(await attempt()));
    expect(await starts()).toBe(2);
  });

  it('is started at once where it had worked', async () => {
    const { pool } = testPool({ a: testServer('plain') }, { restartPauses: { firstMs: 60_000, longestMs: 60_000 } });
    for (let round = 0; round < 2; round += 1) {
      await call(pool, ['a', 'echo'], { text: 'x' });
      await expect(call(pool, ['a', 'die'])).rejects.toMatchObject({ type: 'ToolCallFailed' });
    }
  });
});

describe('a Worker that is killed', () => {
  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'by %s leaves neither a deaf server nor what that launched',
    async (signal) => {
      const pidFile = join(folder, `launched-${signal}`);
      const program = fileURLToPath(new URL('../support/mcp-orphan-maker.ts', import.meta.url));
      const worker = spawn(process.execPath, [program, 'deaf-launcher', pidFile], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      const [chunk] = (await once(worker.stdout, 'data')) as [Buffer];
      const pids = [Number(chunk.toString()), Number(await contentOf(pidFile))];
      expect(pids.map(isRunning)).toEqual([true, true]);
      worker.kill(signal);
      await eventually(() => !pids.some(isRunning));
    },
  );
});

describe('a server that asks a person', () => {
  it('over stdio is declined, and the result says so', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    const { content } = await call(pool, ['a', 'ask']);
    const text = '[the server asked: "Who are you?"; declined: nobody could answer]';
    expect(content).toEqual([
      { type: 'text', text: 'it was decline' },
      { type: 'text', text },
    ]);
    expect((await perform(pool, callOf('ask'))).inlineText).toBe(`it was decline\n${text}`);
    expect((await call(pool, ['a', 'echo'], { text: 'x' })).content).toHaveLength(1);
  });

  it('gets the answer of whoever can give one', async () => {
    const asked: unknown[] = [];
    const { pool } = testPool(
      { a: testServer('plain') },
      {
        answerElicitation: (question) => {
          asked.push(question);
          return Promise.resolve({ action: 'accept', content: { name: 'me' } });
        },
      },
    );
    expect((await call(pool, ['a', 'ask'])).content).toEqual([{ type: 'text', text: 'it was accept' }]);
    expect(asked).toMatchObject([{ server: 'a', schema: { type: 'object' } }]);
  });

  it('is declined where the one who answers fails', async () => {
    const answerElicitation = () => Promise.reject(new Error('gone'));
    const { pool } = testPool({ a: testServer('plain') }, { answerElicitation });
    expect(firstText(await call(pool, ['a', 'ask']))).toBe('it was decline');
  });

  it('is declined where it is somebody else’s server', async () => {
    const server = packagedServer('@modelcontextprotocol/server-everything/dist/index.js', ['stdio']);
    const { pool } = testPool({ a: server });
    await pool.server('a').listTools(AbortSignal.timeout(20_000));
    const { content } = await call(pool, ['a', 'trigger-elicitation-request']);
    expect(JSON.stringify(content)).toContain('declined: nobody could answer');
  });
});

describe('a list of tools that changes in a turn (srv-2)', () => {
  it('is recorded with the later calls of that turn, and not with those of a turn that has the new one', async () => {
    const { pool, log } = testPool({ a: testServer('plain') });
    const list = createListTools(dependenciesOf(pool));
    const servers = specOf({ mcp_servers: [{ name: 'a', preload: true }] }).mcp_servers;
    const listed = (workflowId: string) =>
      new MockActivityEnvironment().run(list, { turn: { workflowId, session: 's', turn: 1 }, servers });
    await listed('w');
    expect(await perform(pool, callOf('echo', { text: 'x' }))).not.toHaveProperty('note');
    await call(pool, ['a', 'change']);
    await eventually(() => pool.toolChanges.count('a') === 1);
    expect(await perform(pool, callOf('echo', { text: 'x' }))).toMatchObject({ note: { catalogChanged: true } });
    expect(log.some((entry) => entry.message.includes('list of tools has changed'))).toBe(true);
    await listed('w2');
    const other = { ...callOf('echo', { text: 'x' }), turn: { workflowId: 'w2', session: 's', turn: 1 } };
    expect(await perform(pool, other)).not.toHaveProperty('note');
  });
});

describe('a server that repeats its token', () => {
  it('finds it in no error, log or list of what is not secret, the one that replaced it neither', async () => {
    const { url } = await startHttpServer();
    const env = { TOKEN: 'first-token-123' };
    const headers = { Authorization: 'Bearer ${TOKEN}' };
    const { pool, log } = testPool({ a: { type: 'http', url, headers } }, { env });
    const texts: string[] = [];
    for (const token of ['first-token-123', 'second-token-456']) {
      env.TOKEN = token;
      // The result itself is cleaned where it is staged, with the pool's list.
      expect(firstText(await call(pool, ['a', 'echoes']))).toContain(token);
      texts.push(await call(pool, ['a', 'refuses']).then(firstText, String));
      expect((await call(pool, ['a', 'betrays'])).isError).toBe(true);
    }
    expect(texts).toEqual([expect.stringContaining('[redacted]'), expect.stringContaining('[redacted]')]);
    expect(JSON.stringify([log, texts])).not.toMatch(/first-token|second-token/);
    expect(pool.secrets()).toEqual(expect.arrayContaining(['first-token-123', 'second-token-456']));
  });
});

describe('a server that shows a secret where a text is cut', () => {
  const TOKEN = 'hunter2-hunter2-hunter2';
  const server = (mode: string) =>
    testPool({ a: testServer(mode, { env: { SECRET: '${TOKEN}' } }) }, { env: { TOKEN } }).pool;

  it('finds no part of it in the catalog, in a name or in what is wrong with a tool', async () => {
    const pool = server('tattles');
    const redact = (text: string): string => text.replaceAll(TOKEN, '[redacted]');
    const list = createListTools({ ...dependenciesOf(pool), redact });
    const servers = specOf({ mcp_servers: [{ name: 'a', preload: true }] }).mcp_servers;
    const facts = await new MockActivityEnvironment().run(list, {
      turn: { workflowId: 'w', session: 's', turn: 1 },
      servers,
    });
    const text = JSON.stringify(facts);
    expect(text).toContain('bad-256-[redacted]');
    expect(text).toContain('does not compile');
    expect(text).not.toMatch(/hunt|hunter2/);
  });

  it('finds no part of it in a question that was declined', async () => {
    const pool = server('plain');
    for (const length of [280, 288, 296]) {
      const { content } = await call(pool, ['a', 'ask'], { message: `${'q'.repeat(length)}${TOKEN}` });
      expect(JSON.stringify(content)).toContain('declined');
      expect(JSON.stringify(content)).not.toContain(TOKEN.slice(0, 4));
    }
  });
});

describe('a server that does not come to list its tools', () => {
  it('is left out of the turn, and the reason tells which and how long', async () => {
    const { pool } = testPool({ a: testServer('mute') });
    const list = createListTools({ ...dependenciesOf(pool), listTimeoutMs: 300 });
    const servers = specOf({ mcp_servers: [{ name: 'a', preload: true }] }).mcp_servers;
    const input = { turn: { workflowId: 'w', session: 's', turn: 1 }, servers };
    const facts: CatalogFacts = await new MockActivityEnvironment().run(list, input);
    expect(facts.servers.find(({ name }) => name === 'a')?.unavailable).toBe(
      'MCP server `a` did not start and list its tools within 300 ms',
    );
  });
});

const anyResult = fc.record(
  {
    content: fc.oneof(fc.array(fc.jsonValue()), fc.jsonValue()),
    structuredContent: fc.jsonValue(),
    isError: fc.jsonValue(),
    // One that is no object breaks the form of JSON-RPC, and is an error that says so.
    _meta: fc.dictionary(fc.string(), fc.jsonValue()),
  },
  { requiredKeys: [] },
);

const anyMessage = fc
  .record(
    {
      jsonrpc: fc.constantFrom('2.0', '1.0', 2),
      id: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.string(), fc.constant(null), fc.double()),
      method: fc.constantFrom(
        'ping',
        'elicitation/create',
        'sampling/createMessage',
        'roots/list',
        'notifications/progress',
        'notifications/cancelled',
        'notifications/tools/list_changed',
        'notifications/message',
        'tasks/get',
        '',
      ),
      params: fc.jsonValue(),
      result: fc.jsonValue(),
      error: fc.oneof(fc.jsonValue(), fc.record({ code: fc.jsonValue(), message: fc.jsonValue() })),
    },
    { requiredKeys: [] },
  )
  .map((message) => JSON.stringify(message));

const anyLine = fc.oneof(
  anyMessage,
  fc.string(),
  fc.json(),
  fc.array(anyMessage).map((list) => `[${list.join(',')}]`),
);

describe('whatever a server prints', () => {
  it('ends neither the Worker nor leaves a call hanging', async () => {
    const { pool } = testPool({ a: testServer('plain', { timeoutMs: 20_000 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(anyLine, { maxLength: 20 }), async (lines) => {
        // It settles, with whatever the lines made of it; the next call is answered as if nothing had been.
        const clean = lines.map((line) => line.replace(/[\r\n]/g, ' '));
        await call(pool, ['a', 'print'], { lines: clean });
        expect(firstText(await call(pool, ['a', 'echo'], { text: 'still here' }))).toBe('still here');
      }),
      { numRuns: 60 },
    );
  });

  it('as a result becomes a payload that is staged, whatever its form', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    await fc.assert(
      fc.asyncProperty(anyResult, async (result) => {
        const facts = await perform(pool, callOf('raw', { result: result as JsonObject }));
        expect(facts.outcome).toBe(result.isError === true ? 'error' : 'ok');
        expect(facts.inlineText ?? facts.pointer).toBeTypeOf('string');
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['read', 'error', 'its answer could not be kept: a fault of ours'],
    ['write', 'unknown', 'a fault of ours'],
  ] as const)('that cannot be kept is, of a tool to %s, a result (%s)', async (effect, outcome, words) => {
    const { pool } = testPool({ a: testServer('plain') });
    const redactBytes = (): never => {
      throw new TypeError('a fault of ours');
    };
    const activity = createCallTool({ ...dependenciesOf(pool), redactBytes });
    const input = { ...callOf('echo', { text: 'x' }), effect, callKey: `t9/0/${effect.length}` };
    const facts: ResultFacts = await new MockActivityEnvironment().run(activity, input);
    expect(facts.outcome).toBe(outcome);
    expect(facts.inlineText).toContain(words);
  });

  it('is told in words where it is nested without end', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const ids = Array.from({ length: 4 }, (_, id) => id);
    const lines = ids.map((id) => `{"jsonrpc":"2.0","id":${id},"result":{"content":${deep}}}`);
    const response = await call(pool, ['a', 'print'], { lines });
    expect(firstText(response)).toContain('nested deeper than 500 levels');
    expect(pickPayload(response).blocks).toEqual([]);
    const error = ids.map((id) => `{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"x","data":${deep}}}`);
    expect(await call(pool, ['a', 'print'], { lines: error })).toHaveProperty('content');
    // Lines to the ids of later calls answer these, until they have all been read.
    await eventually(async () => firstText(await call(pool, ['a', 'echo'], { text: 'here' })) === 'here');
  });
});
