// Ctrl-C, SIGTERM and SIGKILL during `longshore run`, at every moment: the turn is cancelled, never made, or left to be found;
// nothing is left running and nothing is lost.
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import { listClaims } from '../../worker/dev-server/claims.ts';
import { openHome } from '../../worker/home.ts';
import { type CliEnd, type CliRun, type CliWorld, interrupt, openWorld, plan } from '../support/cli.ts';

// Whole processes, on machines of two cores that do other things too.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let world: CliWorld;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.expectNothingRunning();
});
afterAll(async () => {
  await world.close();
});

const SLOW_CALL = { name: 'every__trigger-long-running-operation', arguments: { duration: 300, steps: 300 } };

function startRun(message: string): CliRun {
  return world.start(['run', 'agent.yaml', '--message', message]);
}

interface Listed {
  readonly workflowId: string;
  readonly status: string;
}

async function turns(): Promise<readonly Listed[]> {
  return world.json<readonly Listed[]>('turns', 'list');
}

function expectQuiet({ stderr }: CliEnd): void {
  expect(stderr).not.toMatch(/error:|^\s+at /m);
}

async function idOf(run: CliRun): Promise<string> {
  return /^turn (\S+)/m.exec(await run.says(/^turn \S+/m))?.[1] ?? '';
}

