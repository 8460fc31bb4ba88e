// The pool over Streamable HTTP: a real server, and one that breaks streams and promises.
import { spawn } from 'node:child_process';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';

import { describe, expect, it, onTestFinished } from 'vitest';

import { pickPayload } from '../../activities/payload/pick.ts';
import type { HttpServerConfig } from '../../shared/mcp-config.ts';
import { startHttpServer } from '../support/mcp-http-server.ts';
import { call, eventually, firstText, packagedFile, testPool } from '../support/mcp-pools.ts';

function http(url: string, more: Partial<HttpServerConfig> = {}): HttpServerConfig {
  return { type: 'http', url, headers: {}, ...more };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => {
    server.close(resolve);
  });
  return port;
}

async function startEverything(port: number): Promise<() => Promise<void>> {
  const program = packagedFile('@modelcontextprotocol/server-everything/dist/index.js');
  const child = spawn(process.execPath, [program, 'streamableHttp'], { env: { ...process.env, PORT: String(port) } });
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => {
      child.once('exit', resolve);
    });
    child.kill('SIGKILL');
    await ended;
  };
  onTestFinished(stop);
  await eventually(() => output.includes('listening'));
  return stop;
}

describe('a server that redirects', () => {
  it.each([
    ['in a circle', { location: '/mcp' }, '/mcp, which is not followed (in a circle'],
    [
      'to another origin',
      { location: 'https://elsewhere.example/mcp' },
      'to https://elsewhere.example/mcp, which is not',
    ],
    ['to nowhere', {}, 'status 308, a redirect that leads nowhere'],
  ])('%s is unavailable: the message says where, and that `url` is to be set', async (_how, headers, words) => {
    const server = createHttpServer((request, response) => {
      request.resume();
      response.writeHead(308, headers).end();
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.close();
      server.closeAllConnections();
    });
    const where = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const { pool } = testPool({ web: http(where) });
    const listed = pool.server('web').listTools(AbortSignal.timeout(20_000));
    await expect(listed).rejects.toMatchObject({
      type: 'McpServerUnavailable',
      mend: expect.stringContaining('mcp.json'),
    });
    for (const part of [where, words, '`url`']) await expect(listed).rejects.toThrow(part);
  });
});

