// The local driver: the contract's suite, and what only a folder can be asked: modes, other processes, kill -9,
// full disks, folders that are none.
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLocalStore } from '../../activities/store/local.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { collect, failureOf, fileStoreContract, sha256Of } from './file-store.ts';

const PROGRAM = join(import.meta.dirname, 'store-process.ts');

fileStoreContract('local', async () => {
  const folder = await fs.promises.mkdtemp(join(os.tmpdir(), 'longshore-store-'));
  return {
    store: createLocalStore({ folder, namespace: 'default' }),
    reopen: async () => createLocalStore({ folder, namespace: 'default' }),
    damage: async (sha256) => {
      const path = join(folder, 'default', 'blobs', sha256.slice(0, 2), sha256);
      const content = fs.readFileSync(path);
      content[0] = (content[0] ?? 0) ^ 1;
      fs.writeFileSync(path, content);
    },
    cleanUp: async () => fs.promises.rm(folder, { recursive: true }),
  };
});

describe('the local file store', () => {
  let folder: string;
  let store: FileStore;
  beforeEach(async () => {
    folder = await fs.promises.mkdtemp(join(os.tmpdir(), 'longshore-store-'));
    store = createLocalStore({ folder, namespace: 'default' });
  });
  afterEach(async () => fs.promises.rm(folder, { recursive: true, force: true }));

  const blobFile = (sha256: string): string => join(folder, 'default', 'blobs', sha256.slice(0, 2), sha256);
  const filesBelow = (path: string): readonly fs.Dirent[] =>
    fs.readdirSync(path, { recursive: true, withFileTypes: true });
  const namesOfFiles = (path: string): readonly string[] =>
    filesBelow(path)
      .filter((entry) => !entry.isDirectory())
      .map((entry) => entry.name);

  describe('keeps what it holds private', () => {
    test.each([0o000, 0o022, 0o077, 0o177])('under umask %o', async (umask) => {
      const before = process.umask(umask);
      try {
        const inside = join(folder, 'new', 'home');
        const fresh = createLocalStore({ folder: inside, namespace: 'default' });
        await fresh.putBlob(randomBytes(10));
        await fresh.putObject('a/b', randomBytes(10));
        expect(fs.statSync(inside).mode & 0o777).toBe(0o700);
        for (const entry of filesBelow(join(folder, 'new'))) {
          const mode = fs.statSync(join(entry.parentPath, entry.name)).mode & 0o777;
          expect([entry.name, mode]).toEqual([entry.name, entry.isDirectory() ? 0o700 : 0o600]);
        }
      } finally {
        process.umask(before);
      }
    });

    test('from stores of other namespaces, whatever those are called', async () => {
      const { sha256 } = await store.putBlob(randomBytes(10));
      for (const namespace of ['other', '..', 'default/../other', '', 'DEFAULT']) {
        const other = createLocalStore({ folder, namespace });
        expect(await other.statBlob(sha256)).toBeNull();
        await other.putObject('mine', randomBytes(1));
      }
      expect(await collect(store.listObjects(''))).toEqual([]);
      expect(fs.readdirSync(folder).length).toBe(6);
    });
  });

  describe('notices what was done to its files from outside', () => {
    test('files that are none of its own, as file managers and backups leave them, stand in no listing and in no way', async () => {
      const { sha256 } = await store.putBlob(randomBytes(10));
      await store.putObject('a/b/c', randomBytes(1));
      const roots = [join(folder, 'default', 'objects'), join(folder, 'default', 'blobs')];
      for (const place of [
        ...roots,
        join(roots[0] ?? '', 'a'),
        join(roots[0] ?? '', 'a/b'),
        dirname(blobFile(sha256)),
      ]) {
        for (const name of ['.DS_Store', '.hidden@', 'notes', 'c@.bak']) fs.writeFileSync(join(place, name), 'foreign');
      }
      expect(await collect(store.listObjects(''))).toEqual(['a/b/c']);
      expect(await collect(store.listObjects('a'))).toEqual(['a/b/c']);
      expect((await collect(store.listBlobs())).map((blob) => blob.sha256)).toEqual([sha256]);
    });

    const alter = (path: string, change: (content: Buffer) => Buffer): void =>
      fs.writeFileSync(path, change(fs.readFileSync(path)));

    test.each([
      ['shortened', (content: Buffer) => content.subarray(0, -1)],
      ['lengthened', (content: Buffer) => Buffer.concat([content, Buffer.from('x')])],
      ['emptied', () => Buffer.alloc(0)],
      ['altered', (content: Buffer) => Buffer.concat([content.subarray(0, -1), Buffer.from('x')])],
    ] as const)(
      'a blob %s is never read as the content, whole or in part, and the error names both hashes',
      async (_, change) => {
        const content = Buffer.from('0123456789'.repeat(100_000));
        const { sha256 } = await store.putBlob(content);
        await store.readBlob(sha256, { start: 0, end: 10 }); // found right, and to be looked at anew below
        alter(blobFile(sha256), change);
        const found = sha256Of(fs.readFileSync(blobFile(sha256)));
        await expect(store.readBlob(sha256)).rejects.toMatchObject({ type: 'BlobCorrupt' });
        await expect(store.readBlob(sha256)).rejects.toThrow(sha256);
        await expect(store.readBlob(sha256)).rejects.toThrow(found);
        expect(await failureOf(store.readBlob(sha256, { start: 0, end: 10 }))).toBe('BlobCorrupt');
        expect(await failureOf(collect(store.streamBlob(sha256)))).toBe('BlobCorrupt');
        expect(await failureOf(collect(store.streamBlob(sha256, { start: 0, end: 10 })))).toBe('BlobCorrupt');
      },
    );

    test('a blob of the wrong size is replaced when its content is written again', async () => {
      for (const size of [100, 2_000_000]) {
        const content = randomBytes(size);
        const ref = await store.putBlob(content);
        fs.truncateSync(blobFile(ref.sha256), 10);
        expect(await store.putBlob(content, ref)).toEqual(ref);
        expect(Buffer.compare(await store.readBlob(ref.sha256), content)).toBe(0);
      }
    });

    test('an object that was altered is an error that names its key', async () => {
      await store.putObject('a/b', Buffer.from('body'));
      const path = join(folder, 'default', 'objects', 'a', 'b@');
      for (const change of [
        (old: Buffer) => old.subarray(0, -1),
        (old: Buffer) => Buffer.concat([old.subarray(0, -1), Buffer.from('x')]),
        () => Buffer.from('nonsense'),
        () => Buffer.alloc(0),
      ]) {
        await store.putObject('a/b', Buffer.from('body'));
        alter(path, change);
        await expect(store.getObject('a/b')).rejects.toMatchObject({
          type: 'BlobCorrupt',
          message: expect.stringContaining('a/b'),
        });
      }
    });

    test('a store whose folder was removed fails once, then works again', async () => {
      await store.putBlob(Buffer.from('one'));
      fs.rmSync(join(folder, 'default'), { recursive: true });
      expect(await failureOf(store.putBlob(Buffer.from('two')))).toBe('StoreUnavailable');
      const ref = await store.putBlob(Buffer.from('two'));
      expect(await collect(store.listBlobs())).toMatchObject([ref]);
    });
  });

  describe('says what is wrong with its folder', () => {
    test('a file in its place, or on the way to it', async () => {
      fs.writeFileSync(join(folder, 'file'), '');
      for (const place of [join(folder, 'file'), join(folder, 'file', 'below')]) {
        const bad = createLocalStore({ folder: place, namespace: 'default' });
        for (const use of [bad.putBlob(Buffer.from('x')), bad.putObject('a', Buffer.from('x')), bad.getObject('a')]) {
          await expect(use).rejects.toMatchObject({ type: 'StoreUnavailable', mend: expect.stringContaining(place) });
        }
      }
    });

    test('a place where no folder can be made', async () => {
      const bad = createLocalStore({ folder: '/proc/longshore', namespace: 'default' });
      await expect(bad.putBlob(Buffer.from('x'))).rejects.toMatchObject({
        type: 'StoreUnavailable',
        message: expect.stringContaining('/proc/longshore'),
      });
    });
  });

  describe('with a full disk', () => {
    interface Report {
      readonly failures: readonly { readonly type: string; readonly mend: string }[];
      readonly afterFailures: { readonly files: readonly string[]; readonly small: string };
      readonly full: { readonly type: string } | null;
      readonly readBack: number;
      readonly temps: readonly string[];
    }
    // The shell's arguments: node, the folder, the program.
    const inFileSizeLimit = 'ulimit -f 1000 && exec "$0" "$2" fullDisk "$1"';
    const onSmallDisk = `'mount -t tmpfs -o size=1m none "$1" && exec "$0" "$2" fullDisk "$1"' "$0" "$1" "$2"`;
    const runIn = async (script: string): Promise<Report | null> => {
      const { code, output } = await finished(spawn('sh', ['-c', script, process.execPath, folder, PROGRAM]));
      return code === 0 ? (JSON.parse(output) as Report) : null;
    };
    const outcomeOf = (report: Report | null): object => ({
      failures: report?.failures.map(({ type, mend }) => [type, mend.includes(folder)]),
      files: [...(report?.afterFailures.files ?? [])].sort(),
      small: report?.afterFailures.small,
      readBack: report?.readBack,
      temps: report?.temps,
    });
    const nothingPartial = {
      failures: Array.from({ length: 4 }, () => ['StoreFull', true]),
      files: [sha256Of(Buffer.from('small')), 'small@'].sort(),
      small: 'small',
      readBack: 50_000,
      temps: [],
    };

    test('fails with StoreFull, shows nothing partial, and works again when there is room', async () => {
      // 1 MB in a mount namespace of its own; where no such is allowed, the limit below must do.
      const mounted =
        (await runIn(`unshare -m sh -c ${onSmallDisk}`)) ?? (await runIn(`unshare -Urm sh -c ${onSmallDisk}`));
      expect(mounted === null ? 'StoreFull' : mounted.full?.type).toBe('StoreFull');
      expect(outcomeOf(mounted ?? (await runIn(inFileSizeLimit)))).toEqual(nothingPartial);
    });

    test('takes a file over the size limit, which the system writes in part, as a full disk', async () => {
      expect(outcomeOf(await runIn(inFileSizeLimit))).toEqual(nothingPartial);
    });
  });

  describe('with other processes on its folder', () => {
    const start = (command: string, argument = ''): ChildProcess =>
      spawn(process.execPath, [PROGRAM, command, folder, argument]);
    const results = async (children: readonly ChildProcess[]): Promise<readonly unknown[]> =>
      Promise.all(children.map(async (child) => JSON.parse((await finished(child)).output) as unknown));

    test('the same and different blobs written by two at once are all there, once and whole', async () => {
      const written = (await results([start('blobs', 'one'), start('blobs', 'two')])).flat();
      const listed = await collect(store.listBlobs());
      expect(listed.map((ref) => ref.sha256).sort()).toEqual([...new Set(written as string[])].sort());
      expect(listed.length).toBe(120);
      for (const { sha256 } of listed) await store.readBlob(sha256);
      expect(namesOfFiles(join(folder, 'default', 'tmp'))).toEqual([]);
    });

    test('no count is lost when three count one object up', async () => {
      const conflicts = (await results([start('count', '60'), start('count', '60'), start('count', '60')])) as number[];
      expect(Buffer.from((await store.getObject('counter'))?.body ?? []).toString()).toBe('180');
      expect(Math.max(...conflicts)).toBeGreaterThan(0); // they did race
      expect(namesOfFiles(join(folder, 'default', 'locks'))).toEqual([]);
    });

    test('each of 100 names is claimed by exactly one of two', async () => {
      const won = (await results([start('claim', 'one'), start('claim', 'two')])).flat() as number[];
      expect(won.sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    });

    test('one killed in the middle of a write leaves nothing that anybody sees', async () => {
      const child = start('hang');
      await killWhenReady(child);
      expect(namesOfFiles(join(folder, 'default', 'tmp')).length).toBe(1); // it was in the middle
      expect(await collect(store.listBlobs())).toEqual([]);
      const ref = await store.putBlob(Buffer.from('after'));
      expect(await collect(store.listBlobs())).toMatchObject([ref]);
    });

    test('what a killed writer left is removed after an hour, and what a live one writes never', async () => {
      const dead = start('hang');
      await killWhenReady(dead);
      const live = start('hang');
      await ready(live);
      const temps = join(folder, 'default', 'tmp');
      const old = new Date(Date.now() - 2 * 3_600_000);
      expect(fs.readdirSync(temps).length).toBe(2);
      await createLocalStore({ folder, namespace: 'default' }).putBlob(Buffer.from('young files stay'));
      expect(fs.readdirSync(temps).length).toBe(2);
      for (const name of fs.readdirSync(temps)) fs.utimesSync(join(temps, name), old, old);
      await createLocalStore({ folder, namespace: 'default' }).putBlob(Buffer.from('old ones of the dead go'));
      expect(fs.readdirSync(temps).map((name) => name.split('-')[1])).toEqual([String(live.pid)]);
      live.kill('SIGKILL');
      await once(live, 'exit');
    });

    test('one killed while it holds a lock does not hold up the others', async () => {
      await killWhenReady(start('holdLock', 'held'));
      expect(namesOfFiles(join(folder, 'default', 'locks')).length).toBe(1);
      const { etag = '' } = (await store.getObject('held')) ?? {};
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, async (_, i) =>
          failureOf(store.putObject('held', Buffer.from(`${i}`), { ifMatch: etag })),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'resolved').length).toBe(1);
      expect(namesOfFiles(join(folder, 'default', 'locks'))).toEqual([]);
    });
  });
});

async function finished(child: ChildProcess): Promise<{ readonly code: number | null; readonly output: string }> {
  let output = '';
  let errors = '';
  child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (errors += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: output === '' ? JSON.stringify(errors) : output };
}

/** Waits until the process says that it stands where it is to be killed. */
async function ready(child: ChildProcess): Promise<void> {
  if (child.stdout === null) throw new Error('the process has no output');
  const [data] = (await once(child.stdout, 'data')) as [Buffer];
  expect(data.toString()).toBe('ready');
}

async function killWhenReady(child: ChildProcess): Promise<void> {
  await ready(child);
  child.kill('SIGKILL');
  await once(child, 'exit');
}