describe('Ctrl-C during run', () => {
  it(
    'while it starts ends it with 130; no turn is made, or the one made is cancelled',
    { timeout: 120_000 },
    async () => {
      const runs: CliEnd[] = [];
      for (const delayMs of [0, 250, 500, 900, 1_300]) {
        const run = startRun(plan({ wait: true }));
        await new Promise((resolve) => setTimeout(resolve, delayMs));
        const end = await interrupt(run);
        runs.push(end);
        await world.expectNothingRunning();
      }
      for (const end of runs) {
        expectQuiet(end);
        // Before Node has run a line, the system itself ends the process.
        expect([130, null]).toContain(end.code);
      }
      expect((await turns()).filter(({ status }) => status !== 'cancelled')).toEqual([]);
    },
  );

  it('while the server answers but no turn exists yet ends it with 130', async () => {
    const run = startRun(plan({ wait: true }));
    await expect.poll(async () => keeperClaims(), { timeout: 30_000, interval: 20 }).toBeGreaterThan(0);
    const end = await interrupt(run);
    expect(end.code).toBe(130);
    expectQuiet(end);
  });

  it('while it waits for standard input ends it with 130', async () => {
    // A note on the spec comes just before the message is read.
    await world.write('noted.yaml', 'model: {name: openai/scripted}\nconfig: {generative_ui: {enabled: true}}\n');
    const run = world.start(['run', 'noted.yaml', '--message-file', '-'], { input: null });
    await run.says(/note: config\.generative_ui/);
    const end = await interrupt(run);
    expect(end.code).toBe(130);
    expectQuiet(end);
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('while the model is asked, %s cancels the turn', async (signal) => {
    const before = world.model.requests.length;
    const run = startRun(plan({ wait: true }));
    const id = await idOf(run);
    await expect.poll(() => world.model.requests.length, { timeout: 30_000 }).toBeGreaterThan(before);
    run.child.kill(signal);
    const end = await run.ended;
    expect(end.code).toBe(130);
    expectQuiet(end);
    expect(end.stdout).toContain(`${id}: cancelled`);
    expect(await turns()).toContainEqual(expect.objectContaining({ workflowId: id, status: 'cancelled' }));
  });

  it('while a tool runs ends its call in a result, and --json still gives the document', async () => {
    const message = plan({ toolCalls: [SLOW_CALL] }, { text: 'never' });
    const run = world.start(['run', 'agent.yaml', '--json', '--message', message]);
    await run.says(/t1\/0\/0 every\.trigger/);
    const end = await interrupt(run);
    expect(end.code).toBe(130);
    const document = JSON.parse(end.stdout) as { status: string; steps: readonly { toolCalls: readonly object[] }[] };
    expect(document.status).toBe('cancelled');
    expect(document.steps[0]?.toolCalls).toMatchObject([{ callKey: 't1/0/0', outcome: 'cancelled' }]);
  });

  it('at the end, when the answer has been given, leaves a turn that has ended', async () => {
    const run = startRun('hello');
    const id = await idOf(run);
    await run.says(/step 0 .*answers/);
    const end = await interrupt(run);
    expectQuiet(end);
    expect([0, 130]).toContain(end.code);
    const listed = (await turns()).find(({ workflowId }) => workflowId === id);
    expect(['completed', 'cancelled']).toContain(listed?.status);
  });

  it('a second time leaves the turn running and says how to find it; the Worker it names finishes it', async () => {
    const stubborn = await openWorld();
    try {
      // Without a Worker the turn does not hear that it is to cancel.
      const run = stubborn.start(['run', 'agent.yaml', '--no-worker', '--message', 'finish me']);
      const id = /^turn (\S+)/m.exec(await run.says(/^turn \S+/m))?.[1] ?? '';
      run.child.kill('SIGINT');
      await run.says(/once more leaves it running/);
      const { code, stderr } = await interrupt(run);
      expect(code).toBe(130);
      expect(stderr).toContain(`Left running: turn ${id}`);
      expect(stderr).toMatch(new RegExp(`longshore (-- )?turns show ${id}`));
      expect(stderr).not.toContain('could not be asked');
      await stubborn.expectNothingRunning();
      const [, told = ''] = /longshore (?:-- )?(worker .*)/.exec(stderr) ?? [];
      const worker = await stubborn.serve(told.split(' '));
      const ended = async () => (await stubborn.json<Listed>('turns', 'show', id)).status;
      await expect.poll(ended, { timeout: 30_000 }).toBe('cancelled');
      expect((await interrupt(worker)).code).toBe(0);
      await stubborn.expectNothingRunning();
    } finally {
      await stubborn.close();
    }
  });
});

describe('a server that panics', () => {
  it('while a turn runs is started again, and the turn goes on to its end', async () => {
    const slow = { ...SLOW_CALL, arguments: { duration: 6, steps: 6 } };
    const run = startRun(plan({ toolCalls: [slow] }, { text: 'after the panic' }));
    await run.says(/t1\/0\/0 every\.trigger/);
    const home = await openHome({ LONGSHORE_HOME: world.home }, world.home);
    const [claim] = await listClaims(home);
    process.kill(claim?.serverPid as number, 'SIGQUIT');
    const end = await run.ended;
    expect(end).toMatchObject({ code: 0, stdout: expect.stringContaining('after the panic') as string });
    expectQuiet(end);
  });
});

describe('SIGKILL of run', () => {
  it(
    'loses nothing: a dev that comes later finishes the turn, and the finished call is not made again',
    { timeout: 120_000 },
    async () => {
      await world.write('data/note.txt', 'kept');
      const read = { name: 'fs__read_text_file', arguments: { path: join(world.folder, 'data', 'note.txt') } };
      const slow = { ...SLOW_CALL, arguments: { duration: 2, steps: 2 } };
      const run = startRun(plan({ toolCalls: [read, slow] }, { text: 'Finished after all.' }));
      const id = await idOf(run);
      await run.says(/t1\/0\/0 ok/);
      run.child.kill('SIGKILL');
      expect((await run.ended).code).toBeNull();
      await world.expectNothingRunning();
      const dev = await world.serve(['dev']);
      const shown = async () =>
        world.json<Listed & { answer: string | null; steps: readonly { toolCalls: readonly object[] }[] }>(
          'turns',
          'show',
          id,
        );
      await expect.poll(async () => (await shown()).status, { timeout: 60_000 }).toBe('completed');
      const after = await shown();
      expect(after.answer).toBe('Finished after all.');
      expect(after.steps[0]?.toolCalls).toMatchObject([{ outcome: 'ok', attempts: 1 }, { outcome: 'ok' }]);
      expect((await interrupt(dev)).code).toBe(0);
    },
  );
});

async function keeperClaims(): Promise<number> {
  const { readdir } = await import('node:fs/promises');
  return (await readdir(join(world.home, 'keepers')).catch(() => [])).length;
}
