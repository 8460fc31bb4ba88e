// `longshore run` on a terminal asks about every call that waits: approve, deny, edit, later; several at once; decided elsewhere
// meanwhile; Ctrl-C; and input that is no terminal decides nothing.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { type CliRun, type CliWorld, expectDone, openWorld, plan, PROJECT, startProcess } from '../support/cli.ts';

// Whole processes, on machines of two cores that do other things too.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let world: CliWorld;
const runs: CliRun[] = [];

beforeAll(async () => {
  world = await openWorld();
  await world.write('writer.yaml', WRITER);
});
afterAll(async () => {
  // A test that failed leaves a turn that waits.
  for (const run of runs) run.child.kill('SIGKILL');
  await world.expectNothingRunning();
  await world.close();
});

const WRITER = `name: writer
model: {name: openai/scripted}
mcp_servers:
  - {name: fs, preload: true, enable_tools: [write_file, read_text_file]}
`;

const target = (name: string): string => join(world.folder, 'data', name);
const write = (name: string) => ({ name: 'fs__write_file', arguments: { path: target(name), content: 'as asked' } });

async function written(name: string): Promise<string | null> {
  return readFile(target(name), 'utf8').catch(() => null);
}

/** Typing at a run on a terminal. */
interface Typist {
  readonly run: CliRun;
  /** Waits until a pattern is shown that was not seen before, then types. */
  readonly answer: (pattern: RegExp, keys: string) => Promise<void>;
  /** Waits until a pattern is shown that was not seen before. */
  readonly sees: (pattern: RegExp) => Promise<string>;
}

function onTerminal(message: string): Typist {
  const args = ['run', 'writer.yaml', '--message', message];
  const quoted = [process.execPath, join(PROJECT, 'cli', 'main.ts'), ...args].map((part) => `'${part}'`).join(' ');
  const env = { LONGSHORE_HOME: world.home, OPENAI_BASE_URL: world.model.baseUrl, TERM: 'xterm-256color' };
  const command = ['-qec', `stty rows 40 cols 160; ${quoted}`, '/dev/null'];
  const run = startProcess(
    command,
    { cwd: world.folder, env: { ...env, OPENAI_API_KEY: 'none' }, input: null },
    'script',
  );
  runs.push(run);
  let shown = '';
  let seen = 0;
  run.child.stdout?.on('data', (chunk: Buffer) => (shown += chunk.toString('utf8')));
  const sees = async (pattern: RegExp): Promise<string> => {
    const found = await vi.waitFor(
      () => {
        const match = pattern.exec(stripVTControlCharacters(shown.slice(seen)));
        if (!match)
          throw new Error(`not shown: ${pattern}\n${stripVTControlCharacters(shown.slice(seen)).slice(-3000)}`);
        return match[0];
      },
      { timeout: 60_000, interval: 50 },
    );
    seen = shown.length;
    return found;
  };
  return {
    run,
    sees,
    answer: async (pattern, keys) => {
      await sees(pattern);
      // Keys that come before a person can have read the prompt count for nothing: as long as that a person waits too.
      await new Promise((resolve) => setTimeout(resolve, 1_200));
      run.child.stdin?.write(keys);
    },
  };
}

