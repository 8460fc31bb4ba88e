// Reading blobs of the local driver. A range is verified too: the whole file is hashed at its first range, and again
// whenever the file has been touched since.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { LRUCache } from 'lru-cache';
import { LongshoreError } from '../../shared/errors.ts';
import type { ByteRange, FileStore } from '../../shared/file-store.ts';
import { checkContent, checkLength } from './blob-checks.ts';
import { io } from './io-errors.ts';
import { blobPath, type LocalLayout } from './local-layout.ts';
import { hashOfFile, readChunks, readPart, type FilePart } from './read-file.ts';

const REMEMBERED_BLOBS = 10_000;

/** The reads of a namespace's blobs. Raises `BlobMissing`, `BlobCorrupt`, `StoreUnavailable`. */
export function localBlobReads(layout: LocalLayout): Pick<FileStore, 'readBlob' | 'streamBlob'> {
  const verify = rangeVerifier(layout);
  return {
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
function rangeVerifier(layout: LocalLayout): (file: number, sha256: string) => Promise<void> {
  const verified = new LRUCache<string, string>({ max: REMEMBERED_BLOBS });
  return async (file, sha256) => {
    const stat = io(layout.place, () => fs.fstatSync(file, { bigint: true }));
    const marks = [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ');
    if (verified.get(sha256) === marks) return;
    checkContent(sha256, await io(layout.place, () => hashOfFile(file)), Number(stat.size));
    verified.set(sha256, marks);
  };
}

function partOf(layout: LocalLayout, file: number, range: ByteRange | undefined): FilePart {
  const { size } = io(layout.place, () => fs.fstatSync(file));
  const { start, end = Math.max(size, start) }: ByteRange = range ?? { start: 0 };
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start) {
    return { start: Math.min(start, size), end: Math.min(end, size) };
  }
  throw new LongshoreError(
    'Internal',
    `${start} to ${end} is no range of bytes.`,
    'Ask for whole numbers with 0 ≤ start ≤ end.',
  );
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
