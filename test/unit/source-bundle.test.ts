// The bundle of the Workflows in a checkout: made once for the same sources, and made again where it cannot be kept.
import { mkdir, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sourceBundle } from '../../worker/source-bundle.ts';
import { temporaryFolder } from '../support/process.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
});
afterAll(async () => folder.remove());

it('is made once, by two at once too, and kept in the cache; what nobody uses goes', async () => {
  const env = { LONGSHORE_CACHE: folder.path };
  const kept = join(folder.path, 'workflow-bundles');
  await mkdir(kept, { recursive: true });
  const old = join(kept, 'old.js');
  await writeFile(old, '');
  await utimes(old, 0, 0);
  const [first, second] = await Promise.all([sourceBundle(env), sourceBundle(env)]);
  expect(first).toHaveProperty('code');
  expect(second).toEqual(first);
  const third = await sourceBundle(env);
  const { codePath } = third as { codePath: string };
  expect(await readFile(codePath, 'utf8')).toBe((first as { code: string }).code);
  expect(await readdir(kept)).toHaveLength(1);
});

it('is made all the same where the cache is no folder', async () => {
  const file = join(folder.path, 'file');
  await writeFile(file, '');
  await expect(sourceBundle({ LONGSHORE_CACHE: file })).resolves.toHaveProperty('code');
  await rm(file);
});
