// Two hosts that share nothing but a bucket: one is killed in the middle of a turn, the other finishes it.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readTurn } from '../../client/turns.ts';
import { findFile } from '../../activities/store/manifest.ts';
import { openDesk } from '../support/local-tools.ts';
import { until } from '../support/process.ts';
import { startS3Server } from '../support/s3-server.ts';
import type { HostPlan } from '../support/s3-worker.ts';
import { inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, workflowBundle } from '../support/turn-world.ts';

const PROGRAM = join(import.meta.dirname, '../support/s3-worker.ts');

it('[S3-9] a turn begun on one host is finished on another, with the files that the first one made', async () => {
  const server = await startS3Server();
  // The world's own Worker looks elsewhere: the hosts do the work.
  const world = await createWorld({ worker: { taskQueue: `idle-${randomUUID()}` } });
  const hosts: ChildProcess[] = [];
  try {
    const settings = server.settings();
    const store = server.store(settings);
    const bundlePath = join(world.folder, 'bundle.js');
    await writeFile(bundlePath, (await workflowBundle()).code);
    const host = async (name: string) => {
      const { address, taskQueue } = world;
      const plan: HostPlan = { name, address, taskQueue, bundlePath, modelUrl: world.model.baseUrl, store: settings };
      const cwd = join(world.folder, name);
      await mkdir(cwd);
      const child = spawn(process.execPath, [PROGRAM, JSON.stringify(plan)], {
        cwd,
        env: { ...process.env, ...server.env, HOME: cwd, TMPDIR: cwd },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      hosts.push(child);
      let said = '';
      child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const lines = (): readonly string[] => said.split('\n').filter((line) => line !== '');
      await until(`${name} polls`, () => lines().includes('ready'), 30_000);
      return { child, lines, cwd };
    };
    const first = await host('first');
    let path = '';
    const started = await world.start(openDesk, {
      text: 'Go.',
      script: async (request, n) => {
        if (n === 0) return { toolCalls: [{ name: 'desk__report', arguments: {} }] };
        path = /\/sandbox\/tool-results\/\S+?\.txt/.exec(toolTexts(request)[0] ?? '')?.[0] ?? path;
        return inOrder(
          { toolCalls: [{ name: 'desk__slow', arguments: {} }] },
          { toolCalls: [{ name: 'sandbox__read_file', arguments: { path } }] },
          { text: 'done' },
        )(request, n - 1);
      },
    });
    await until('the slow call runs on the first host', () => first.lines().includes('slow on first'), 30_000);
    const second = await host('second');
    first.child.kill('SIGKILL');
    expect(await started.result()).toMatchObject({ status: 'completed', answer: 'done', steps: 4 });
    expect(first.lines()).toEqual(['ready', 'report on first', 'slow on first']);
    expect(second.lines()).toEqual(['ready', 'slow on second']);
    const view = await readTurn(world.client, started.workflowId, store);
    expect(view.steps.map((step) => step.toolCalls.map((call) => call.outcome))).toEqual([['ok'], ['ok'], ['ok'], []]);
    const [found] = await findFile(store, path);
    const content = Buffer.from(await store.readBlob(found?.file.sha256 ?? '')).toString();
    expect(content).toContain('line 19999 of the report on first');
    expect(toolTexts(world.model.requests.at(-1)).at(-1)).toContain('line 0 of the report on first');
    // Nothing of the turn is on either host's disk.
    expect(
      [...(await readdir(first.cwd)), ...(await readdir(second.cwd))].filter((name) => /store|blob/.test(name)),
    ).toEqual([]);
  } finally {
    for (const child of hosts) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    await world.close();
    await server.stop();
  }
}, 100_000);
