// The blobs of the local driver: `blobs/ab/abcd…`, each file its content and nothing else.
import fs from 'node:fs';
import { dirname, join } from 'node:path';
import type { BlobRef, FileStore } from '../../shared/file-store.ts';
import { checkExpected, isSha256, knownBefore } from './blob-checks.ts';
import { syncFolder } from './folders.ts';
import { relyOnBlob, type IntentObjects } from './intents.ts';
import { io } from './io-errors.ts';
import { localBlobReads } from './local-blob-reads.ts';
import { blobPath, namesIn, type LocalLayout } from './local-layout.ts';
import { removeTemp, writeTemp } from './temp-file.ts';

/** The part of `FileStore` that is about blobs. */
export type BlobStore = Pick<
  FileStore,
  'putBlob' | 'statBlob' | 'readBlob' | 'streamBlob' | 'deleteBlob' | 'deleteBlobs' | 'listBlobs'
>;

/** The blobs of a namespace. Errors as `FileStore` has them. */
export function localBlobs(layout: LocalLayout, objects: IntentObjects): BlobStore {
  const { isIntact, ...reads } = localBlobReads(layout);
  const isThere = async ({ sha256, bytes }: BlobRef): Promise<boolean> =>
    sizeOf(layout, sha256) === bytes && isIntact(sha256);
  const mayRelyOn = async (ref: BlobRef): Promise<boolean> => relyOnBlob(objects, ref.sha256, async () => isThere(ref));
  return {
    ...reads,
    async putBlob(content, expected) {
      const known = knownBefore(content, expected);
      if (known !== undefined && (await isThere(known)) && (await mayRelyOn(known))) {
        // Another writer's rename may not be on disk yet; what is promised here must be.
        await io(layout.place, () => syncFolder(dirname(blobPath(layout, known.sha256))));
        return { sha256: known.sha256, bytes: known.bytes };
      }
      return writeBlob(layout, content, async (found) => {
        checkExpected(found, expected);
        // Over what is there, damaged or the same: not under the hands of a sweep.
        if (sizeOf(layout, found.sha256) !== null) await mayRelyOn(found);
      });
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
    async deleteBlobs(hashes) {
      const paths = hashes.map((sha256) => blobPath(layout, sha256));
      await io(layout.place, async () => {
        for (const path of paths) fs.rmSync(path, { force: true });
        for (const folder of new Set(paths.map(dirname))) if (fs.existsSync(folder)) await syncFolder(folder);
      });
    },
    async *listBlobs(prefix) {
      for (const shard of prefix === undefined ? namesIn(layout, layout.blobs).filter(isShard) : [prefix]) {
        for (const sha256 of namesIn(layout, join(layout.blobs, shard))) {
          const stat = isSha256(sha256) ? statOf(layout, sha256) : undefined;
          if (stat !== undefined) yield { sha256, bytes: stat.size, modifiedMs: stat.mtimeMs };
        }
      }
    },
  };
}

async function writeBlob(
  layout: LocalLayout,
  content: Parameters<FileStore['putBlob']>[0],
  prepare: (found: BlobRef) => Promise<void>,
): Promise<BlobRef> {
  await layout.prepare();
  const { path, sha256, bytes } = await layout.writing(() => writeTemp(layout.temps, content));
  const target = blobPath(layout, sha256);
  try {
    await prepare({ sha256, bytes });
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

function isShard(name: string): boolean {
  return /^[0-9a-f]{2}$/.test(name);
}

function sizeOf(layout: LocalLayout, sha256: string): number | null {
  return statOf(layout, sha256)?.size ?? null;
}

function statOf(layout: LocalLayout, sha256: string): fs.Stats | undefined {
  const path = blobPath(layout, sha256);
  return io(layout.place, () => fs.statSync(path, { throwIfNoEntry: false }));
}
