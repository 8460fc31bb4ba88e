// Checks of the machine: Node, the home and its disk, the file store.
import { randomBytes } from 'node:crypto';
import { statfs } from 'node:fs/promises';

import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore, WriteCondition } from '../../shared/file-store.ts';
import type { Home } from '../../worker/home.ts';
import type { Finding } from './check.ts';
import { ok } from './check.ts';
import { isOldNode, MINIMUM_NODE } from '../node-version.ts';

/** Below this, in bytes, a few large results fill the disk. */
const AMPLE_BYTES = 1024 ** 3;

/** Whether this Node is new enough. */
export async function checkNode(version: string = process.versions.node): Promise<Finding> {
  if (!isOldNode(version)) return ok(`Node ${version}`);
  return {
    status: 'missing',
    detail: `Node ${version} is older than ${MINIMUM_NODE.join('.')}`,
    mend: 'Install Node 24.',
  };
}

/** Whether the home's disk has room. The home itself has been opened, so it can be written. */
export async function checkHome(home: Home): Promise<Finding> {
  const { bavail, bsize } = await statfs(home.folder);
  const freeBytes = bavail * bsize;
  const detail = `${Math.floor(freeBytes / 1024 ** 2)} MiB free`;
  if (freeBytes >= AMPLE_BYTES) return ok(detail);
  return { status: 'note', detail, mend: 'Free some space on that disk, or set LONGSHORE_HOME to another one.' };
}

/**
 * Whether the file store keeps what it is given: writes a blob, reads it back, and removes it; and whether a write whose
 * condition does not hold is refused.
 */
export async function checkStore(store: FileStore): Promise<Finding> {
  const content = randomBytes(1024);
  const { sha256 } = await store.putBlob(content);
  const found = await store.readBlob(sha256);
  await store.deleteBlob(sha256);
  if (content.equals(found)) {
    await checkConditions(store);
    return ok(`${store.description}; writes, reads, deletes, and keeps conditions of writes`);
  }
  throw new LongshoreError(
    'BlobCorrupt',
    `${store.description} gave other bytes than it was given.`,
    'Check the disk.',
  );
}

async function checkConditions(store: FileStore): Promise<void> {
  const key = `doctor/${randomBytes(8).toString('hex')}`;
  const body = randomBytes(8);
  const isRefused = async (condition: WriteCondition): Promise<boolean> =>
    store.putObject(key, body, condition).then(
      () => false,
      (error: unknown) => {
        if (error instanceof LongshoreError && error.type === 'StoreConflict') return true;
        throw error;
      },
    );
  try {
    await store.putObject(key, body, { ifAbsent: true });
    if ((await isRefused({ ifAbsent: true })) && (await isRefused({ ifMatch: '"0"' }))) return;
    throw new LongshoreError(
      'StoreMisconfigured',
      `${store.description} wrote although the condition of the write did not hold.`,
      'Use a server with conditional writes: without them two Workers could both carry out one call.',
    );
  } finally {
    await store.deleteObject(key);
  }
}
