// Reading blobs of the local driver. A range is verified too: the whole file is hashed at its first range, and again
// whenever the file has been touched since. A write that finds its blob there relies on the same look at it.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { LRUCache } from 'lru-cache';
import { LongshoreError } from '../../shared/errors.ts';
import type { ByteRange, FileStore } from '../../shared/file-store.ts';
import { checkContent, checkLength } from './blob-checks.ts';
import { io } from './io-errors.ts';
import { cutRange } from './key-checks.ts';
import { blobPath, type LocalLayout } from './local-layout.ts';
import { hashOfFile, readChunks, readPart, type FilePart } from './read-file.ts';

const REMEMBERED_BLOBS = 10_000;
/** Of the coarsest clock that file systems here keep, with room. */
const TIME_STEP_MS = 100;
const WRONG: ReadonlySet<string> = new Set(['BlobMissing', 'BlobCorrupt']);

/** The reads of a namespace's blobs, and whether one is there as it should be. */
export interface LocalBlobReads extends Pick<FileStore, 'readBlob' | 'streamBlob'> {
  /** False for a blob that is missing or does not have its hash. Raises `StoreUnavailable`. */
  readonly isIntact: (sha256: string) => Promise<boolean>;
}

/** Makes the reads. They raise `BlobMissing`, `BlobCorrupt`, `StoreUnavailable`. */
export function localBlobReads(layout: LocalLayout): LocalBlobReads {
  const verify = verifier(layout);
  return {
    async isIntact(sha256) {
      try {
        const file = openBlob(layout, sha256);
        try {
          await verify(file, sha256);
        } finally {
          fs.closeSync(file);
        }
        return true;
      } catch (error) {
        if (error instanceof LongshoreError && WRONG.has(error.type)) return false;
        throw error;
      }
    },
    async readBlob(sha256, range) {
      const file = openBlob(layout, sha256);
      try {
        if (range !== undefined) await verify(file, sha256);
        const part = partOf(layout, file, range);
        const hash = range === undefined ? createHash('sha256') : undefined;
        const content = await io(layout.place, () => readPart(file, part, hash));
        if (hash !== undefined) checkContent(sha256, hash.digest('hex'), content.byteLength);
        checkLength(sha256, part.end - part.start, content.byteLength);
        return content;
      } finally {
        fs.closeSync(file);
      }
    },
    async *streamBlob(sha256, range) {
      const file = openBlob(layout, sha256);
      try {
        if (range !== undefined) await verify(file, sha256);
        const part = partOf(layout, file, range);
        const hash = range === undefined ? createHash('sha256') : undefined;
        let bytes = 0;
        for await (const chunk of readChunks(layout.place, file, part)) {
          hash?.update(chunk);
          bytes += chunk.byteLength;
          yield chunk;
        }
        if (hash !== undefined) checkContent(sha256, hash.digest('hex'), bytes);
        checkLength(sha256, part.end - part.start, bytes);
      } finally {
        fs.closeSync(file);
      }
    },
  };
}

/** Hashes a file whole, unless it is the very file that was found right before: same inode, size and times. */
function verifier(layout: LocalLayout): (file: number, sha256: string) => Promise<void> {
  const verified = new LRUCache<string, string>({ max: REMEMBERED_BLOBS });
  return async (file, sha256) => {
    const seenMs = Date.now();
    const stat = io(layout.place, () => fs.fstatSync(file, { bigint: true }));
    const marks = [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ');
    if (verified.get(sha256) === marks) return;
    checkContent(sha256, await io(layout.place, () => hashOfFile(file)), Number(stat.size));
    // Times of files count in steps: a second change within one step would leave no mark.
    if (seenMs - Number(stat.ctimeMs) > TIME_STEP_MS) verified.set(sha256, marks);
  };
}

function partOf(layout: LocalLayout, file: number, range: ByteRange | undefined): FilePart {
  const { size } = io(layout.place, () => fs.fstatSync(file));
  return cutRange(range, size);
}

function openBlob(layout: LocalLayout, sha256: string): number {
  const path = blobPath(layout, sha256);
  return io(layout.place, () => {
    try {
      return fs.openSync(path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      throw new LongshoreError(
        'BlobMissing',
        `The file store in ${layout.place} has no blob of SHA-256 ${sha256}.`,
        'It was deleted, or never written here. Make it again by the call that made it.',
        { cause: error },
      );
    }
  });
}
