// `longshore approvals` on real processes: a turn that waits is listed, shown and decided on from another process, with good input
// and with bad.
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import {
  type CliEnd,
  type CliRun,
  type CliWorld,
  expectDone,
  expectError,
  openWorld,
  plan,
  PROJECT,
} from '../support/cli.ts';

// Whole processes, on machines of two cores that do other things too.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

interface Listed {
  readonly id: string;
  readonly workflowId: string;
  readonly callKey: string;
  readonly digest: string;
  readonly [key: string]: unknown;
}

interface Shown {
  readonly workflowId: string;
  readonly status: string;
  readonly answer: string | null;
  readonly steps: readonly { readonly toolCalls: readonly Record<string, unknown>[] }[];
}

let world: CliWorld;

beforeAll(async () => {
  world = await openWorld();
  await world.write('writer.yaml', writer());
  await world.write('hasty.yaml', writer('approvals: {deadline: 1s, on_deadline: expire}'));
});
afterAll(async () => {
  await world.expectNothingRunning();
  await world.close();
});

function writer(config = ''): string {
  return `name: writer
model: {name: openai/scripted}
mcp_servers:
  - {name: fs, preload: true, enable_tools: [write_file, read_text_file]}
config: {${config}}
`;
}

const target = (name: string): string => join(world.folder, 'data', name);
const write = (name: string, content = 'as asked') => ({
  name: 'fs__write_file',
  arguments: { path: target(name), content },
});

function run(message: string, ...args: readonly string[]): CliRun {
  return world.start(['run', 'writer.yaml', '--json', '--message', message, ...args]);
}

/** The ids of what a run says that it waits for. */
async function idsOf(running: CliRun, count = 1): Promise<readonly string[]> {
  const said = await running.says(new RegExp(`(approvals show \\S+[^]*){${count}}`));
  return [...said.matchAll(/approvals show (\S+)/g)].map(([, id = '']) => id);
}

async function ended(running: CliRun): Promise<Shown> {
  const end = await running.ended;
  expectDone(end);
  return JSON.parse(end.stdout) as Shown;
}

async function written(name: string): Promise<string | null> {
  return readFile(target(name), 'utf8').catch(() => null);
}

