// `longshore turns` and `longshore files`: what they show of turns that ran before, when nothing else runs; and of one that
// is under way.
import { createHash } from 'node:crypto';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { CliWorld, PlannedAnswer } from '../support/cli.ts';
import { expectDone, expectError, openWorld, plan } from '../support/cli.ts';

interface Shown {
  readonly workflowId: string;
  readonly runId: string;
  readonly status: string;
  readonly session: string;
  readonly steps: readonly { readonly toolCalls: readonly Call[] }[];
}
interface Call {
  readonly callKey: string;
  readonly outcome: string;
  readonly path: string | null;
  readonly sha256: string;
  readonly bytes: number;
  readonly placement: string | null;
  readonly files: readonly { readonly path: string; readonly sha256: string; readonly bytes: number }[];
}

// Whole processes, on machines of two cores that do other things too.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let world: CliWorld;
/** A turn with a large text, an image and a file that the agent wrote; and a second one that wrote the same path otherwise. */
let first: Shown;
let second: Shown;
const big = Array.from({ length: 4_000 }, (_, line) => `line ${line}: grüße ☕ \u{1f9ed}`).join('\r\n');

beforeAll(async () => {
  world = await openWorld();
  await world.write('data/big.txt', big);
  const write = (content: string) => ({
    name: 'sandbox__write_file',
    arguments: { path: '/sandbox/notes.md', content },
  });
  const calls = [
    { name: 'fs__read_text_file', arguments: { path: join(world.folder, 'data', 'big.txt') } },
    { name: 'every__get-tiny-image', arguments: {} },
    write('first'),
  ];
  const run = async (...answers: readonly PlannedAnswer[]): Promise<Shown> =>
    world.json<Shown>('run', 'agent.yaml', '--message', plan(...answers));
  first = await run({ toolCalls: calls }, { text: 'Done.' });
  second = await run({ toolCalls: [write('second')] }, { text: 'Done again.' });
});

afterAll(async () => {
  await world.expectNothingRunning();
  await world.close();
});

describe('turns, when nothing runs', () => {
  it('are listed newest first, with status, agent and session, and nothing is left running', async () => {
    const listed = await world.json<readonly Record<string, unknown>[]>('turns', 'list');
    const stamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const row = (of: Shown) => {
      const { workflowId, runId } = of;
      return {
        workflowId,
        runId,
        session: workflowId,
        agent: 'tester',
        status: 'completed',
        startedAt: stamp,
        closedAt: stamp,
      };
    };
    expect(listed).toEqual([row(second), row(first)]);
    await world.expectNothingRunning();
  });

  it('are listed for people as a table', async () => {
    const { code, stdout } = await world.longshore(['turns', 'list']);
    expect(code).toBe(0);
    const [head = '', ...rows] = stdout.trimEnd().split('\n');
    expect(head).toMatch(/^turn +status +started +agent +session$/);
    expect(rows.map((row) => row.split(/ +/).slice(0, 2))).toEqual([
      [second.workflowId, 'completed'],
      [first.workflowId, 'completed'],
    ]);
  });

  it('are shown as they were told at their end, and for people with every call and its placement', async () => {
    expect(await world.json('turns', 'show', first.workflowId)).toEqual(first);
    const { stdout } = await world.longshore(['turns', 'show', first.workflowId]);
    for (const call of first.steps[0]?.toolCalls ?? []) expect(stdout).toContain(call.callKey);
    expect(stdout).toContain('file by rule per-result');
    expect(stdout).toContain('Done.');
  });

  it('are refused when they are not there, or have ended already', async () => {
    const shown = await world.longshore(['turns', 'show', 'turn-x']);
    expect(shown.stdout).toBe('');
    expectError(shown, 'TurnNotFound', 1, /turn-x/);
    expectError(await world.longshore(['turns', 'cancel', 'turn-x']), 'TurnNotFound', 1, /turn-x/);
    expectError(await world.longshore(['turns', 'cancel', first.workflowId]), 'TurnClosed', 1, /ended already/);
  });
});

