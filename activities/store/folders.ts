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
 * Throws the system's error: `EEXIST` or `ENOTDIR` where a file stands in the way.
 */
export async function ensureFolder(path: string): Promise<void> {
  if (isFolder(path)) return;
  const parent = dirname(path);
  if (parent !== path) await ensureFolder(parent);
  try {
    fs.mkdirSync(path, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' && isFolder(path)) return; // another process made it
    throw error;
  }
  fs.chmodSync(path, 0o700);
  await syncFolder(parent);
}

function isFolder(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