describe('a run without a terminal', () => {
  it('[APPR-1] says how to decide and waits; list and show tell all of the call; the approved call runs once', async () => {
    const running = run(
      plan({ text: 'I write it now.', toolCalls: [write('one.txt')] }, { text: 'written' }),
      '--session',
      's-1',
    );
    const [id = ''] = await idsOf(running);
    const [listed] = await world.json<readonly Listed[]>('approvals', 'list', '--session', 's-1');
    expect(listed).toMatchObject({
      id,
      callKey: 't1/0/0',
      kind: 'approval',
      server: 'fs',
      tool: 'write_file',
      arguments: { path: target('one.txt'), content: 'as asked' },
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      files: [],
      waitingSince: expect.stringMatching(/^\d{4}-.*Z$/),
      expiresAt: null,
      session: 's-1',
      agent: 'writer',
      selector: '@destructive',
    });
    expect(id).toContain(listed?.workflowId);
    expect(await world.json('turns', 'show', listed?.workflowId ?? '')).toMatchObject({ status: 'waiting' });
    const turnShown = await world.longshore(['turns', 'show', listed?.workflowId ?? '']);
    expect(turnShown.stdout).toContain(`approvals show ${id}`);
    const shown = await world.longshore(['approvals', 'show', id]);
    expectDone(shown);
    for (const text of ['I write it now.', 'as asked', target('one.txt'), 'approvals approve', 'without a deadline']) {
      expect(shown.stdout).toContain(text);
    }
    expect(await written('one.txt')).toBeNull();
    const decided = await world.json('approvals', 'approve', id, '--as', 'ann@desk', '--reason', 'fine');
    expect(decided).toMatchObject({ id, decision: 'approve', repeated: false, decidedAt: expect.any(String) });
    const turn = await ended(running);
    expect(turn.status).toBe('completed');
    expect(turn.steps[0]?.toolCalls[0]).toMatchObject({
      outcome: 'ok',
      decisions: [{ decision: 'approve', approver: 'ann@desk', reason: 'fine' }],
    });
    expect(await written('one.txt')).toBe('as asked');
    const after = await world.json<Record<string, unknown>>('approvals', 'show', id);
    expect(after).toMatchObject({ state: 'ended', outcome: 'ok', decisions: [{ approver: 'ann@desk' }] });
    expect(await world.json('approvals', 'list')).toEqual([]);
  });

  it('[APPR-2] a denied call is not made, and the reason reaches record and model', async () => {
    const running = run(plan({ toolCalls: [write('two.txt')] }, { text: 'understood' }));
    const [id = ''] = await idsOf(running);
    expectDone(await world.longshore(['approvals', 'deny', id, '--reason', 'wrong folder']));
    const turn = await ended(running);
    expect(turn.steps[0]?.toolCalls[0]).toMatchObject({
      outcome: 'denied',
      decisions: [{ decision: 'deny', reason: 'wrong folder', approver: expect.stringContaining('@') }],
    });
    expect(JSON.stringify(world.model.requests.at(-1))).toContain('wrong folder');
    expect(await written('two.txt')).toBeNull();
  });

  it('[APPR-3] changed arguments that do not fit leave the call waiting; those that fit run, and both are on record', async () => {
    const running = run(plan({ toolCalls: [write('three.txt')] }, { text: 'done' }));
    const [id = ''] = await idsOf(running);
    const unfit = await world.longshore(['approvals', 'approve', id, '--arguments', '{"path": 7}']);
    expectError(unfit, 'ApprovalInvalid', 1, /schema of `write_file`.*waits on/);
    const changed = { path: target('three.txt'), content: 'as changed' };
    expectDone(await world.longshore(['approvals', 'approve', id, '--arguments', JSON.stringify(changed)]));
    const turn = await ended(running);
    expect(turn.steps[0]?.toolCalls[0]).toMatchObject({
      arguments: { content: 'as asked' },
      outcome: 'ok',
      decisions: [{ decision: 'approve', changedArguments: changed }],
    });
    expect(await written('three.txt')).toBe('as changed');
  });

  it('[APPR-4] for the session: the next call of the tool runs unasked', async () => {
    const running = run(plan({ toolCalls: [write('four.txt')] }, { toolCalls: [write('five.txt')] }, { text: 'done' }));
    const [id = ''] = await idsOf(running);
    expectDone(await world.longshore(['approvals', 'approve', id, '--for-session']));
    const turn = await ended(running);
    expect(turn.steps[0]?.toolCalls[0]).toMatchObject({ decisions: [{ forSession: true }] });
    expect(turn.steps[1]?.toolCalls[0]).toMatchObject({ outcome: 'ok' });
    expect(await written('five.txt')).toBe('as asked');
  });

  it('[APPR-5] a question of the agent is shown with its options and answered', async () => {
    const ask = { name: 'ask_user_question', arguments: { question: 'Which year?', options: ['2024', '2025'] } };
    const running = run(plan({ toolCalls: [ask] }, { text: 'thanks' }));
    const [id = ''] = await idsOf(running);
    const shown = await world.longshore(['approvals', 'show', id]);
    expect(shown.stdout).toMatch(/Which year\?[^]*1\. 2024[^]*2\. 2025[^]*approvals answer/);
    expectError(await world.longshore(['approvals', 'approve', id]), 'ApprovalInvalid', 1, /waits for an answer/);
    expectDone(await world.longshore(['approvals', 'answer', id, 'the newest']));
    const turn = await ended(running);
    expect(turn.steps[0]?.toolCalls[0]).toMatchObject({ decisions: [{ decision: 'answer', answer: 'the newest' }] });
    expect(JSON.stringify(world.model.requests.at(-1))).toContain('the newest');
  });
});

