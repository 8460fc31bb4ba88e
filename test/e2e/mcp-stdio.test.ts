// The pool over stdio with small servers that behave well and badly. What is broken is one call, never the run.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { call, eventually, firstText, isRunning, testPool, testServer } from '../support/mcp-pools.ts';

let folder = '';
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'mcp-stdio-')));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function contentOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

/** Waits until the server has written a line. */
function recorded(file: string, line: string): Promise<void> {
  return eventually(async () => (await contentOf(file)).includes(line));
}

describe('[MCP-11] a server that stops reading its input', () => {
  it.each(['plain', 'deaf'])('keeps neither a cancelled call nor the end of the Worker waiting (%s)', async (mode) => {
    const file = join(folder, `stops-${mode}`);
    const settings = { env: { RECORD_FILE: file }, timeoutMs: 3_600_000 };
    const { pool } = testPool({ a: testServer(mode, settings) });
    const pid = Number(firstText(await call(pool, ['a', 'pid'])));
    const person = new AbortController();
    const stuck = call(pool, ['a', 'stop-reading'], {}, { signal: person.signal });
    await recorded(file, 'stopped reading');
    // More than any pipe holds: these can never be written whole.
    const text = 'x'.repeat(4_000_000);
    const waiting = [stuck, ...[1, 2].map(() => call(pool, ['a', 'echo'], { text }, { signal: person.signal }))];
    person.abort(new Error('a person cancelled'));
    for (const one of waiting) await expect(one).rejects.toThrow('a person cancelled');
    const left = call(pool, ['a', 'echo'], { text }).catch((error: unknown) => error);
    await pool.close();
    // Lost with the connection, or too late to be sent.
    expect(await left).toMatchObject({ type: expect.stringMatching(/^(ToolCallFailed|McpServerUnavailable)$/) });
    expect(isRunning(pid)).toBe(false);
  });
});

describe('a call', () => {
  it('carries its idempotency key and a progress token, and brings back what the server said', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    const response = await call(pool, ['a', 'echo'], { text: 'héllo' }, { idempotencyKey: 'wf:t1/0/0:1' });
    expect(firstText(response)).toBe('héllo');
    const meta = JSON.parse(response._meta?.['got'] as string) as Record<string, unknown>;
    expect(meta).toEqual({ 'longshore/idempotency-key': 'wf:t1/0/0:1', progressToken: expect.any(Number) });
  });

  it('runs beside others on one process', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    const pids = await Promise.all(Array.from({ length: 5 }, () => call(pool, ['a', 'pid'])));
    expect(new Set(pids.map(firstText)).size).toBe(1);
    const slow = call(pool, ['a', 'slow'], { ms: 300 });
    expect(firstText(await call(pool, ['a', 'echo'], { text: 'first' }))).toBe('first');
    expect(firstText(await slow)).toBe('late');
  });

  it('gives what a server throws as an error result: message, code and data', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    const response = await call(pool, ['a', 'throw']);
    expect(response.isError).toBe(true);
    expect(firstText(response)).toBe('You asked for the wrong thing (code -32602)\n{"wanted":["this","that"]}');
    expect((await call(pool, ['a', 'nothing'])).isError).toBe(true);
  });

  it('keeps results that the protocol does not know', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    const strange = { content: [{ type: 'hologram', beams: 3 }, 'bare'], structuredContent: [1, 2] };
    expect(await call(pool, ['a', 'raw'], { result: strange })).toEqual(strange);
    expect(await call(pool, ['a', 'raw'], { result: { toolResult: 7 } })).toEqual({
      content: [],
      structuredContent: { toolResult: 7 },
    });
  });

  it('does not hang on an answer that breaks the form of JSON-RPC', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    const response = await call(pool, ['a', 'raw'], { result: 'text' });
    expect(response.isError).toBe(true);
    expect(firstText(response)).toContain('breaks the form of JSON-RPC');
    expect(firstText(response)).toContain('may have taken effect');
  });
});

describe('a deadline', () => {
  it('ends a call that is silent, tells the server, and drops the late answer', async () => {
    const file = join(folder, 'deadline');
    const server = testServer('plain', { timeoutMs: 200, env: { RECORD_FILE: file } });
    const { pool, log } = testPool({ a: server });
    await call(pool, ['a', 'echo']);
    await expect(call(pool, ['a', 'slow'], { ms: 600 })).rejects.toMatchObject({
      type: 'ToolTimeout',
      message: expect.stringContaining('200 ms'),
      mend: expect.stringContaining('`timeoutMs` of `a` in mcp.json'),
    });
    await recorded(file, 'cancelled slow');
    expect(firstText(await call(pool, ['a', 'echo'], { text: 'still here' }))).toBe('still here');
    expect(JSON.stringify(log)).not.toContain('"text":"late"');
  });

  it('is extended by progress (srv-1)', async () => {
    const { pool } = testPool({ a: testServer('plain', { timeoutMs: 400 }) });
    const messages: (string | undefined)[] = [];
    const response = await call(
      pool,
      ['a', 'progress'],
      { steps: 6, everyMs: 150 },
      { onProgress: ({ message }) => messages.push(message) },
    );
    expect(firstText(response)).toBe('done');
    expect(messages.slice(0, 5)).toEqual([1, 2, 3, 4, 5].map((step) => `step ${step}`));
  });
});

