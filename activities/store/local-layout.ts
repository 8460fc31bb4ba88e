// Where the local driver keeps things under its folder, and the making of those folders at the first write.
// Reading needs none of them, so a store on a read-only file system can still be read.
import fs from 'node:fs';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { sha256Hex } from '../../shared/digest.ts';
import { objectKey } from '../../shared/file-store.ts';
import { ensureFolder } from './folders.ts';
import { io, systemCode } from './io-errors.ts';
import { checkedSha256, segmentsOf } from './key-checks.ts';
import { removeAbandonedTemps } from './temp-file.ts';

/** A Worker meets new folders for as long as it runs: each call of a turn has its own. */
const KNOWN_FOLDERS = 10_000;

/** The folders of one namespace. */
export interface LocalLayout {
  /** The folder the store was opened on, for messages. */
  readonly place: string;
  readonly blobs: string;
  readonly objects: string;
  readonly locks: string;
  readonly temps: string;
  /** Makes the folders and removes what killed writers left, once. */
  prepare(): Promise<void>;
  /** Makes a folder below these, once. */
  ensure(folder: string): Promise<void>;
  /** Runs work that needs these folders; if one of them is gone, the next write makes them again. */
  writing<T>(work: () => T | Promise<T>): Promise<T>;
}

/** The layout of a namespace's files: `<folder>/<namespace>/blobs|objects|locks|tmp`. */
export function localLayout(folder: string, namespace: string): LocalLayout {
  const root = join(folder, objectKey(sha256Hex, namespace));
  const folders = {
    blobs: join(root, 'blobs'),
    objects: join(root, 'objects'),
    locks: join(root, 'locks'),
    temps: join(root, 'tmp'),
  };
  // Of those that are forgotten it is looked anew whether they are there.
  const known = new LRUCache<string, Promise<void>>({ max: KNOWN_FOLDERS });
  const once = (name: string, work: () => Promise<void>): Promise<void> => {
    const running = known.get(name) ?? io(folder, work);
    known.set(name, running);
    // A failure is told to all who wait for it, and tried again by the next.
    running.catch(() => known.delete(name));
    return running;
  };
  return {
    place: folder,
    ...folders,
    prepare: () =>
      once('', async () => {
        for (const path of Object.values(folders)) await ensureFolder(path);
        removeAbandonedTemps(folders.temps, Date.now());
      }),
    ensure: (path) => once(path, () => ensureFolder(path)),
    async writing(work) {
      try {
        return await work();
      } catch (error) {
        if (systemCode(error) === 'ENOENT') known.clear();
        throw error;
      }
    },
  };
}

/** The path of a key's segments below a folder. Raises `Internal` for what `objectKey` cannot have made. */
export function pathBelow(folder: string, key: string): string {
  return join(folder, ...segmentsOf(key));
}

/** The path of a blob. Raises `Internal` for what is no SHA-256. */
export function blobPath(layout: LocalLayout, sha256: string): string {
  return join(layout.blobs, checkedSha256(sha256).slice(0, 2), sha256);
}

/** The names in a folder; none where there is no such folder. */
export function namesIn(layout: LocalLayout, folder: string): readonly string[] {
  return io(layout.place, () => {
    try {
      return fs.readdirSync(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
}

/** Whether something stands at a path. */
export function isThere(layout: LocalLayout, path: string): boolean {
  return io(layout.place, () => fs.statSync(path, { throwIfNoEntry: false }) !== undefined);
}

/** Whether a folder stands at a path. */
export function isFolder(layout: LocalLayout, path: string): boolean {
  return io(layout.place, () => fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true);
}
