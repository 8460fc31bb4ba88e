// `longshore sweep`, `setup`, `files hold`, `unhold` and `purge`, as a user runs them on the embedded server.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { CliWorld } from '../support/cli.ts';
import { expectDone, expectError, openWorld, plan } from '../support/cli.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import type { FileStore } from '../../shared/file-store.ts';

interface Shown {
  readonly workflowId: string;
  readonly steps: readonly { readonly toolCalls: readonly { readonly path: string | null }[] }[];
}

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let world: CliWorld;
let store: FileStore;
/** Two turns of one person's session, the second going on from the first, and one of another session that read the same. */
let first: Shown;
let second: Shown;
let other: Shown;

beforeAll(async () => {
  world = await openWorld();
  store = createLocalStore({ folder: join(world.home, 'store'), namespace: 'default' });
  const lines = (what: string) => Array.from({ length: 5_000 }, (_, line) => `${what} ${line}`).join('\n');
  await world.write('data/shared.txt', lines('shared'));
  await world.write('data/own.txt', lines('own'));
  const read = (name: string) => ({
    name: 'fs__read_text_file',
    arguments: { path: join(world.folder, 'data', name) },
  });
  const run = async (names: readonly string[], ...more: readonly string[]): Promise<Shown> =>
    world.json<Shown>(
      'run',
      'agent.yaml',
      '--message',
      plan({ toolCalls: names.map(read) }, { text: 'Done.' }),
      ...more,
    );
  first = await run(['own.txt', 'shared.txt'], '--session', 'customer-4711');
  second = await world.json<Shown>('run', 'agent.yaml', '--message', 'And?', '--continue', first.workflowId);
  other = await run(['shared.txt'], '--session', 'somebody-else');
});

afterAll(async () => {
  await world.expectNothingRunning();
  await world.close();
});

