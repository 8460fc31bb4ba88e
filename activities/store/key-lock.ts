// Locks between processes on one folder, for sections of microseconds. A lock is a symbolic link whose target names
// its holder: made and told in one atomic call, so a holder that is killed leaves a lock that says whose it was.
// A dead holder's lock is removed only under a lock of its own, named after the dead one: no two can both remove it.
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LongshoreError } from '../../shared/errors.ts';
import { livenessOf, ownIdentity } from './process-identity.ts';

const WAIT_MS = 10_000;
/** For holders of whom nothing can be known: another machine or an earlier boot. */
const ABANDONED_MS = 5_000;

/**
 * Runs `section` while no other process runs one for the same key.
 *
 * Contract: `section` is synchronous and short; it never waits while the lock is held.
 * Raises `StoreUnavailable` after 10 s of waiting for a live holder, and the system's errors.
 */
export async function withLock<T>(folder: string, key: string, section: () => T): Promise<T> {
  const path = join(folder, createHash('sha256').update(key).digest('hex').slice(0, 40));
  const own = `${ownIdentity()}-${randomBytes(8).toString('hex')}`;
  const deadline = Date.now() + WAIT_MS;
  while (!tryLock(path, own)) {
    const holder = readHolder(path);
    if (holder === null) await delay(0);
    else if (isAbandoned(path, holder)) await removeAbandoned(folder, key, { path, holder });
    else if (Date.now() > deadline) throw stillHeld(path, key, holder);
    else await delay(1 + Math.random() * 4);
  }
  try {
    return section();
  } finally {
    if (readHolder(path) === own) fs.unlinkSync(path);
  }
}

function tryLock(path: string, own: string): boolean {
  try {
    fs.symlinkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(path: string): string | null {
  try {
    return fs.readlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function isAbandoned(path: string, holder: string): boolean {
  const liveness = livenessOf(holder);
  if (liveness !== 'unknown') return liveness === 'dead';
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && Date.now() - stat.mtimeMs > ABANDONED_MS;
}

interface AbandonedLock {
  readonly path: string;
  readonly holder: string;
}

async function removeAbandoned(folder: string, key: string, { path, holder }: AbandonedLock): Promise<void> {
  await withLock(folder, `${key}\n${holder}`, () => {
    if (readHolder(path) === holder) fs.unlinkSync(path);
  });
}

function stillHeld(path: string, key: string, holder: string): LongshoreError {
  return new LongshoreError(
    'StoreUnavailable',
    `\`${key}\` is locked in the file store by a live process (${holder}) for over ${WAIT_MS / 1000} s.`,
    `End or continue the process whose id is the second part of that name; if it is none, remove ${path}.`,
  );
}