// The terminal is made by `script` of util-linux, whose options other systems do not have.
describe.runIf(process.platform === 'linux')('run on a terminal', () => {
  it('[APPR-11] asks for one call after another; what means nothing decides nothing', async () => {
    const calls = [write('first.txt'), write('second.txt'), write('third.txt')];
    const { run, answer, sees } = onTerminal(plan({ toolCalls: calls }, { text: 'all settled' }));
    await answer(/t1\/0\/0 fs\.write_file, waits for .*2 more after it[^]*\[a\]pprove/, 'maybe\r');
    await answer(/`maybe` is none of these[^]*\[a\]pprove/, 'a\r');
    await answer(/t1\/0\/1 fs\.write_file, waits for[^]*\[a\]pprove/, 'd\r');
    await answer(/reason for the agent/, 'wrong place\r');
    await answer(/t1\/0\/2 fs\.write_file, waits for[^]*\[a\]pprove/, 'e\r');
    const editing = /arguments as JSON[^]*as asked/;
    await answer(editing, `\u0015${JSON.stringify({ path: target('third.txt'), content: 'edited' })}\r`);
    await sees(/all settled/);
    run.child.stdin?.end();
    const end = await run.ended;
    expectDone(end);
    const text = stripVTControlCharacters(end.stdout);
    expect(text).toMatch(/t1\/0\/1 denied by \S+@\S+: wrong place/);
    expect(text).toMatch(/t1\/0\/2 approved with changed arguments by/);
    expect([await written('first.txt'), await written('second.txt'), await written('third.txt')]).toEqual([
      'as asked',
      null,
      'edited',
    ]);
  });

  it('[APPR-11] takes the question away when another process decides; later says how to decide from elsewhere', async () => {
    const { run, answer, sees } = onTerminal(
      plan({ toolCalls: [write('here.txt'), write('there.txt')] }, { text: 'over' }),
    );
    await sees(/t1\/0\/0 fs\.write_file, waits for[^]*\[a\]pprove/);
    const listed = await world.json<readonly { id: string; callKey: string }[]>('approvals', 'list');
    const [first = '', second = ''] = listed.map(({ id }) => id);
    expectDone(await world.longshore(['approvals', 'deny', first, '--as', 'bob']));
    // What stays the same on the screen is not drawn again.
    await answer(/t1\/0\/0 denied by bob[^]*t1\/0\/1 fs\.write_file, waits for/, 'l\r');
    await sees(new RegExp(`approvals approve ${second.replaceAll('.', String.raw`\.`)}`));
    expectDone(await world.longshore(['approvals', 'approve', second]));
    await sees(/over/);
    run.child.stdin?.end();
    expectDone(await run.ended);
    expect([await written('here.txt'), await written('there.txt')]).toEqual([null, 'as asked']);
  });

  it('[APPR-11] asks a question of the agent in the same way', async () => {
    const ask = { name: 'ask_user_question', arguments: { question: 'Which pier?', options: ['North', 'South'] } };
    const { run, answer, sees } = onTerminal(plan({ toolCalls: [ask] }, { text: 'thank you' }));
    await answer(/Which pier\?[^]*1\. North[^]*2\. South[^]*answer/, '2\r');
    await sees(/thank you/);
    run.child.stdin?.end();
    expectDone(await run.ended);
    expect(JSON.stringify(world.model.requests.at(-1))).toContain('South');
  });

  it('[APPR-11] Ctrl-C at a prompt cancels the turn: the call is not made', async () => {
    const { run, answer } = onTerminal(plan({ toolCalls: [write('never.txt')] }, { text: 'never' }));
    await answer(/t1\/0\/0 fs\.write_file, waits for[^]*\[a\]pprove/, '\u0003');
    const end = await run.ended;
    expect(end.code).toBe(130);
    expect(stripVTControlCharacters(end.stdout)).toMatch(/turn\s+turn-\S+: cancelled/);
    expect(await written('never.txt')).toBeNull();
  });
});

describe('input that is no terminal', () => {
  it('[APPR-11] decides nothing, whatever it says', async () => {
    const message = plan({ toolCalls: [write('piped.txt')] }, { text: 'piped' });
    const run = world.start(['run', 'writer.yaml', '--message', message], { input: 'a\nyes\napprove\n' });
    const [, id = ''] = /approvals show (\S+)/.exec(await run.says(/approvals show \S+/)) ?? [];
    expect(await world.json('approvals', 'show', id)).toMatchObject({ state: 'waiting', decisions: [] });
    expect(await written('piped.txt')).toBeNull();
    expectDone(await world.longshore(['approvals', 'deny', id]));
    expectDone(await run.ended);
  });
});