describe('retention on the command line', () => {
  const pathOf = (turn: Shown, call: number): string => turn.steps[0]?.toolCalls[call]?.path ?? '';

  it('[KEEP-13] sets a server up, says what it did, and finds all as it should be the second time', async () => {
    const done = await world.json<{ readonly schedule: { readonly done: string }; readonly searchAttributes: object }>(
      'setup',
    );
    // The embedded server got both with its first Worker.
    expect(done).toMatchObject({
      namespace: 'default',
      taskQueue: 'longshore',
      searchAttributes: { registered: [] },
      schedule: { id: 'longshore-retention', done: 'unchanged', everyMs: 3_600_000, graceMs: 86_400_000 },
    });
    await world.write('temporal.config.ts', `export default { retention: { every: '2h', grace: '48h' } };`);
    expect((await world.json<typeof done>('setup')).schedule).toMatchObject({ done: 'updated', everyMs: 7_200_000 });
    expect((await world.json<typeof done>('setup')).schedule).toMatchObject({ done: 'unchanged' });
    await world.write('temporal.config.ts', `export default { retention: { every: '1s' } };`);
    expectError(await world.longshore(['setup']), 'ConfigInvalid', 2, /retention\.every|temporal\.config/);
    await world.write('temporal.config.ts', 'export default {};');
    expectDone(await world.longshore(['setup']));
  });

  it('[KEEP-7] sweeps at once, dry and for good, and releases the pins of closed turns', async () => {
    const dry = await world.json<Record<string, unknown>>('sweep', '--dry-run');
    expect(dry).toMatchObject({ dryRun: true, turns: 3, openTurns: 0, filesDeleted: 0, blobsDeleted: 0, problems: [] });
    const states = async (): Promise<readonly string[]> =>
      (await world.json<readonly { readonly state: string }[]>('files', 'list')).map(({ state }) => state);
    expect(new Set(await states())).toEqual(new Set(['pinned']));
    const swept = await world.longshore(['sweep']);
    expectDone(swept);
    expect(swept.stdout).toMatch(/released {3}\d files of turns that are closed or gone/);
    expect(new Set(await states())).toEqual(new Set(['released']));
  });

  it('[KEEP-6] holds a path, a turn and a session, refuses what is not there, and refuses to purge what is held', async () => {
    const own = pathOf(first, 0);
    expectDone(await world.longshore(['files', 'hold', own, '--reason', 'audit', '--as', 'counsel']));
    expectDone(await world.longshore(['files', 'hold', '--turn', first.workflowId]));
    expectDone(await world.longshore(['files', 'hold', '--session', 'customer-4711']));
    expectError(await world.longshore(['files', 'hold', '/sandbox/none']), 'FileNotFound', 1, /not known/);
    expectError(await world.longshore(['files', 'hold', '--turn', 'none']), 'TurnNotFound', 1, /not known/);
    expectError(await world.longshore(['files', 'hold']), 'UsageInvalid', 2, /nothing was named/);
    expectError(await world.longshore(['files', 'hold', own, '--turn', 'x']), 'UsageInvalid', 2, /several/);
    const refused = await world.longshore(['files', 'purge', '--session', 'customer-4711', '--yes']);
    expectError(refused, 'FileHeld', 1, /session `customer-4711`/);
    expect(refused.stderr).toContain('(by counsel)');
    expectDone(await world.longshore(['files', 'unhold', own]));
    expectDone(await world.longshore(['files', 'unhold', '--turn', first.workflowId]));
    expectDone(await world.longshore(['files', 'unhold', '--session', 'customer-4711']));
    expectError(await world.longshore(['files', 'unhold', own]), 'FileNotFound', 1, /no hold/);
  });

  it('[KEEP-14] purges a session at once and everywhere, keeps what another refers to, and gives a receipt', async () => {
    const purge = ['files', 'purge', '--session', 'customer-4711'];
    expectError(await world.longshore(purge), 'UsageInvalid', 2, /for good: 2 turns/);
    expectError(await world.longshore(['files', 'purge', '--session', 'nobody', '--yes']), 'TurnNotFound', 1, /nobody/);
    const receipt = await world.json<{
      readonly receipt: string;
      readonly turns: readonly {
        readonly workflowId: string;
        readonly transcript: object | null;
        readonly files: readonly object[];
      }[];
      readonly temporal: { readonly deleted: readonly object[]; readonly notDeleted: readonly object[] };
    }>(...purge, '--yes');
    expect(receipt.turns.map(({ workflowId }) => workflowId).sort()).toEqual(
      [first.workflowId, second.workflowId].sort(),
    );
    for (const turn of receipt.turns) {
      expect(turn.transcript).not.toBeNull();
      expect(turn.files).toHaveLength(2); // the second turn inherits both
    }
    expect(receipt.temporal).toMatchObject({ notDeleted: [] });
    expect(receipt.temporal.deleted).toHaveLength(2);
    expect(receipt).toMatchObject({ session: 'customer-4711', blobsLeft: 0 });
    expectError(await world.longshore(['files', 'get', pathOf(first, 0)]), 'FileNotFound', 1, /own|read_text_file/);
    const shared = await world.longshore(['files', 'get', pathOf(other, 0)]);
    expectDone(shared);
    expect(shared.stdout).toContain('shared 4999');
    expectError(await world.longshore(['turns', 'show', first.workflowId]), 'TurnNotFound', 1, /turn/i);
    for await (const key of store.listObjects('')) {
      const text = Buffer.from((await store.getObject(key))?.body ?? []).toString('utf8');
      expect(`${key} ${text}`).not.toContain('customer-4711');
      expect(`${key} ${text}`).not.toContain(first.workflowId);
    }
    const kept = await store.getObject(receipt.receipt);
    expect(JSON.parse(Buffer.from(kept?.body ?? []).toString('utf8'))).toMatchObject({
      turns: 2,
      files: 4,
      transcripts: 2,
    });
    expectError(await world.longshore([...purge, '--yes']), 'TurnNotFound', 1, /customer-4711/);
  });
});
