// Where fetched things are kept, outside any checkout, and how they get there: a folder appears in its place whole, by a
// rename, after it was checked. Two runs that fetch at once both succeed.
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** A folder of an unfinished fetch older than this, in milliseconds, was left by a process that is gone. */
const ABANDONED_AFTER_MS = 3_600_000;

/** The folder of the cache: beside that of the Temporal CLI, by the same rules. */
export function cacheFolder(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string {
  if (env['LONGSHORE_CACHE']) return join(env['LONGSHORE_CACHE'], 'real-model');
  const home = env['HOME'] || homedir();
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] || join(home, 'AppData', 'Local'), 'longshore', 'real-model');
  if (platform === 'darwin') return join(home, 'Library', 'Caches', 'longshore', 'real-model');
  return join(env['XDG_CACHE_HOME'] || join(home, '.cache'), 'longshore', 'real-model');
}

/** Something to fetch. */
export interface Fetch {
  /** For messages. */
  readonly what: string;
  /** Whether a folder holds it, undamaged. Contract: false for a folder that is not there. */
  readonly isWhole: (folder: string) => Promise<boolean>;
  readonly fetch: (emptyFolder: string) => Promise<void>;
  /** What to do when it cannot be fetched. */
  readonly mend: string;
  readonly log: (line: string) => void;
}

/** Leaves a folder as it is when it is whole; else fetches into another one beside it, and renames that. */
export async function fetchOnce(folder: string, { what, isWhole, fetch, mend, log }: Fetch): Promise<void> {
  if (await isWhole(folder)) return;
  log(`Fetching ${what}, once.`);
  const prefix = `${folder}.fetching-`;
  let unfinished: string | undefined;
  try {
    await mkdir(dirname(folder), { recursive: true });
    await removeAbandoned(prefix);
    unfinished = await mkdtemp(prefix);
    await fetch(unfinished);
    if (!(await isWhole(unfinished))) throw new Error('what came is not what was asked for');
    await moveInto(unfinished, folder, isWhole);
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`Could not fetch ${what} into ${dirname(folder)}: ${reason}.\n${mend}`, { cause: thrown });
  } finally {
    if (unfinished !== undefined) await rm(unfinished, { recursive: true, force: true });
  }
}

/** What stands there already is damaged, or another run was first: then its copy serves as well. */
async function moveInto(from: string, to: string, isWhole: Fetch['isWhole']): Promise<void> {
  if (await isWhole(to)) return;
  await rm(to, { recursive: true, force: true });
  await rename(from, to).catch(async (error: unknown) => {
    if (!(await isWhole(to))) throw error;
  });
}

async function removeAbandoned(prefix: string): Promise<void> {
  for (const name of await readdir(dirname(prefix))) {
    if (!name.startsWith(basename(prefix))) continue;
    const path = join(dirname(prefix), name);
    const age = await stat(path).then(
      (found) => Date.now() - found.mtimeMs,
      () => 0,
    );
    if (age > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
  }
}