describe('a cancellation', () => {
  it('reaches the server, ends the call with its own reason, and leaves the others', async () => {
    const file = join(folder, 'cancel');
    const { pool } = testPool({ a: testServer('plain', { env: { RECORD_FILE: file } }) });
    const controller = new AbortController();
    const cancelled = call(pool, ['a', 'slow'], { ms: 5_000 }, { signal: controller.signal });
    const other = call(pool, ['a', 'progress'], { steps: 3, everyMs: 100 });
    await recorded(file, 'called slow');
    const reason = new Error('The user has gone');
    controller.abort(reason);
    await expect(cancelled).rejects.toBe(reason);
    expect(firstText(await other)).toBe('done');
    await recorded(file, 'cancelled slow');
  });

  it('before the start ends the wait, not the start', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    const reason = new Error('Never mind');
    await expect(call(pool, ['a', 'echo'], {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(firstText(await call(pool, ['a', 'echo'], { text: 'x' }))).toBe('x');
  });
});

describe('a server that dies in a call (srv-7)', () => {
  it('fails that call at once, leaves other servers, and is started anew', async () => {
    const { pool } = testPool({ a: testServer('plain'), b: testServer('plain') });
    const first = firstText(await call(pool, ['a', 'pid']));
    const other = call(pool, ['b', 'progress'], { steps: 4, everyMs: 100 });
    const before = performance.now();
    await expect(call(pool, ['a', 'die'])).rejects.toMatchObject({
      type: 'ToolCallFailed',
      message: expect.stringContaining('`die` of MCP server `a`'),
    });
    expect(performance.now() - before).toBeLessThan(2_000);
    expect(firstText(await call(pool, ['a', 'pid']))).not.toBe(first);
    expect(firstText(await other)).toBe('done');
  });
});

describe('a server that closes its output and lives on', () => {
  it('fails the calls that it has at once, is ended, and is started anew', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    const first = Number(firstText(await call(pool, ['a', 'pid'])));
    const waiting = call(pool, ['a', 'slow'], { ms: 25_000 });
    waiting.catch(() => {});
    const before = performance.now();
    await expect(call(pool, ['a', 'hush'])).rejects.toMatchObject({ type: 'ToolCallFailed' });
    await expect(waiting).rejects.toMatchObject({ type: 'ToolCallFailed' });
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(Number(firstText(await call(pool, ['a', 'pid'])))).not.toBe(first);
    await eventually(() => !isRunning(first));
  });
});

describe('a message above the limit (srv-7)', () => {
  it('fails the calls in flight, names the limit and its setting, and the server is started anew', async () => {
    const { pool } = testPool({ a: testServer('plain', { maxMessageBytes: 100_000 }), b: testServer('plain') });
    const first = firstText(await call(pool, ['a', 'pid']));
    const waiting = call(pool, ['a', 'slow'], { ms: 5_000 });
    waiting.catch(() => {});
    await expect(call(pool, ['a', 'big'], { bytes: 100_001 })).rejects.toMatchObject({
      type: 'ToolMessageTooLarge',
      message: expect.stringMatching(/`big` of MCP server `a`.*100000 bytes.*`maxMessageBytes`/),
    });
    await expect(waiting).rejects.toMatchObject({ type: 'ToolMessageTooLarge' });
    expect(firstText(await call(pool, ['b', 'big'], { bytes: 200_000 }))).toHaveLength(200_000);
    expect(firstText(await call(pool, ['a', 'pid']))).not.toBe(first);
  });

  it('just below the limit arrives', async () => {
    const { pool } = testPool({ a: testServer('plain', { maxMessageBytes: 100_000 }) });
    expect(firstText(await call(pool, ['a', 'big'], { bytes: 99_900 }))).toHaveLength(99_900);
  });
});

describe('a server that prints what it should not (srv-1)', () => {
  it('works; its stdout is reported once, its stderr is bounded, and secrets are in neither', async () => {
    const server = testServer('noisy', { env: { SECRET: '${TOKEN}' } });
    const { pool, log } = testPool({ a: server }, { env: { TOKEN: 'hunter2-hunter2' } });
    expect(firstText(await call(pool, ['a', 'echo'], { text: 'x' }))).toBe('x');
    await eventually(() => log.some((entry) => entry.message.includes('further ones are left out')));
    expect(log.filter((entry) => entry.level === 'warn')).toMatchObject([
      { server: 'a', stream: 'stdout', line: 'starting up …' },
    ]);
    expect(log.filter((entry) => entry['stream'] === 'stderr').length).toBeLessThanOrEqual(201);
    expect(JSON.stringify(log)).not.toContain('hunter2');
  });
});

describe('a server that cannot be started (srv-4)', () => {
  it('names a command that does not exist', async () => {
    const { pool } = testPool({ a: testServer('plain', { command: 'no-such-command' }), b: testServer('plain') });
    await expect(call(pool, ['a', 'echo'])).rejects.toMatchObject({
      type: 'McpServerUnavailable',
      message: expect.stringContaining('`no-such-command` was not found'),
      mend: expect.stringContaining('mcp.json'),
    });
    expect(firstText(await call(pool, ['b', 'echo'], { text: 'healthy' }))).toBe('healthy');
  });

  it('tells how it ended and what it said', async () => {
    const { pool } = testPool({ a: testServer('exits') });
    await expect(pool.server('a').listTools(AbortSignal.timeout(20_000))).rejects.toMatchObject({
      type: 'McpServerUnavailable',
      message: expect.stringMatching(/exit code 3.*the moon is full/),
    });
  });

  it('tells that it does not answer, and leaves no process', async () => {
    const { pool, log } = testPool({ a: testServer('mute') }, { startTimeoutMs: 500 });
    await expect(call(pool, ['a', 'echo'])).rejects.toMatchObject({
      type: 'McpServerUnavailable',
      message: expect.stringContaining('did not answer `initialize` in time'),
    });
    expect(log.some((entry) => entry.message === 'server started')).toBe(false);
  });

  it('is started once for calls that come together, and again later', async () => {
    const file = join(folder, 'starts');
    const script = `require('fs').appendFileSync(${JSON.stringify(file)}, 'start\\n'); process.exit(1)`;
    const { pool } = testPool({ a: testServer('plain', { args: ['-e', script] }) });
    const attempt = (): Promise<string> => call(pool, ['a', 'echo']).then(firstText, (error: unknown) => String(error));
    await Promise.all([attempt(), attempt(), attempt()]);
    await attempt();
    expect(await contentOf(file)).toBe('start\n');
    await eventually(async () => {
      await attempt();
      return (await contentOf(file)) === 'start\nstart\n';
    });
  });

  it('names its missing folder', async () => {
    const { pool } = testPool({ a: testServer('plain', { cwd: 'nowhere' }) }, { configFolder: folder });
    await expect(call(pool, ['a', 'echo'])).rejects.toMatchObject({ message: expect.stringContaining('nowhere') });
  });
});

describe('variables', () => {
  it('come from the given environment at start; nothing else of the Worker does', async () => {
    const { args } = testServer('plain');
    const server = testServer('plain', { args: [...args, '--token=${TOKEN}'], env: { A: '<${TOKEN}>' }, cwd: '.' });
    const { pool } = testPool({ a: server }, { env: { TOKEN: 'secret-1', OTHER: 'o' }, configFolder: folder });
    const got = JSON.parse(firstText(await call(pool, ['a', 'env']))) as Record<string, unknown>;
    expect(got).toMatchObject({ args: ['--token=secret-1'], env: { A: '<secret-1>' }, cwd: folder });
    expect(got['env']).not.toHaveProperty('VITEST');
  });

  it('in the command are filled in as everywhere else', async () => {
    const server = testServer('plain', { command: '${RUNTIME}' });
    const { pool } = testPool({ a: server }, { env: { RUNTIME: process.execPath } });
    expect(JSON.parse(firstText(await call(pool, ['a', 'env'])))).toMatchObject({ args: [] });
    const missing = testPool({ a: server }, { env: {} });
    await expect(call(missing.pool, ['a', 'echo'])).rejects.toMatchObject({
      type: 'EnvironmentMissing',
      message: expect.stringMatching(/needs RUNTIME \(in its `command`\)/),
    });
  });

  it('that are missing are named, and where they stand', async () => {
    const { pool } = testPool({ a: testServer('plain', { env: { A: '${NOT_SET}' } }) }, { env: {} });
    await expect(call(pool, ['a', 'echo'])).rejects.toMatchObject({
      type: 'EnvironmentMissing',
      message: expect.stringMatching(/needs NOT_SET \(in its `env.A`\)/),
    });
  });
});

describe('a listing', () => {
  const list = (mode: string) =>
    testPool({ a: testServer(mode) })
      .pool.server('a')
      .listTools(AbortSignal.timeout(20_000));

  it('gives each tool once over all pages and ends at a cursor that repeats (cat-3)', async () => {
    const { tools, problems } = await list('pages');
    expect(tools.map((tool) => tool.name)).toEqual(Array.from({ length: 101 }, (_, index) => `tool-${index}`));
    expect(problems).toEqual([]);
    expect(tools[0]?.inputSchema).toHaveProperty('$defs.t');
    expect(tools[0]?.inputSchema).toHaveProperty(['properties', 't', '$ref'], '#/$defs/t');
  });

  it('leaves out the one tool in fifty whose schema does not compile, and names it (cat-2)', async () => {
    const { tools, problems } = await list('bad-schema');
    expect(tools).toHaveLength(49);
    expect(problems).toEqual([{ tool: 'bad', problem: expect.stringContaining('does not compile') }]);
  });

  it('brings the instructions and title, and the configuration overrides annotations (cat-5)', async () => {
    const annotations = { echo: { readOnlyHint: true } };
    const { pool } = testPool({ a: testServer('plain', { annotations, description: 'Ours' }) });
    const listing = await pool.server('a').listTools(AbortSignal.timeout(20_000));
    expect(listing).toMatchObject({ instructions: 'Be kind.', title: 'A test server' });
    expect(listing.tools.find((tool) => tool.name === 'echo')?.annotations).toEqual({ readOnlyHint: true });
    expect(listing.tools.find((tool) => tool.name === 'die')).not.toHaveProperty('annotations');
    expect(pool.settings('a')).toEqual({
      timeoutMs: 300_000,
      description: 'Ours',
      honoursIdempotencyKeys: false,
      annotations,
    });
  });
});

describe('closing the pool', () => {
  it('ends a server and what it launched, even where that ignores SIGTERM', async () => {
    const pidFile = join(folder, 'pid');
    const { pool } = testPool({ a: testServer('launcher', { env: { PID_FILE: pidFile } }) });
    const server = Number(firstText(await call(pool, ['a', 'pid'])));
    const launched = Number(await contentOf(pidFile));
    expect([server, launched].map(isRunning)).toEqual([true, true]);
    await pool.close();
    await eventually(() => !isRunning(server) && !isRunning(launched));
  });

  it('ends a server that does not listen', async () => {
    const { pool } = testPool({ a: testServer('deaf') });
    const pid = Number(firstText(await call(pool, ['a', 'pid'])));
    await pool.close();
    expect(isRunning(pid)).toBe(false);
  });

  it('ends calls under way, and refuses further ones', async () => {
    const file = join(folder, 'closing');
    const { pool } = testPool({ a: testServer('plain', { env: { RECORD_FILE: file } }) });
    const waiting = call(pool, ['a', 'slow'], { ms: 10_000 });
    waiting.catch(() => {});
    await recorded(file, 'called slow');
    await pool.close();
    await expect(waiting).rejects.toMatchObject({ type: 'ToolCallFailed' });
    await expect(call(pool, ['a', 'echo'])).rejects.toMatchObject({ type: 'McpServerUnavailable' });
  });

  it('does not wait for a server that is still to answer `initialize`', async () => {
    const { pool } = testPool({ a: testServer('mute') });
    const waiting = call(pool, ['a', 'echo']);
    waiting.catch(() => {});
    await new Promise(setImmediate);
    const before = performance.now();
    await pool.close();
    expect(performance.now() - before).toBeLessThan(10_000);
    await expect(waiting).rejects.toMatchObject({ type: 'McpServerUnavailable' });
  });

  it('is nothing where nothing was started', async () => {
    const { pool } = testPool({ a: testServer('plain') });
    expect(pool.names()).toEqual(['a']);
    await pool.close();
  });
});

describe('a Worker process that ends without closing its pool', () => {
  it.each(['SIGKILL', 'exit'])('leaves no server behind: %s', async (how) => {
    const program = fileURLToPath(new URL('../support/mcp-orphan-maker.ts', import.meta.url));
    const worker = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [chunk] = (await once(worker.stdout, 'data')) as [Buffer];
    const server = Number(chunk.toString());
    expect(isRunning(server)).toBe(true);
    if (how === 'SIGKILL') worker.kill('SIGKILL');
    else worker.stdin.end('exit');
    await eventually(() => !isRunning(server));
  });
});

describe('a name that nobody configured', () => {
  it('is refused with the names there are', () => {
    const { pool } = testPool({ a: testServer('plain'), b: testServer('plain') });
    expect(() => pool.server('c')).toThrow('MCP server `c` is not configured; configured are `a`, `b`');
    expect(() => pool.settings('c')).toThrow(expect.objectContaining({ type: 'McpServerUnknown' }));
  });
});
