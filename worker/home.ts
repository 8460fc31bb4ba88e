// The folder of everything that Longshore keeps on this machine: the embedded server's database, the local file store,
// logs, and who is attached. It is private to its owner.
import { chmod, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { LongshoreError, messageOf } from '../shared/errors.ts';

/** The folder and what stands in it; all paths are absolute. */
export interface Home {
  readonly folder: string;
  /** The embedded server's SQLite file. */
  readonly database: string;
  readonly storeFolder: string;
  readonly logsFolder: string;
  /** One file for every keeper of an embedded server that lives, or that died without a word. */
  readonly claimsFolder: string;
  /** Address and Web UI of the embedded server, for people; there while it runs. */
  readonly serverFile: string;
}

/** The setting that names the folder. */
export const HOME_SETTING = 'LONGSHORE_HOME';

/**
 * Where the home is, without touching it: by `LONGSHORE_HOME`, else as configured, else `.longshore`; relative paths
 * are taken from `cwd`.
 */
export function homePaths(env: NodeJS.ProcessEnv, cwd: string, configured?: string): Home {
  const folder = resolve(cwd, env[HOME_SETTING] || configured || '.longshore');
  return {
    folder,
    database: join(folder, 'temporal.db'),
    storeFolder: join(folder, 'store'),
    logsFolder: join(folder, 'logs'),
    claimsFolder: join(folder, 'keepers'),
    serverFile: join(folder, 'server.json'),
  };
}

/** Node's own recursive `mkdir` never returns below folders that cannot have any, such as `/proc`. */
async function makeFolder(folder: string): Promise<void> {
  const make = async (): Promise<void> => {
    await mkdir(folder, { mode: 0o700 }).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST' || !(await stat(folder)).isDirectory()) throw error;
    });
  };
  try {
    await make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolder(dirname(folder));
    await make();
  }
}

/**
 * The home for who only reads: nothing is written, so that a full or read-only disk is no hindrance. It may not be there yet.
 *
 * @throws `HomeUnusable` when a file stands in its way, or it may not be looked at.
 */
export async function findHome(
  env: NodeJS.ProcessEnv = process.env,
  cwd: string = process.cwd(),
  configured?: string,
): Promise<Home> {
  const home = homePaths(env, cwd, configured);
  const found = await stat(home.folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw homeUnusable(home.folder, error);
  });
  if (found?.isDirectory() === false) throw homeUnusable(home.folder, Object.assign(new Error(), { code: 'ENOTDIR' }));
  return home;
}

/**
 * Opens the home: creates what is missing (mode 0700) and proves that it can be written.
 *
 * @throws `HomeUnusable` when it cannot be created or written: the way blocked by a file, no permission, a full disk.
 */
export async function openHome(
  env: NodeJS.ProcessEnv = process.env,
  cwd: string = process.cwd(),
  configured?: string,
): Promise<Home> {
  return prepareHome(homePaths(env, cwd, configured));
}

/** As `openHome`, for a home whose paths are known. @throws `HomeUnusable` */
export async function prepareHome(home: Home): Promise<Home> {
  try {
    const isNew = await stat(home.folder).then(
      () => false,
      () => true,
    );
    for (const folder of [home.folder, home.storeFolder, home.logsFolder, home.claimsFolder]) {
      await makeFolder(folder);
    }
    // `mode` is subject to the umask, and a parent created on the way keeps its own.
    if (isNew) await chmod(home.folder, 0o700);
    const probe = join(home.folder, `.probe-${process.pid}-${Math.random().toString(36).slice(2)}`);
    try {
      await writeFile(probe, 'x'.repeat(4096), { mode: 0o600, flush: true });
    } finally {
      await rm(probe, { force: true });
    }
    return home;
  } catch (thrown) {
    throw homeUnusable(home.folder, thrown);
  }
}

/** `HomeUnusable` for whatever the file system said about a path of the home. */
export function homeUnusable(path: string, thrown: unknown): LongshoreError {
  const code = (thrown as NodeJS.ErrnoException).code ?? '';
  const reason = REASONS[code] ?? messageOf(thrown);
  return new LongshoreError('HomeUnusable', `The home ${path} cannot be used: ${reason}.`, mendOf(code), {
    cause: thrown,
  });
}

const REASONS: { readonly [code: string]: string } = {
  ENOTDIR: 'a file stands where a folder is needed',
  EEXIST: 'a file stands where a folder is needed',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
};

function mendOf(code: string): string {
  const elsewhere = `set ${HOME_SETTING} to a folder that can be written`;
  if (code === 'ENOSPC' || code === 'EDQUOT') return `Free some space on that disk, or ${elsewhere}.`;
  if (code === 'ENOTDIR' || code === 'EEXIST') return `Move that file away, or ${elsewhere}.`;
  return `Allow writing there, or ${elsewhere}.`;
}
