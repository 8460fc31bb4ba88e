// `longshore run` with nobody else there: it brings up what it needs, waits where it is told to, shares a home with another
// `run`, and leaves nothing running. Then the same on a terminal.
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';

import {
  type CliWorld,
  EVERYTHING_SERVER,
  expectDone,
  expectError,
  interrupt,
  openWorld,
  plan,
  PROJECT,
  startProcess,
} from '../support/cli.ts';

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

describe('run alone', () => {
  it('with --detach needs a Worker that stays, and exits 3 without one', async () => {
    const end = await world.longshore(['run', 'agent.yaml', '--detach', '--message', 'x']);
    expectError(end, 'WorkerMissing', 3, /--detach/);
    expect(await world.json('turns', 'list')).toEqual([]);
  });

  it('with --no-worker says that the turn waits, and goes on when a Worker comes', async () => {
    const run = world.start(['run', 'agent.yaml', '--no-worker', '--json', '--message', 'late']);
    await run.says(/No Worker polls Task Queue longshore yet/);
    await run.says(/^turn /m);
    const worker = await world.serve(['worker']);
    const { code, stdout } = await run.ended;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'completed', answer: 'You said: late' });
    expect((await interrupt(worker)).code).toBe(0);
  });

  it('shares its home with others that run at once, whether their servers are the same or not', async () => {
    const other = { mine: { command: process.execPath, args: [EVERYTHING_SERVER, 'stdio', world.folder] } };
    await world.write('other/mcp.json', JSON.stringify({ mcpServers: other }));
    const spec =
      'name: o\nmodel: {name: openai/scripted}\nmcp_servers: [{name: mine, preload: true, require_approval_for_tools: []}]\n';
    await world.write('other/agent.yaml', spec);
    const echo = (name: string, text: string): string =>
      plan({ toolCalls: [{ name, arguments: { message: text } }] }, { text: `${text} done` });
    const list = { toolCalls: [{ name: 'fs__list_allowed_directories', arguments: {} }] };
    const ends = await Promise.all([
      world.longshore(['run', 'agent.yaml', '--json', '--message', plan(list, { text: 'one done' })]),
      world.longshore(['run', 'agent.yaml', '--json', '--message', plan(list, { text: 'two done' })]),
      world.longshore(['run', 'other/agent.yaml', '--json', '--message', echo('mine__echo', 'three')]),
    ]);
    const documents = ends.map(({ stdout }) => JSON.parse(stdout) as Record<string, unknown>);
    expect(documents.map(({ status, answer, error }) => JSON.stringify([status, answer, error]))).toEqual(
      ['one done', 'two done', 'three done'].map((answer) => JSON.stringify(['completed', answer, null])),
    );
    const calls = documents.map((document) => (document['steps'] as { toolCalls: object[] }[])[0]?.toolCalls[0]);
    for (const call of calls) expect(call).toMatchObject({ outcome: 'ok' });
  });
});

// Needs `script` of util-linux, which every Linux of the Debian and Red Hat families has.
describe.runIf(process.platform === 'linux')('on a terminal', () => {
  async function onTerminal(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const quoted = [process.execPath, join(PROJECT, 'cli', 'main.ts'), ...args].map((part) => `'${part}'`).join(' ');
    const own = { LONGSHORE_HOME: world.home, OPENAI_BASE_URL: world.model.baseUrl, TERM: 'xterm-256color' };
    const call = { cwd: world.folder, env: { ...own, ...env } };
    const end = await startProcess(['-qec', `stty rows 40 cols 120; ${quoted}`, '/dev/null'], call, 'script').ended;
    expectDone(end);
    return end.stdout;
  }

  it('run has colours and a live line, which is gone in the end', async () => {
    const shown = await onTerminal(['run', 'agent.yaml', '--message', 'hello']);
    // oxlint-disable-next-line no-control-regex
    expect(shown).toMatch(/\u001b\[1m(step 0|turn)\u001b\[22m/);
    expect(shown).toContain('step 0: waiting for the model');
    // oxlint-disable-next-line no-control-regex
    expect(shown).toMatch(/waiting for the model[^]*\u001b\[2K[^]*You said: hello/);
    const last = stripVTControlCharacters(shown).trimEnd().split('\n').at(-1);
    expect(last).toMatch(/longshore (-- )?turns show turn-/);
  });

  it('run with NO_COLOR has none, and the lasting lines are the same', async () => {
    const shown = await onTerminal(['run', 'agent.yaml', '--message', 'hello'], { NO_COLOR: '1' });
    // oxlint-disable-next-line no-control-regex
    expect(shown).not.toMatch(/\u001b\[[\d;]*m/);
    expect(shown).toContain('You said: hello');
  });
});