describe('server-everything', () => {
  it('lists, answers, tells progress, and gives images and errors', async () => {
    const port = await freePort();
    await startEverything(port);
    const { pool } = testPool({ web: http(`http://127.0.0.1:${port}/mcp`) });
    const { tools, problems, instructions } = await pool.server('web').listTools(AbortSignal.timeout(20_000));
    expect(tools).toHaveLength(14);
    expect(problems).toEqual([]);
    expect(instructions).toBeTruthy();
    expect(firstText(await call(pool, ['web', 'echo'], { message: 'hi' }))).toContain('hi');
    let signs = 0;
    const onProgress = (): void => {
      signs += 1;
    };
    await call(pool, ['web', 'trigger-long-running-operation'], { duration: 0.3, steps: 3 }, { onProgress });
    expect(signs).toBeGreaterThanOrEqual(2);
    const { blocks } = pickPayload(await call(pool, ['web', 'get-tiny-image']));
    expect(blocks).toMatchObject([{ kind: 'image', mediaType: 'image/png' }]);
    expect((await call(pool, ['web', 'get-sum'], { a: 'x' })).isError).toBe(true);
  });

  it('is unavailable while it is down, and has a new session when it is back', async () => {
    const port = await freePort();
    const { pool } = testPool({ web: http(`http://127.0.0.1:${port}/mcp`) });
    await expect(call(pool, ['web', 'echo'], { message: 'hi' })).rejects.toMatchObject({
      type: 'McpServerUnavailable',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    const stop = await startEverything(port);
    const answer = async (): Promise<string> => firstText(await call(pool, ['web', 'echo'], { message: 'hi' }));
    await eventually(async () => (await answer().catch(() => '')) !== '');
    await stop();
    await startEverything(port);
    expect(await answer()).toContain('hi');
  });
});

describe('an address that is none', () => {
  it('is named', async () => {
    const { pool } = testPool({ web: http('localhost/mcp') });
    await expect(call(pool, ['web', 'echo'])).rejects.toMatchObject({
      type: 'McpServerUnavailable',
      message: expect.stringContaining('localhost/mcp'),
    });
  });
});

describe('headers', () => {
  it('are expanded anew at every request', async () => {
    const { url, seen } = await startHttpServer();
    const env = { TOKEN: 'one' };
    const { pool } = testPool({ web: http(url, { headers: { Authorization: 'Bearer ${TOKEN}' } }) }, { env });
    await call(pool, ['web', 'json']);
    env.TOKEN = 'two';
    await call(pool, ['web', 'json']);
    const calls = seen.filter((request) => request.rpc === 'tools/call');
    expect(calls.map((request) => request.headers['authorization'])).toEqual(['Bearer one', 'Bearer two']);
  });

  it('that need a variable that is not set are an error that names it', async () => {
    const { url } = await startHttpServer();
    const { pool } = testPool({ web: http(url, { headers: { Authorization: 'Bearer ${TOKEN}' } }) }, { env: {} });
    await expect(call(pool, ['web', 'json'])).rejects.toMatchObject({
      type: 'EnvironmentMissing',
      message: expect.stringContaining('needs TOKEN (in its `headers.Authorization`)'),
    });
  });
});

describe('an answer', () => {
  it.each(['json', 'stream'])('comes as %s', async (tool) => {
    const { url } = await startHttpServer();
    const { pool } = testPool({ web: http(url) });
    expect(firstText(await call(pool, ['web', tool]))).toBe('answer');
  });

  it('is taken up again where its stream broke, when the server allows it', async () => {
    const { url, seen } = await startHttpServer();
    const { pool } = testPool({ web: http(url) });
    expect(firstText(await call(pool, ['web', 'resumable']))).toBe('resumed');
    expect(seen.filter((request) => request.rpc === 'tools/call')).toHaveLength(1);
  });

  it.each([
    ['a stream that is cut', 'cut'],
    ['a stream that ends', 'end'],
    ['a stream that cannot be taken up again', 'gone'],
    ['a body that is no JSON', 'garbage'],
    ['a body of another kind', 'html'],
    ['a failing gateway', 'broken'],
  ])('that is lost fails its call, at once and sent once: %s', async (_, tool) => {
    const { url, seen } = await startHttpServer();
    const { pool } = testPool({ web: http(url) });
    await call(pool, ['web', 'json']);
    const before = performance.now();
    await expect(call(pool, ['web', tool])).rejects.toMatchObject({ type: 'ToolCallFailed' });
    expect(performance.now() - before).toBeLessThan(4_000);
    expect(firstText(await call(pool, ['web', 'json']))).toBe('answer');
    expect(seen.filter((request) => request.rpc === 'tools/call')).toHaveLength(3);
    expect(seen.filter((request) => request.rpc === 'initialize')).toHaveLength(1);
  });

  it('that was refused unseen leaves the call unsent', async () => {
    const { url } = await startHttpServer();
    const { pool } = testPool({ web: http(url) });
    await expect(call(pool, ['web', 'refused'])).rejects.toMatchObject({
      type: 'McpServerUnavailable',
      message: expect.stringContaining('You may not'),
    });
  });

  it('that does not come in time is given up, and the server is told', async () => {
    const { url, seen } = await startHttpServer();
    const { pool } = testPool({ web: http(url, { timeoutMs: 200 }) });
    await expect(call(pool, ['web', 'hangs'])).rejects.toMatchObject({ type: 'ToolTimeout' });
    await eventually(() => seen.some((request) => request.rpc === 'notifications/cancelled'));
  });

  it.each(['big', 'bigStream'])('above the limit fails its call only, and is not asked for again: %s', async (tool) => {
    const { url, seen } = await startHttpServer();
    const { pool } = testPool({ web: http(url, { maxMessageBytes: 100_000, timeoutMs: 2_000 }) });
    const other = call(pool, ['web', 'resumable']);
    await expect(call(pool, ['web', tool], { bytes: 200_000 })).rejects.toMatchObject({
      type: 'ToolMessageTooLarge',
      message: expect.stringMatching(/100000 bytes.*`maxMessageBytes`/),
    });
    expect(firstText(await other)).toBe('resumed');
    expect(firstText(await call(pool, ['web', tool], { bytes: 90_000 }))).toHaveLength(90_000);
    // By the time that this one has been taken up again, the big one would have been.
    await call(pool, ['web', 'resumable']);
    expect(seen.filter((request) => request.headers['last-event-id'] === 'big')).toEqual([]);
  });
});

describe('a cancellation', () => {
  it('is told to the server, unless the answer has come', async () => {
    const { url, seen } = await startHttpServer();
    const { pool } = testPool({ web: http(url) });
    const cancelled = (): number => seen.filter((request) => request.rpc === 'notifications/cancelled').length;
    const answered = new AbortController();
    await call(pool, ['web', 'json'], {}, { signal: answered.signal });
    answered.abort();
    await call(pool, ['web', 'json']);
    expect(cancelled()).toBe(0);
    const waiting = new AbortController();
    const hanging = call(pool, ['web', 'hangs'], {}, { signal: waiting.signal });
    hanging.catch(() => {});
    await eventually(() => seen.filter((request) => request.rpc === 'tools/call').length === 3);
    waiting.abort(new Error('enough'));
    await expect(hanging).rejects.toThrow('enough');
    await eventually(() => cancelled() === 1);
  });
});

describe('a session', () => {
  it.each([404, 400] as const)('that the server has forgotten is made anew once, on a %d', async (status) => {
    const server = await startHttpServer();
    const { pool } = testPool({ web: http(server.url) });
    await call(pool, ['web', 'json']);
    server.forgetSessions(status);
    expect(firstText(await call(pool, ['web', 'json']))).toBe('answer');
    expect(server.seen.filter((request) => request.rpc === 'initialize')).toHaveLength(2);
  });

  it('is ended when the pool closes', async () => {
    const { url, seen } = await startHttpServer();
    const { pool } = testPool({ web: http(url) });
    await call(pool, ['web', 'json']);
    await pool.close();
    expect(seen.at(-1)?.method).toBe('DELETE');
  });
});

describe('a stream that ends as soon as it is opened', () => {
  it.each(['', 'retry: 0\n\n', 'id: 1\nretry: 0\ndata: \n\n'])(
    'does not have its server asked without end by a Worker that is idle: %j',
    async (standing) => {
      const { url, seen } = await startHttpServer({ standing });
      const { pool } = testPool({ web: http(url) });
      await call(pool, ['web', 'json']);
      const opened = (): readonly number[] => seen.filter(({ method }) => method === 'GET').map(({ atMs }) => atMs);
      await eventually(() => opened().length === 3);
      const [first = 0, second = 0, third = 0] = opened();
      expect(second - first).toBeGreaterThan(900);
      expect(third - second).toBeGreaterThan(1_900);
      // The one that waits now does not come when the pool is closed.
      await pool.close();
      expect(opened()).toHaveLength(3);
    },
  );

  it('is not asked for without a pause on behalf of a call either', async () => {
    const { url, seen } = await startHttpServer();
    const { pool } = testPool({ web: http(url, { timeoutMs: 1_000 }) });
    await expect(call(pool, ['web', 'endless'])).rejects.toMatchObject({ type: 'ToolTimeout' });
    const resumptions = seen.filter(({ headers }) => headers['last-event-id'] === 'endless').length;
    expect(resumptions).toBeGreaterThan(1);
    expect(resumptions).toBeLessThan(6);
  });
});

describe('a status', () => {
  it.each([401, 403, 404, 429, 500])('of %i without a word is told to who called', async (status) => {
    const { url } = await startHttpServer();
    const { pool } = testPool({ web: http(url) });
    await expect(call(pool, ['web', 'status'], { status })).rejects.toMatchObject({
      message: expect.stringContaining(`it answered status ${status}`),
    });
  });

  it('with words is told with them', async () => {
    const { url } = await startHttpServer();
    const { pool } = testPool({ web: http(url) });
    await expect(call(pool, ['web', 'refused'])).rejects.toMatchObject({
      message: expect.stringContaining('was not reached: it answered status 403: You may not'),
    });
  });

  it('in the place of a session is told too', async () => {
    const { url } = await startHttpServer();
    const { pool } = testPool({ web: http(url.replace('/mcp', '/none')) });
    await expect(call(pool, ['web', 'json'])).rejects.toMatchObject({
      message: expect.stringContaining('it answered status 401'),
    });
  });
});

describe('a server that goes away in a call', () => {
  it('fails the call as lost, and later ones as unsent', async () => {
    const server = await startHttpServer();
    const { pool } = testPool({ web: http(server.url) });
    const waiting = call(pool, ['web', 'hangs']);
    waiting.catch(() => {});
    await eventually(() => server.seen.some((request) => request.rpc === 'tools/call'));
    await server.stop();
    await expect(waiting).rejects.toMatchObject({ type: 'ToolCallFailed' });
    await expect(call(pool, ['web', 'json'])).rejects.toMatchObject({ type: 'McpServerUnavailable' });
  });
});
