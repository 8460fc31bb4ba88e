// The cache of Temporal CLIs, outside any checkout: `<cache>/<version>/temporal`. A binary appears there whole, by a
// rename, after it has run; two processes that fetch at once both succeed and the later rename wins.
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { cliVersion, compareVersions } from './version.ts';

const BINARY = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
const UNFINISHED = '.fetching-';
/** A folder of an unfinished fetch older than this, in milliseconds, was left by a process that is gone. */
const ABANDONED_AFTER_MS = 3_600_000;

/** A cached CLI. */
export interface CachedCli {
  readonly path: string;
  readonly version: string;
}

/** The cache folder: `LONGSHORE_CACHE`, else the platform's place for caches. */
export function cacheFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  if (env['LONGSHORE_CACHE']) return join(env['LONGSHORE_CACHE'], 'temporal-cli');
  const home = env['HOME'] || homedir();
  if (platform === 'win32') {
    return join(env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'), 'longshore', 'temporal-cli');
  }
  if (platform === 'darwin') return join(home, 'Library', 'Caches', 'longshore', 'temporal-cli');
  return join(env['XDG_CACHE_HOME'] || join(home, '.cache'), 'longshore', 'temporal-cli');
}

/** The newest cached CLI that runs; one that does not is passed over. */
export async function findCached(folder: string): Promise<CachedCli | undefined> {
  const versions = (await readdir(folder).catch(() => [])).filter((name) => /^\d+\.\d+\.\d+$/.test(name));
  for (const version of versions.sort(compareVersions).reverse()) {
    const path = join(folder, version, BINARY);
    const runs = await cliVersion(path).catch(() => undefined);
    if (runs === version) return { path, version };
  }
  return undefined;
}

/**
 * Runs `fetch` in a new folder on the cache's own disk, checks the binary it gives, and moves it to its place.
 *
 * @throws what `fetch` throws, and an `Error` when the cache cannot be written or the binary does not run.
 */
export async function keepInCache(
  folder: string,
  fetch: (temporaryFolder: string) => Promise<string>,
): Promise<CachedCli> {
  await mkdir(folder, { recursive: true, mode: 0o755 });
  await removeAbandoned(folder);
  const temporaryFolder = await mkdtemp(join(folder, UNFINISHED));
  try {
    const fetched = await fetch(temporaryFolder);
    await chmod(fetched, 0o755);
    const version = await cliVersion(fetched);
    const path = join(folder, version, BINARY);
    await mkdir(join(folder, version), { recursive: true, mode: 0o755 });
    await moveInto(fetched, path, version);
    return { path, version };
  } finally {
    await rm(temporaryFolder, { recursive: true, force: true });
  }
}

async function moveInto(from: string, to: string, version: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (thrown) {
    // Windows refuses to replace a binary that runs: then another process was first, and its copy serves as well.
    if ((await cliVersion(to).catch(() => undefined)) !== version) throw thrown;
  }
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(UNFINISHED)) continue;
    const path = join(folder, name);
    const age = await stat(path).then(
      (found) => Date.now() - found.mtimeMs,
      () => 0,
    );
    if (age > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
  }
}
