// The S3 server of the tests: versitygw, built once by Go into the cache outside the checkout; moto from PyPI where
// there is no Go. Run as a program it only makes the server ready, which takes two to five minutes the first time.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { cacheFolder } from '../../worker/temporal-cli/cache.ts';
import { runBounded } from '../../worker/temporal-cli/run-bounded.ts';

const VERSITYGW = 'v1.8.0';
const MOTO = '5.2.5';
const BUILD_TIMEOUT_MS = 900_000;
/** A lock this old, in milliseconds, was left by a process that is gone. */
const STALE_LOCK_MS = BUILD_TIMEOUT_MS + 60_000;

/** A server that can be started. */
export interface S3Program {
  readonly name: string;
  readonly kind: 'versitygw' | 'moto';
  readonly path: string;
}

/** Finds the server, and makes it first if it is not in the cache. Two processes at once make it once. */
export async function findS3Program(
  log: (line: string) => void,
  env: NodeJS.ProcessEnv = process.env,
): Promise<S3Program> {
  const cache = dirname(cacheFolder(env));
  const hasGo = spawnSync('go', ['version'], { env }).status === 0;
  const versitygw = join(cache, 'versitygw', VERSITYGW, 'versitygw');
  if (hasGo || existsSync(versitygw)) {
    await makeOnce(versitygw, async (folder) => {
      log(`Building versitygw ${VERSITYGW} with Go, once: two to five minutes.`);
      await buildVersitygw(folder, env);
    });
    return { name: `versitygw ${VERSITYGW}`, kind: 'versitygw', path: versitygw };
  }
  const moto = join(cache, 'moto', MOTO);
  await makeOnce(join(moto, 'bin', 'moto_server'), async (folder) => {
    log(`There is no Go to build versitygw with: installing moto ${MOTO} by pip, once.`);
    await installMoto(folder, moto, env);
  });
  return { name: `moto ${MOTO}`, kind: 'moto', path: join(moto, 'bin', 'moto_server') };
}

async function buildVersitygw(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  await runBounded('go', ['install', `github.com/versity/versitygw/cmd/versitygw@${VERSITYGW}`], {
    env: { ...env, GOBIN: folder, GOFLAGS: '-ldflags=-s', CGO_ENABLED: '0' },
    timeoutMs: BUILD_TIMEOUT_MS,
  });
}

/** A virtual environment knows its own path, so it is made in its place, `bin` last of all. */
async function installMoto(folder: string, place: string, env: NodeJS.ProcessEnv): Promise<void> {
  const run = async (command: string, args: readonly string[]): Promise<string> =>
    runBounded(command, args, { env, timeoutMs: BUILD_TIMEOUT_MS });
  await run('python3', [
    '-m',
    'pip',
    'install',
    '--quiet',
    `--target=${folder}`,
    `moto[s3]==${MOTO}`,
    'flask',
    'flask-cors',
  ]);
  await mkdir(join(folder, 'bin'), { recursive: true });
  const script = `#!/usr/bin/env python3\nimport sys\nsys.path.insert(0, ${JSON.stringify(place)})\nfrom moto.server import main\nmain()\n`;
  await writeFile(join(folder, 'bin', 'moto_server'), script, { mode: 0o755 });
}

/** Makes the folder that a file stands in (`bin` and above for a file in `bin`), whole or not at all. */
async function makeOnce(file: string, make: (folder: string) => Promise<void>): Promise<void> {
  const folder = dirname(file).endsWith('bin') ? dirname(dirname(file)) : dirname(file);
  await mkdir(dirname(folder), { recursive: true });
  const lock = `${folder}.lock`;
  while (!existsSync(file)) {
    if (!(await takeLock(lock))) {
      await delay(500);
      continue;
    }
    try {
      if (existsSync(file)) return;
      const temporary = await mkdtemp(`${folder}.making-`);
      await make(temporary);
      await rm(folder, { recursive: true, force: true });
      await rename(temporary, folder);
    } finally {
      await rm(lock, { force: true });
    }
  }
}

/** Whether the lock is this process's now. One that a dead process left is taken away, for the next look. */
async function takeLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const pid = Number(await readFile(lock, 'utf8').catch(() => ''));
  const ageMs =
    Date.now() -
    (await stat(lock)
      .then((found) => found.mtimeMs)
      .catch(() => Date.now()));
  if (ageMs > STALE_LOCK_MS || (pid > 0 && ageMs > 1_000 && !isAlive(pid))) await rm(lock, { force: true });
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

if (import.meta.main) {
  const { name, path } = await findS3Program((line) => console.error(line));
  console.log(`${name}: ${path}`);
}