describe('files', () => {
  it('are listed with what made them, all or one turn’s', async () => {
    const all = await world.json<readonly { path: string; workflowId: string; callKey: string }[]>('files', 'list');
    expect(all.filter(({ path }) => path === '/sandbox/notes.md')).toHaveLength(2);
    const ours = await world.json<typeof all>('files', 'list', second.workflowId);
    expect(ours).toEqual(all.filter(({ workflowId }) => workflowId === second.workflowId));
    expect(ours.find(({ path }) => path === '/sandbox/notes.md')).toMatchObject({
      bytes: 6,
      sha256: createHash('sha256').update('second').digest('hex'),
      callKey: 't1/0/0',
      server: 'sandbox',
      tool: 'write_file',
      session: second.workflowId,
    });
    const { stdout } = await world.longshore(['files', 'list', first.workflowId]);
    expect(stdout).toContain(first.steps[0]?.toolCalls[0]?.path ?? 'a path');
    expectError(await world.longshore(['files', 'list', 'turn-x']), 'TurnNotFound', 1, /turn-x/);
  });

  it('are shown with size, hash, type, state and whether the store has them', async () => {
    const call = first.steps[0]?.toolCalls[0];
    const shown = await world.json('files', 'show', call?.path ?? '');
    expect(shown).toMatchObject({
      path: call?.path,
      bytes: Buffer.byteLength(big),
      sha256: call?.sha256,
      stored: true,
    });
    expect(shown).toMatchObject({ workflowId: first.workflowId, callKey: 't1/0/0', tool: 'read_text_file' });
  });

  it('come back byte for byte on standard output, text and image', async () => {
    const [text, image] = first.steps[0]?.toolCalls ?? [];
    const got = await world.longshore(['files', 'get', text?.path ?? '']);
    expectDone(got);
    expect(got.stderr).toBe('');
    expect(got.bytes.equals(Buffer.from(big))).toBe(true);
    const picture = image?.files.find(({ path }) => path.endsWith('.png'));
    const png = await world.longshore(['files', 'get', picture?.path ?? '']);
    expect(png.bytes.subarray(1, 4).toString()).toBe('PNG');
    expect(createHash('sha256').update(png.bytes).digest('hex')).toBe(picture?.sha256);
    expect(png.bytes).toHaveLength(picture?.bytes ?? 0);
  });

  it('are written whole with -o, over what was there', async () => {
    const path = first.steps[0]?.toolCalls[0]?.path ?? '';
    const target = await world.write('out.txt', 'old');
    const told = await world.json('files', 'get', path, '-o', 'out.txt');
    expect(told).toMatchObject({ path, output: target, bytes: Buffer.byteLength(big) });
    expect(await readFile(target, 'utf8')).toBe(big);
    expectError(await world.longshore(['files', 'get', path, '-o', 'none/out']), 'UsageInvalid', 2, /none\/out/);
    expectError(await world.longshore(['files', 'get', path, '-o', 'data']), 'UsageInvalid', 2, /data/);
  });

  it('whose path two turns gave to other contents need --turn', async () => {
    const path = '/sandbox/notes.md';
    expectError(await world.longshore(['files', 'get', path]), 'UsageInvalid', 2, /notes\.md/);
    for (const [turn, content] of [
      [first, 'first'],
      [second, 'second'],
    ] as const) {
      expect((await world.longshore(['files', 'get', path, '--turn', turn.workflowId])).stdout).toBe(content);
    }
  });

  it('that are not there are refused by name', async () => {
    expectError(await world.longshore(['files', 'get', '/sandbox/nothing']), 'FileNotFound', 1, /\/sandbox\/nothing/);
    const other = await world.longshore(['files', 'show', '/sandbox/notes.md', '--turn', 'turn-x', '--json']);
    expect(other.code).toBe(1);
    expect(JSON.parse(other.stdout)).toMatchObject({ error: { type: 'FileNotFound' } });
    const mixed = await world.longshore(['files', 'get', '/sandbox/notes.md', '--json']);
    expect(mixed.code).toBe(2);
    expect(JSON.parse(mixed.stdout)).toMatchObject({
      error: { type: 'UsageInvalid', mend: expect.stringContaining('-o FILE') },
    });
  });
});

describe('a turn whose record is damaged', () => {
  let record: string;
  let content: string;
  beforeAll(async () => {
    const paths = await readdir(join(world.home, 'store'), { recursive: true });
    const records = paths.filter((path) => /\bmanifests\b/.test(path)).map((path) => join(world.home, 'store', path));
    for (const path of records) {
      if (!(await stat(path)).isFile()) continue;
      const text = await readFile(path, 'utf8');
      if (text.includes(`"workflowId":"${second.workflowId}"`)) [record, content] = [path, text];
    }
    await writeFile(record, content.slice(0, 40));
  });
  afterAll(async () => writeFile(record, content));

  it('is told with its key, and the files of the others are listed: exit code 1', async () => {
    const plain = await world.longshore(['files', 'list']);
    expectError(plain, 'BlobCorrupt', 1, new RegExp(`manifests/${second.workflowId}/${second.workflowId}`));
    expect(plain.stdout).toContain(first.steps[0]?.toolCalls[0]?.path ?? 'a path');
    const json = await world.longshore(['files', 'list', '--json']);
    expectError(json, 'BlobCorrupt', 1, /manifests/);
    const listed = JSON.parse(json.stdout) as readonly { readonly workflowId: string }[];
    expect(new Set(listed.map(({ workflowId }) => workflowId))).toEqual(new Set([first.workflowId]));
  });

  it('is what a list of its own files says, and no concern of another turn’s', async () => {
    expectError(await world.longshore(['files', 'list', second.workflowId]), 'BlobCorrupt', 1, /manifests/);
    const other = await world.longshore(['files', 'list', first.workflowId]);
    expect({ code: other.code, stderr: other.stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('a turn under way', () => {
  it('is shown as running with its open calls, and cancelled with a result for each', async () => {
    const slow = { name: 'every__trigger-long-running-operation', arguments: { duration: 300, steps: 100 } };
    const quick = { name: 'every__echo', arguments: { message: 'quick' } };
    const message = plan({ toolCalls: [slow, quick] }, { text: 'never' });
    const run = world.start(['run', 'agent.yaml', '--message', message]);
    const id = /turn (turn-\S+)/.exec(await run.says(/t1\/0\/1 (ok|\S+denied)/))?.[1] ?? '';
    const shown = await world.json<Shown>('turns', 'show', id);
    expect(shown.status).toBe('running');
    expect(shown.steps[0]?.toolCalls[0]).toMatchObject({ callKey: 't1/0/0', outcome: 'running', placement: null });
    expect(await world.json('turns', 'list')).toContainEqual(
      expect.objectContaining({ workflowId: id, status: 'running' }),
    );
    expect(await world.json('turns', 'cancel', id)).toEqual({ workflowId: id, cancelRequested: true });
    const { code, stdout } = await run.ended;
    expect(code).toBe(1);
    expect(stdout).toContain(`${id}: cancelled`);
    const after = await world.json<Shown>('turns', 'show', id);
    expect(after.steps[0]?.toolCalls.map(({ outcome }) => outcome)[0]).toBe('cancelled');
    expect(after.status).toBe('cancelled');
  });
});
