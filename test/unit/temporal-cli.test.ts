// How the Temporal CLI is found: the order of places, the check by version, a cache that is whole at every moment.
import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { cacheFolder, findCached, keepInCache } from '../../worker/temporal-cli/cache.ts';
import { compareVersions, isRecentEnough } from '../../worker/temporal-cli/version.ts';
import { findTemporalCli } from '../../worker/temporal-cli.ts';
import { temporaryFolder } from '../support/process.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => folder.remove());

/** A program that prints what a Temporal CLI of this version prints. */
async function fakeCli(path: string, version: string): Promise<string> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho "temporal version ${version} (Server 1.32.0, UI 2.54.1)"\n`);
  await chmod(path, 0o755);
  return path;
}

/** An environment in which nothing is found but what a test puts there, and nothing is fetched. */
function env(more: { readonly [name: string]: string } = {}): NodeJS.ProcessEnv {
  return { PATH: join(folder.path, 'bin'), LONGSHORE_CACHE: join(folder.path, 'cache'), ...more };
}

describe('the Temporal CLI is taken', () => {
  it('from LONGSHORE_TEMPORAL_CLI before all others', async () => {
    await fakeCli(join(folder.path, 'bin', 'temporal'), '1.9.0');
    const path = await fakeCli(join(folder.path, 'mine'), '1.8.2');
    const found = await findTemporalCli({ env: env({ LONGSHORE_TEMPORAL_CLI: path }) });
    expect(found).toEqual({ path, version: '1.8.2', source: 'env' });
  });

  it('from LONGSHORE_TEMPORAL_CLI or not at all: one that does not run is an error that names it', async () => {
    await fakeCli(join(folder.path, 'bin', 'temporal'), '1.9.0');
    const text = join(folder.path, 'text');
    await writeFile(text, 'no program');
    for (const path of [join(folder.path, 'none'), text, '/bin/echo']) {
      await expect(findTemporalCli({ env: env({ LONGSHORE_TEMPORAL_CLI: path }) })).rejects.toMatchObject({
        type: 'TemporalCliMissing',
        message: expect.stringContaining(path),
        mend: expect.stringContaining('LONGSHORE_TEMPORAL_CLI'),
      });
    }
  });

  it('from PATH when it is recent enough', async () => {
    const path = await fakeCli(join(folder.path, 'bin', 'temporal'), '1.4.0');
    expect(await findTemporalCli({ env: env() })).toEqual({ path, version: '1.4.0', source: 'path' });
  });

  it('from the cache, and an older one on PATH is passed over with a remark', async () => {
    await fakeCli(join(folder.path, 'bin', 'temporal'), '1.1.2');
    await fakeCli(join(cacheFolder(env()), '1.5.0', 'temporal'), '1.5.0');
    const path = await fakeCli(join(cacheFolder(env()), '1.10.0', 'temporal'), '1.10.0');
    await writeFile(join(await made(cacheFolder(env()), '1.11.0'), 'temporal'), 'cut off');
    const remarks: string[] = [];
    const found = await findTemporalCli({ env: env(), log: (line) => remarks.push(line) });
    expect(found).toEqual({ path, version: '1.10.0', source: 'cache' });
    expect(remarks).toEqual([expect.stringContaining('is 1.1.2, older than 1.4.0')]);
  });

  it('from nowhere, the error says every way that was tried', async () => {
    await expect(findTemporalCli({ env: env(), mayFetch: false })).rejects.toMatchObject({
      type: 'TemporalCliMissing',
      message: expect.stringMatching(/not on PATH.*cache .* holds none/),
      mend: expect.stringContaining('docs.temporal.io/cli'),
    });
  });
});

describe('the cache', () => {
  it('is where the platform keeps caches', () => {
    expect(cacheFolder({ HOME: '/h' }, 'linux')).toBe('/h/.cache/longshore/temporal-cli');
    expect(cacheFolder({ HOME: '/h', XDG_CACHE_HOME: '/x' }, 'linux')).toBe('/x/longshore/temporal-cli');
    expect(cacheFolder({ HOME: '/h' }, 'darwin')).toBe('/h/Library/Caches/longshore/temporal-cli');
    expect(cacheFolder({ HOME: '/h', LONGSHORE_CACHE: '/c' }, 'linux')).toBe('/c/temporal-cli');
  });

  it('keeps what runs, whole, executable, and nothing else', async () => {
    const cache = cacheFolder(env());
    const kept = await keepInCache(cache, async (temporary) => fakeCli(join(temporary, 'any-name'), '1.9.1'));
    expect(kept).toEqual({ path: join(cache, '1.9.1', 'temporal'), version: '1.9.1' });
    expect((await stat(kept.path)).mode & 0o777).toBe(0o755);
    expect(await readdir(cache)).toEqual(['1.9.1']);
  });

  it('keeps nothing of a fetch that failed or gave no CLI', async () => {
    const cache = cacheFolder(env());
    const failed = keepInCache(cache, async () => Promise.reject(new Error('no network')));
    await expect(failed).rejects.toThrow('no network');
    const broken = keepInCache(cache, async (temporary) => {
      const path = join(temporary, 'temporal');
      await writeFile(path, '#!/bin/sh\nexit 3\n');
      return path;
    });
    await expect(broken).rejects.toThrow('temporal failed');
    expect(await readdir(cache)).toEqual([]);
  });

  it('serves two fetches at once: both succeed, one binary is left', async () => {
    const cache = cacheFolder(env());
    const fetch = async (): Promise<unknown> =>
      keepInCache(cache, async (temporary) => fakeCli(join(temporary, 'temporal'), '1.9.1'));
    const [first, second] = await Promise.all([fetch(), fetch()]);
    expect(first).toEqual(second);
    expect(await readdir(cache)).toEqual(['1.9.1']);
    expect((await findCached(cache))?.version).toBe('1.9.1');
  });
});

describe('versions', () => {
  const version = fc.tuple(fc.nat(30), fc.nat(30), fc.nat(30));

  it('are always ordered by their numbers, never by their letters', () => {
    fc.assert(
      fc.property(version, version, (left, right) => {
        const [a, b] = [left, right].map(([major, minor, patch]) => major * 10_000 + minor * 100 + patch);
        expect(Math.sign(compareVersions(left.join('.'), right.join('.')))).toBe(Math.sign(Number(a) - Number(b)));
      }),
    );
  });

  it('count from 1.4.0', () => {
    expect(['1.3.9', '0.99.0', '1.4.0', '1.10.0', '2.0.0'].map((text) => isRecentEnough(text))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });
});

async function made(...parts: readonly string[]): Promise<string> {
  const path = join(...parts);
  await mkdir(path, { recursive: true });
  return path;
}
