// What `longshore run` needs and does not get: a model, a Temporal server, a port, room on the disk. One clear error each, in
// bounded time, and nothing left running.
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtemp, readFile, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { type CliEnd, type CliWorld, expectDone, expectError, interrupt, openWorld, plan } from '../support/cli.ts';

// Whole processes, on machines of two cores that do other things too.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let world: CliWorld;

beforeAll(async () => {
  world = await openWorld();
  await world.write('bare.yaml', 'name: bare\nmodel: {name: openai/scripted}\n');
});
afterAll(async () => {
  await world.expectNothingRunning();
  await world.close();
});

async function run(env: Readonly<Record<string, string>> = {}, message: string = 'x'): Promise<CliEnd> {
  return world.longshore(['run', 'bare.yaml', '--message', message], { env });
}

/** A server that answers every request so; gives its base URL. */
async function answering(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    request
      .resume()
      .once('end', () => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  // A listening TCP server's address is always an `AddressInfo`.
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> =>
    new Promise((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { url: `http://127.0.0.1:${port}/v1`, close };
}

/** The keeper's process, as soon as its server is there. */
async function keeperOf(home: string): Promise<number> {
  const read = async (): Promise<number> => {
    const { pid } = JSON.parse(await readFile(join(home, 'server.json'), 'utf8')) as { readonly pid: number };
    return pid;
  };
  return vi.waitFor(read, { timeout: 60_000, interval: 10 });
}

describe('a model', () => {
  it('that is not there: attempts are told while run waits, and it ends with exit code 1 within 40 s', async () => {
    const gone = await answering(200, '{}');
    await gone.close();
    const startedAt = Date.now();
    const end = await run({ OPENAI_BASE_URL: gone.url });
    expect(Date.now() - startedAt).toBeLessThan(40_000);
    expectError(end, 'ModelUnreachable', 1, new RegExp(gone.url.slice(7, -3)));
    expect(end.stderr).toContain('OPENAI_BASE_URL');
    for (const attempt of [2, 3, 4, 5]) expect(end.stdout).toContain(`attempt ${attempt} of 5`);
    expect(end.stdout).toMatch(/^turn +turn-\S+: failed$/m);
  });

  it.each([
    [404, 'ModelNotFound', /scripted/],
    [401, 'ModelUnauthorized', /openai\/scripted/],
    [400, 'ModelRefused', /the reason it gave/],
  ] as const)('that answers %i is asked once, and is one error', async (status, type, message) => {
    const refusing = await answering(status, '{"error": {"message": "the reason it gave", "type": "x"}}');
    const end = await run({ OPENAI_BASE_URL: refusing.url });
    await refusing.close();
    expectError(end, type, 1, message);
    expect(end.stderr).toContain('the reason it gave');
    expect(end.stdout).not.toContain('tried again');
  });

  it('that says to come back in an hour: run says when the next try is, and Ctrl-C ends the wait', async () => {
    const busy = await answering(429, '{"error": {"message": "slow down", "type": "x"}}', { 'retry-after': '3600' });
    const call = { env: { OPENAI_BASE_URL: busy.url } };
    const waiting = world.start(['run', 'bare.yaml', '--message', 'x'], call);
    const said = await waiting.says(/tried again/);
    expect(said).toMatch(/attempt 2 of .*, next try in (60|59) min, at \d\d:\d\d:\d\d: .*slow down/);
    expect((await interrupt(waiting)).code).toBe(130);
    await busy.close();
  });

  it('whose turn failed can be continued once it is there', async () => {
    const refusing = await answering(401, '{"error": {"message": "no", "type": "x"}}');
    const failed = await run({ OPENAI_BASE_URL: refusing.url }, 'remember this');
    await refusing.close();
    const id = /turn (turn-\S+)/.exec(failed.stdout)?.[1] ?? '';
    const end = await world.longshore(['run', 'bare.yaml', '--continue', id, '--message', 'again']);
    expectDone(end);
    expect(JSON.stringify(world.model.requests.at(-1)?.messages)).toContain('remember this');
  });
});

describe('Temporal', () => {
  it('that TEMPORAL_ADDRESS names and that is not there is exit code 3, named with its setting', async () => {
    const end = await run({ TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect(end.stdout).toBe('');
    expectError(end, 'TemporalUnavailable', 3, /127\.0\.0\.1:1.*TEMPORAL_ADDRESS/);
  });

  it('that is killed while dev starts, or serves, is exit code 3 and one error with its address', async () => {
    for (const isServing of [false, true]) {
      const dev = world.start(['dev']);
      if (isServing) await dev.says(/Worker ready/);
      const pid = await keeperOf(world.home);
      process.kill(pid, 'SIGKILL');
      const end = await dev.ended;
      expectError(end, 'TemporalUnavailable', 3, /127\.0\.0\.1:\d+/);
      expect(end.stderr).not.toContain('Internal');
      await world.expectNothingRunning();
    }
  });

  it('whose port is taken says which, and that LONGSHORE_PORT names it', async () => {
    const taken = await answering(200, '{}');
    const port = /:(\d+)\//.exec(taken.url)?.[1] ?? '';
    const end = await run({ LONGSHORE_PORT: port });
    await taken.close();
    expect(end.stdout).toBe('');
    expectError(end, 'PortTaken', 3, new RegExp(`${port}.*LONGSHORE_PORT`));
  });
});

describe('a Task Queue', () => {
  it('that a run polls with other servers is refused to dev and worker, by name; another queue and the same servers are not', async () => {
    await world.write('other.json', JSON.stringify({ mcpServers: { none: { command: process.execPath } } }));
    const run = world.start(['run', 'bare.yaml', '--json', '--message', plan({ wait: true })]);
    await run.says(/^turn /m);
    for (const command of ['dev', 'worker']) {
      const end = await world.longshore([command, '--mcp', 'other.json']);
      expectError(end, 'WorkerClash', 2, new RegExp(`\`longshore\`.*\`longshore run\`, process ${run.child.pid}`));
      expect(end.stderr).toContain('--task-queue NAME');
      expect(end.stdout).toBe('');
    }
    const elsewhere = { env: { LONGSHORE_STORE: join(world.folder, 'other-store') } };
    expectError(await world.longshore(['worker'], elsewhere), 'WorkerClash', 2, /another file store/);
    const others = [
      await world.serve(['dev', '--mcp', 'other.json', '--task-queue', 'another']),
      await world.serve(['worker']),
    ];
    for (const other of others) expect((await interrupt(other)).code).toBe(0);
    world.release();
    expectDone(await run.ended);
  });
});

// A disk of its own needs a tmpfs mount: Linux has it, and only root may make it.
describe.runIf(process.platform === 'linux' && process.getuid?.() === 0)('a disk that is full', () => {
  async function withDisk(size: string, use: (home: string) => Promise<void>): Promise<void> {
    const disk = await mkdtemp(join(world.folder, 'disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk]);
    try {
      await use(disk);
      await world.expectNothingRunning();
    } finally {
      execFileSync('umount', ['-l', disk]);
    }
  }

  it('from the start is one error that names it, and nothing is started', async () => {
    await withDisk('2m', async (home) => {
      const end = await run({ LONGSHORE_HOME: home });
      expect(end.stdout).toBe('');
      expectError(end, 'HomeUnusable', 3, /full/);
      await writeFile(join(home, 'ballast'), Buffer.alloc(4_000_000)).catch(() => {});
      expectError(await run({ LONGSHORE_HOME: home }), 'HomeUnusable', 3, /full/);
    });
  });

  const pause = { name: 'every__trigger-long-running-operation', arguments: { duration: 3, steps: 3 } };

  it('for a large result keeps both ends of it, says so to the model, and the turn goes on', async () => {
    await withDisk('90m', async (home) => {
      const path = await world.write('data/large.txt', 'a line of the large file\n'.repeat(800_000));
      const read = { name: 'fs__read_text_file', arguments: { path } };
      const message = plan({ toolCalls: [pause] }, { toolCalls: [read] }, { text: 'Went on.' });
      const call = { env: { LONGSHORE_HOME: home } };
      const run = world.start(['run', 'agent.yaml', '--json', '--message', message], call);
      await run.says(/t1\/0\/0 every/);
      await fill(home, 14 * MIB);
      const end = await run.ended;
      expect(JSON.parse(end.stdout)).toMatchObject({ status: 'completed', answer: 'Went on.' });
      const [result] =
        world.model.requests
          .at(-1)
          ?.messages.filter(({ role }) => role === 'tool')
          .slice(-1) ?? [];
      expect(result?.content).toMatch(/not (be )?saved/);
      expect(result?.content).toContain('a line of the large file');
    });
  });

  it('[HOME-1] to the last byte in the middle of a turn is told while the turn waits; what only reads works on; with room again it goes on', async () => {
    await withDisk('90m', async (home) => {
      const message = plan({ toolCalls: [pause] }, { text: 'Went on.' });
      const args = ['run', 'agent.yaml', '--json', '--message', message];
      const run = world.start(args, { env: { LONGSHORE_HOME: home } });
      await run.says(/t1\/0\/0 every/);
      const ballast = await fill(home, 0);
      await run.says(/tried again \(attempt 2 of \d+\): The file store in .* has no room/);
      await expectReadable(home);
      await readOnly(home, expectReadable);
      await rm(ballast);
      const end = await run.ended;
      expectDone(end);
      expect(JSON.parse(end.stdout)).toMatchObject({ status: 'completed', answer: 'Went on.' });
    });
  });
});

/** Every command that reads does so beside the server that runs. */
async function expectReadable(home: string): Promise<void> {
  const env = { LONGSHORE_HOME: home };
  const list = await world.longshore(['turns', 'list', '--json'], { env });
  expectDone(list);
  const { workflowId: id } = (JSON.parse(list.stdout) as readonly { readonly workflowId: string }[])[0] ?? {
    workflowId: '',
  };
  const reading = [
    ['turns', 'show', id],
    ['files', 'list'],
    ['approvals', 'list'],
  ];
  for (const args of reading) expectDone(await world.longshore(args, { env }));
}

/** The same folder at another place, where nothing can be written. */
async function readOnly(home: string, use: (place: string) => Promise<void>): Promise<void> {
  const place = await mkdtemp(join(world.folder, 'read-only-'));
  execFileSync('mount', ['--bind', home, place]);
  try {
    execFileSync('mount', ['-o', 'remount,ro,bind', place]);
    await use(place);
  } finally {
    execFileSync('umount', ['-l', place]);
  }
}

const MIB = 1024 * 1024;

/** Fills the disk of a folder but for so many bytes; gives the file that does it. */
async function fill(folder: string, leaveBytes: number): Promise<string> {
  const { bavail, bsize } = await statfs(folder);
  const path = join(folder, 'ballast');
  await writeFile(path, Buffer.alloc(Math.max(0, bavail * bsize - leaveBytes)));
  return path;
}
