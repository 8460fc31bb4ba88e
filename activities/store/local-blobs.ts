// The blobs of the local driver: `blobs/ab/abcd…`, each file its content and nothing else.
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import type { BlobRef, FileStore } from '../../shared/file-store.ts';
import { checkExpected, isSha256, knownBefore } from './blob-checks.ts';
import { syncFolder } from './folders.ts';
import { io } from './io-errors.ts';
import { localBlobReads } from './local-blob-reads.ts';
import { blobPath, namesIn, type LocalLayout } from './local-layout.ts';
import { removeTemp, writeTemp } from './temp-file.ts';

/** The part of `FileStore` that is about blobs. */
export type BlobStore = Pick<
  FileStore,
  'putBlob' | 'statBlob' | 'readBlob' | 'streamBlob' | 'deleteBlob' | 'listBlobs'
>;

/** The blobs of a namespace. Errors as `FileStore` has them. */
export function localBlobs(layout: LocalLayout): BlobStore {
  const { isIntact, ...reads } = localBlobReads(layout);
  return {
    ...reads,
    async putBlob(content, expected) {
      const known = knownBefore(content, expected);
      if (known !== undefined && sizeOf(layout, known.sha256) === known.bytes && (await isIntact(known.sha256))) {
        // Another writer's rename may not be on disk yet; what is promised here must be.
        await io(layout.place, () => syncFolder(dirname(blobPath(layout, known.sha256))));
        return { sha256: known.sha256, bytes: known.bytes };
      }
      return writeBlob(layout, content, (found) => checkExpected(found, expected));
    },
    async statBlob(sha256) {
      const bytes = sizeOf(layout, sha256);
      return bytes === null ? null : { sha256, bytes };
    },
    async deleteBlob(sha256) {
      const path = blobPath(layout, sha256);
      if (sizeOf(layout, sha256) === null) return;
      await io(layout.place, () => {
        fs.rmSync(path, { force: true });
        return syncFolder(dirname(path));
      });
    },
    async *listBlobs() {
      for (const shard of namesIn(layout, layout.blobs)) {
        for (const sha256 of namesIn(layout, join(layout.blobs, shard))) {
          const bytes = isSha256(sha256) ? sizeOf(layout, sha256) : null;
          if (bytes !== null) yield { sha256, bytes };
        }
      }
    },
  };
}

async function writeBlob(
  layout: LocalLayout,
  content: Parameters<FileStore['putBlob']>[0],
  check: (found: BlobRef) => void,
): Promise<BlobRef> {
  await layout.prepare();
  const { path, sha256, bytes } = await layout.writing(() => writeTemp(layout.temps, content));
  const target = blobPath(layout, sha256);
  try {
    check({ sha256, bytes });
    await layout.ensure(dirname(target));
    // Over what may be there: the same content, or a damaged file.
    await layout.writing(() => io(layout.place, () => fs.renameSync(path, target)));
  } catch (error) {
    removeTemp(path);
    throw error;
  }
  await io(layout.place, () => syncFolder(dirname(target)));
  return { sha256, bytes };
}

function sizeOf(layout: LocalLayout, sha256: string): number | null {
  const path = blobPath(layout, sha256);
  return io(layout.place, () => fs.statSync(path, { throwIfNoEntry: false })?.size ?? null);
}
