// Writes a stream of bytes where `-o` says. A regular file or a new name gets its content by a rename, when every byte is
// there; a device, a FIFO and an open stream under /dev or /proc are written through and never replaced.
import { createWriteStream, open } from 'node:fs';
import { chmod, constants, lstat, readlink, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import { LongshoreError, messageOf } from '../shared/errors.ts';
import { outputFailed } from './failure.ts';

/** What a write fails with when the place itself is right. Source: errno(3). */
const FAILED_WRITES = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EFBIG', 'EPIPE', 'ECONNRESET']);
const READER_POLL_MS = 50;
/** Gives a bare descriptor, which a stream can own. */
const openDescriptor = promisify(open);

/**
 * Writes it all; a FIFO waits for its reader. Through a symbolic link the file that it leads to is written.
 * Raises `UsageInvalid` for a folder and a place that cannot be written, `OutputFailed` for a full disk or a reader that left;
 * what the source raises comes through.
 */
export async function writeTarget(target: string, source: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    const found = await stat(target).catch(unlessMissing);
    if (found?.isDirectory()) throw new Error('it is a folder');
    const isPlain = (found === null || found.isFile()) && !/^\/(dev|proc)\//.test(target);
    if (isPlain) await replace(await placeOf(target), source, found?.mode);
    else await pipeline(source, await openThrough(target, found?.isFIFO() ?? false));
  } catch (error) {
    if (error instanceof LongshoreError) throw error;
    if (FAILED_WRITES.has(codeOf(error) ?? '')) throw outputFailed(target, error);
    throw new LongshoreError(
      'UsageInvalid',
      `${target} cannot be written: ${messageOf(error)}`,
      'Name another file, in a folder that is there and may be written to.',
      { cause: error },
    );
  }
}

/** The name changes only when every byte is there and verified; who may read the file stays as it was. */
async function replace(path: string, source: AsyncIterable<Uint8Array>, mode: number | undefined): Promise<void> {
  const partial = join(dirname(path), `.${basename(path).slice(0, 200)}.${process.pid}.partial`);
  try {
    await writeFile(partial, source, { flag: 'wx', ...(mode !== undefined && { mode: 0o600 }) });
    if (mode !== undefined) await chmod(partial, mode & 0o777);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** Where links lead to, even where nothing is there yet. */
async function placeOf(target: string): Promise<string> {
  const real = await realpath(target).catch(unlessMissing);
  if (real !== null) return real;
  const folder = await realpath(dirname(target));
  const path = join(folder, basename(target));
  const entry = await lstat(path).catch(unlessMissing);
  return entry?.isSymbolicLink() ? placeOf(resolve(folder, await readlink(path))) : path;
}

/** A FIFO is opened without blocking: a thread that waits in `open` would keep the process from ending at Ctrl-C. */
async function openThrough(path: string, isFifo: boolean): Promise<Writable> {
  const flags = constants.O_WRONLY | constants.O_APPEND;
  if (!isFifo) return createWriteStream(path, { fd: await openDescriptor(path, flags) });
  for (;;) {
    try {
      const fd = await openDescriptor(path, flags | constants.O_NONBLOCK);
      return new Socket({ fd, readable: false, writable: true });
    } catch (error) {
      if (codeOf(error) !== 'ENXIO') throw error;
      await delay(READER_POLL_MS);
    }
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}

function unlessMissing(error: unknown): null {
  if (codeOf(error) === 'ENOENT') return null;
  throw error;
}
