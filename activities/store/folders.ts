// Folders of the local driver: private whatever the umask, and durable once they are relied on.
import fs from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const fsync = promisify(fs.fsync);

/** Makes what an entry of the folder now says (a new name, a removed one) survive a crash. */
export async function syncFolder(path: string): Promise<void> {
  const folder = fs.openSync(path, 'r');
  try {
    await fsync(folder);
  } finally {
    fs.closeSync(folder);
  }
}

/**
 * Makes a folder and those above it, each of mode 0700 if it is new. One that is there is left as it is.
 * All that is new is there at once, and durable when the promise resolves.
 * Throws the system's error: `EEXIST` or `ENOTDIR` where a file stands in the way.
 */
export async function ensureFolder(path: string): Promise<void> {
  // Side by side: a disk takes several at the cost of one.
  await Promise.all(makeMissing(path).map((folder) => syncFolder(dirname(folder))));
}

/** Gives the folders that are new, from the top. */
function makeMissing(path: string): readonly string[] {
  if (isFolder(path)) return [];
  const parent = dirname(path);
  const above = parent === path ? [] : makeMissing(parent);
  try {
    fs.mkdirSync(path, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && isFolder(path)) return above; // another process made it
    throw error;
  }
  fs.chmodSync(path, 0o700);
  return [...above, path];
}

function isFolder(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
