// Turns the operating system's errors into the catalogue's, once, around the local driver's own system calls.
// Errors of the content's source pass untouched.
import { LongshoreError, messageOf } from '../../shared/errors.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/**
 * Runs system calls of the local driver.
 * Raises `StoreFull` for a full disk, a used-up quota and a file over the system's limit; `StoreUnavailable` for
 * every other error of the system. `place` is the folder that the mend names.
 */
export function io<T>(place: string, work: () => T): T {
  try {
    const result = work();
    if (!(result instanceof Promise)) return result;
    return result.catch((error: unknown) => {
      throw storeError(place, error);
    }) as T; // the same promise, but for how it fails
  } catch (error) {
    throw storeError(place, error);
  }
}

/** The error number's name (`ENOENT`, …) of a system call's error, below its catalogue error too; else undefined. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof LongshoreError) return systemCode(error.cause);
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : undefined;
}

function storeError(place: string, error: unknown): unknown {
  const code = systemCode(error);
  if (error instanceof LongshoreError || code === undefined) return error;
  if (FULL.has(code)) {
    return new LongshoreError(
      'StoreFull',
      `The file store in ${place} has no room (${code}): ${messageOf(error)}.`,
      `Free space, or raise the quota or file size limit, of the file system that holds ${place}.`,
      { cause: error },
    );
  }
  return new LongshoreError(
    'StoreUnavailable',
    `The file store in ${place} cannot be used (${code}): ${messageOf(error)}.`,
    MENDS[code]?.(place) ?? `Look after the file system that holds ${place}, then try again.`,
    { cause: error },
  );
}

const MENDS: Readonly<Record<string, (place: string) => string>> = {
  EACCES: (place) => `Give this user the right to read and write ${place}.`,
  EPERM: (place) => `Give this user the right to read and write ${place}.`,
  EROFS: (place) => `Mount the file system that holds ${place} for writing, or name another folder.`,
  ENOTDIR: (place) => `Something on the way to ${place} is a file. Move it away, or name another folder.`,
  EEXIST: (place) => `Something on the way to ${place} is a file. Move it away, or name another folder.`,
  EMFILE: () => 'Raise the limit of open files (ulimit -n).',
};
