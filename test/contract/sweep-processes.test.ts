// A writer and a sweep in two processes on one folder, at full speed: what the writer was promised is there.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deleteInShard } from '../../activities/retention/delete-blobs.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import { setModified } from '../support/sweep-world.ts';

const COUNT = 400;

test('[KEEP-15] a writer in another process has what it was promised while this one sweeps', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-race-'));
  const store = createLocalStore({ folder, namespace: 'default' });
  for (let n = 0; n < COUNT; n += 1) {
    const { sha256 } = await store.putBlob(Buffer.from(`content ${n}`));
    await setModified(folder, sha256, 0);
  }
  const program = join(import.meta.dirname, '..', 'support', 'relying-writer.ts');
  const child = spawn(process.execPath, [program, folder, String(COUNT)], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  // It meets the sweep half way: that begins with the writer's first intent.
  while ((await Array.fromAsync(store.listObjects('intents'))).length === 0) await new Promise(setImmediate);
  let deleted = 0;
  for (let shard = 0; shard < 256; shard += 1) {
    const swept = await deleteInShard(shard.toString(16).padStart(2, '0'), {
      store,
      by: 'sweep',
      dryRun: false,
      isReferenced: () => false,
      keptBecause: (effectiveMs) => (effectiveMs > 1_000_000 ? 'young' : null),
    });
    deleted += swept.blobsDeleted ?? 0;
  }
  await ended;
  expect(JSON.parse(said)).toEqual([]);
  expect(deleted).toBeGreaterThan(0);
  expect(deleted).toBeLessThan(COUNT);
  await rm(folder, { recursive: true, force: true });
});