describe('a decision that cannot stand', () => {
  it('[APPR-6] ask-2: a second one is repeated, another one refused with the state, an expired one too; nothing runs twice', async () => {
    const running = run(plan({ toolCalls: [write('six.txt')] }, { wait: true }));
    const [id = ''] = await idsOf(running);
    expect(await world.json('approvals', 'approve', id)).toMatchObject({ repeated: false });
    await running.says(/t1\/0\/0 ok/);
    expect(await world.json('approvals', 'approve', id)).toMatchObject({ repeated: true });
    const other = await world.longshore(['approvals', 'deny', id]);
    expectError(other, 'ApprovalConflict', 1, /approved by \S+@\S+ at/);
    const stale = await world.longshore(['approvals', 'approve', id, '--digest', 'f'.repeat(64)]);
    expectError(stale, 'ApprovalStale', 1, /not the one that was shown/);
    world.release();
    expect((await ended(running)).status).toBe('completed');
    expect(await readdir(join(world.folder, 'data'))).toContain('six.txt');
    expect(await world.json('approvals', 'approve', id)).toMatchObject({ repeated: true });
    const closed = await world.longshore(['approvals', 'deny', id]);
    expectError(
      closed,
      'TurnClosed',
      1,
      /ended already \(completed\); call `t1\/0\/0` was decided by .* and ended as ok/,
    );
  });

  it('[APPR-7] is an error with a type: unknown and malformed ids, arguments that are no JSON, no or two choices', async () => {
    const cases: readonly (readonly [readonly string[], string, number, RegExp])[] = [
      [['approve', 'turn-none:t1.0.0'], 'TurnNotFound', 1, /no turn `turn-none`/],
      [['show', 'turn-none:t1.0.0'], 'TurnNotFound', 1, /no turn/],
      [['approve', 'nonsense'], 'ApprovalNotFound', 1, /no id of an approval/],
      [['approve', 'turn-none:t1.0.0', '--arguments', '{"path"'], 'UsageInvalid', 2, /not JSON/],
      [['approve', 'turn-none:t1.0.0', '--arguments', '[1]'], 'UsageInvalid', 2, /a JSON object, and this is a list/],
      [['approve', 'turn-none:t1.0.0', '--as', ''], 'UsageInvalid', 2, /empty/],
      [['resolve', 'turn-none:t1.0.0'], 'UsageInvalid', 2, /needs a choice/],
      [['resolve', 'turn-none:t1.0.0', '--done', '--give-up'], 'UsageInvalid', 2, /2 choices/],
      [['approve'], 'UsageInvalid', 2, /missing required argument/],
      [['list', '--turn', 'turn-none'], 'TurnNotFound', 1, /no turn/],
    ];
    const ends = await Promise.all(cases.map(async ([args]) => world.longshore(['approvals', ...args])));
    for (const [index, [, type, code, message]] of cases.entries()) expectError(at(ends, index), type, code, message);
    const json = await world.longshore(['approvals', 'approve', 'nonsense', '--json']);
    expect(JSON.parse(json.stdout)).toMatchObject({ error: { type: 'ApprovalNotFound', mend: expect.any(String) } });
  });

  it('[APPR-7] is refused for a call that nobody was asked about', async () => {
    const running = run('hello');
    const turn = await ended(running);
    expect(turn.status).toBe('completed');
    const id = `${turn.workflowId}:t1.0.0`;
    expectError(await world.longshore(['approvals', 'show', id]), 'ApprovalNotFound', 1, /has no call `t1\/0\/0`/);
  });

  it('[APPR-8] after the deadline says that it expired', async () => {
    const message = plan({ toolCalls: [write('late.txt')] }, { text: 'nobody came' });
    const running = world.start(['run', 'hasty.yaml', '--json', '--message', message]);
    const [id = ''] = await idsOf(running);
    const turn = await ended(running);
    expect(turn.steps[0]?.toolCalls[0]).toMatchObject({ outcome: 'expired' });
    const late = await world.longshore(['approvals', 'approve', id]);
    expectError(late, 'TurnClosed', 1, /ended as expired/);
    expect(await written('late.txt')).toBeNull();
  });

  it('[APPR-7] exits 3 where the server is not there', async () => {
    const env = { TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const ends = await Promise.all(
      [['list'], ['show', 'a:t1.0.0'], ['approve', 'a:t1.0.0']].map(async (args) =>
        world.longshore(['approvals', ...args], { env }),
      ),
    );
    for (const end of ends) expectError(end, 'TemporalUnavailable', 3, /127\.0\.0\.1:1/);
    expect(ends).toHaveLength(3);
  });
});

describe('an approved call whose outcome nobody knows', () => {
  it('[APPR-16] waits for a person, is resolved once, and is never sent again unasked', async () => {
    const record = join(world.folder, 'sent.txt');
    // Its server ends in the middle of the call: the request was out, and there is no answer.
    const server = { command: process.execPath, args: [join(PROJECT, 'test/support/mcp-stdio-server.ts'), 'plain'] };
    const frail = { ...server, env: { RECORD_FILE: record } };
    const mcp = await world.write('frail.json', JSON.stringify({ mcpServers: { frail } }));
    await world.write(
      'frail.yaml',
      writer().replace(/- \{name: fs.*\}/, '- {name: frail, preload: true, enable_tools: [die]}'),
    );
    const message = plan({ toolCalls: [{ name: 'frail__die', arguments: {} }] }, { text: 'understood' });
    const running = world.start(['run', 'frail.yaml', '--json', '--mcp', mcp, '--message', message]);
    const [id = ''] = await idsOf(running);
    expectDone(await world.longshore(['approvals', 'approve', id]));
    await running.says(/approvals resolve/);
    expect(await world.json('approvals', 'list', '--turn', id.split(':')[0] ?? '')).toMatchObject([
      { id, kind: 'outcome', tool: 'die' },
    ]);
    const shown = await world.longshore(['approvals', 'show', id]);
    for (const way of ['--run-again', '--done', '--give-up']) expect(shown.stdout).toContain(way);
    expectError(
      await world.longshore(['approvals', 'approve', id]),
      'ApprovalInvalid',
      1,
      /waits for what became of it/,
    );
    const decided = await world.json('approvals', 'resolve', id, '--done', '--as', 'ann@desk', '--reason', 'I looked');
    expect(decided).toMatchObject({ id, repeated: false });
    const turn = await ended(running);
    expect(turn.steps[0]?.toolCalls[0]).toMatchObject({
      outcome: 'ok',
      decisions: [
        { decision: 'approve' },
        { decision: 'outcome', choice: 'done', approver: 'ann@desk', reason: 'I looked' },
      ],
    });
    expect((await readFile(record, 'utf8')).match(/die/g)).toHaveLength(1);
  });
});

describe('two people at once', () => {
  it('[APPR-9] ask-5: one decision stands, the other is told, and the call runs once', async () => {
    const running = run(plan({ toolCalls: [write('both.txt')] }, { text: 'done' }));
    const [id = ''] = await idsOf(running);
    const ends = await Promise.all([
      world.longshore(['approvals', 'approve', id, '--as', 'ann']),
      world.longshore(['approvals', 'deny', id, '--as', 'bob', '--reason', 'no']),
    ]);
    expect(ends.filter(({ code }) => code === 0)).toHaveLength(1);
    expect(ends.filter(({ code }) => code === 1)).toHaveLength(1);
    const refused = at(
      ends,
      ends.findIndex(({ code }) => code === 1),
    );
    expect(refused.stderr).toMatch(/^error: (ApprovalConflict|TurnClosed): .*(ann|bob)/m);
    const turn = await ended(running);
    const isApproved = ends[0]?.code === 0;
    expect(turn.steps[0]?.toolCalls[0]).toMatchObject({
      outcome: isApproved ? 'ok' : 'denied',
      attempts: isApproved ? 1 : 0,
    });
    expect(await written('both.txt')).toBe(isApproved ? 'as asked' : null);
  });
});

describe('without a Worker', () => {
  it('[APPR-10] what waits is listed, a decision is taken and kept, and a Worker that comes later makes the call', async () => {
    const running = run(plan({ toolCalls: [write('alone.txt')] }, { text: 'finished later' }));
    const [id = ''] = await idsOf(running);
    const [workflowId = ''] = id.split(':');
    running.child.kill('SIGKILL');
    await running.ended;
    await world.expectNothingRunning();
    const listed = await world.json<readonly Listed[]>('approvals', 'list', '--turn', workflowId);
    expect(listed).toMatchObject([{ id, tool: 'write_file' }]);
    const changed = JSON.stringify({ path: target('alone.txt'), content: 'x' });
    const unchecked = await world.longshore(['approvals', 'approve', id, '--arguments', changed]);
    expectError(unchecked, 'WorkerMissing', 3, /checked by a Worker/);
    const approved = await world.longshore(['approvals', 'approve', id]);
    expectDone(approved);
    expect(approved.stderr).toMatch(/the turn goes on once one does[^]*worker --task-queue longshore/);
    expect(await written('alone.txt')).toBeNull();
    const dev = await world.serve(['dev']);
    const status = async (): Promise<string> => (await world.json<Shown>('turns', 'show', workflowId)).status;
    await expect.poll(status, { timeout: 30_000 }).toBe('completed');
    expect(await written('alone.txt')).toBe('as asked');
    dev.child.kill('SIGINT');
    expect((await dev.ended).code).toBe(0);
  });
});

function at(ends: readonly CliEnd[], index: number): CliEnd {
  const end = ends[index];
  if (!end) throw new Error(`no end ${index}`);
  return end;
}
