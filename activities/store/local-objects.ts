// The named objects of the local driver: `objects/<segments>@`, each file one header line and the body.
// The header holds the etag, new with every write, and the body's hash and size. `@` cannot stand in a key, so a key
// may be the beginning of another one.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { dirname } from 'node:path';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore, WriteCondition } from '../../shared/file-store.ts';
import { syncFolder } from './folders.ts';
import { io, systemCode } from './io-errors.ts';
import { withLock } from './key-lock.ts';
import { isSegment } from './key-checks.ts';
import { isFolder, isThere, namesIn, pathBelow, type LocalLayout } from './local-layout.ts';
import { frameObject, HEADER_BYTES, readHeader, unframeObject } from './object-frame.ts';
import { readPart } from './read-file.ts';
import { removeTemp, writeTemp } from './temp-file.ts';

/** The part of `FileStore` that is about named objects. */
export type ObjectStore = Pick<
  FileStore,
  'getObject' | 'putObject' | 'deleteObject' | 'deleteObjects' | 'listObjects' | 'listObjectTimes'
>;

/** The named objects of a namespace. Errors as `FileStore` has them. */
export function localObjects(layout: LocalLayout): ObjectStore {
  const pathOf = (key: string): string => `${pathBelow(layout.objects, key)}@`;
  return {
    async getObject(key) {
      const content = await io(layout.place, () => readIfThere(pathOf(key)));
      return content === null ? null : unframeObject(key, content);
    },
    async putObject(key, body, condition = {}) {
      const path = pathOf(key);
      if (condition.ifAbsent && isThere(layout, path)) throw conflict(key, 'is there already');
      await layout.prepare();
      const etag = randomBytes(8).toString('hex');
      const writing = layout.writing(() => writeTemp(layout.temps, frameObject(etag, body)));
      // Meanwhile, since both are waited for on the disk.
      const [ensured, temp] = await Promise.all([Promise.allSettled([layout.ensure(dirname(path))]), writing]);
      try {
        for (const one of ensured) if (one.status === 'rejected') throw one.reason;
        await layout.writing(() => install(layout, { temp: temp.path, path, key }, condition));
      } finally {
        removeTemp(temp.path); // gone already where it was renamed
      }
      await io(layout.place, () => syncFolder(dirname(path)));
      return { etag };
    },
    async deleteObject(key) {
      const path = pathOf(key);
      if (!isThere(layout, path)) return;
      await layout.prepare();
      await layout.writing(() =>
        io(layout.place, () => withLock(layout.locks, key, () => fs.rmSync(path, { force: true }))),
      );
      await io(layout.place, () => syncFolder(dirname(path)));
    },
    async *listObjectTimes(prefix) {
      const folder = prefix === '' ? layout.objects : pathBelow(layout.objects, prefix);
      for (const key of keysBelow(layout, folder, prefix === '' ? '' : `${prefix}/`)) {
        const stat = io(layout.place, () => fs.statSync(pathOf(key), { throwIfNoEntry: false }));
        if (stat !== undefined) yield { key, modifiedMs: stat.mtimeMs };
      }
    },
    async *listObjects(prefix) {
      const key = prefix.replace(/\/$/, '');
      if (key === '') {
        yield* keysBelow(layout, layout.objects, '');
        return;
      }
      if (isThere(layout, pathOf(key))) yield key;
      yield* keysBelow(layout, pathBelow(layout.objects, key), `${key}/`);
    },
  };
}

interface Installation {
  readonly temp: string;
  readonly path: string;
  readonly key: string;
}

async function install(layout: LocalLayout, files: Installation, condition: WriteCondition): Promise<void> {
  const { temp, path, key } = files;
  await io(layout.place, async () => {
    if (condition.ifAbsent) return linkNew(files);
    return withLock(layout.locks, key, () => {
      if (condition.ifMatch !== undefined && currentEtag(path) !== condition.ifMatch) {
        throw conflict(key, 'has changed since it was read');
      }
      fs.renameSync(temp, path);
    });
  });
}

/** Linking is exclusive of itself and needs no lock: whoever holds the lock has found an object, which stays. */
function linkNew({ temp, path, key }: Installation): void {
  try {
    fs.linkSync(temp, path);
  } catch (error) {
    if (systemCode(error) === 'EEXIST') throw conflict(key, 'is there already');
    throw error;
  }
}

function currentEtag(path: string): string | null {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openIfThere(path);
  if (file === null) return null;
  try {
    return readHeader(header.subarray(0, fs.readSync(file, header, 0, HEADER_BYTES, 0)))?.etag ?? null;
  } finally {
    fs.closeSync(file);
  }
}

async function readIfThere(path: string): Promise<Uint8Array | null> {
  const file = openIfThere(path);
  if (file === null) return null;
  try {
    return await readPart(file, { start: 0, end: fs.fstatSync(file).size });
  } finally {
    fs.closeSync(file);
  }
}

function openIfThere(path: string): number | null {
  try {
    return fs.openSync(path, 'r');
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw error;
  }
}

/** The keys below a folder in the order of their code units: `a`, `a-b`, `a/b`. Files that are no objects are passed over. */
function* keysBelow(layout: LocalLayout, folder: string, prefix: string): Generator<string> {
  const names = namesIn(layout, folder).flatMap((name) => {
    if (name.endsWith('@')) return isSegment(name.slice(0, -1)) ? name.slice(0, -1) : [];
    return isSegment(name) && isFolder(layout, `${folder}/${name}`) ? `${name}/` : [];
  });
  for (const name of names.sort()) {
    if (name.endsWith('/')) yield* keysBelow(layout, `${folder}/${name.slice(0, -1)}`, prefix + name);
    else yield prefix + name;
  }
}

function conflict(key: string, problem: string): LongshoreError {
  return new LongshoreError(
    'StoreConflict',
    `The object \`${key}\` ${problem}.`,
    'Read it again, and decide again whether to write.',
  );
}
