// Where `-o` writes to: regular files by a rename, everything else written through and left what it is.
import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { writeTarget } from '../../cli/write-target.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { temporaryFolder } from '../support/process.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => folder.remove());

const large = Buffer.alloc(300_000, 'longshore ');

async function* source(content: Buffer = large): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 65_536) yield content.subarray(at, at + 65_536);
}

async function* breaking(): AsyncGenerator<Uint8Array> {
  yield large;
  throw new LongshoreError('BlobCorrupt', 'not its hash', 'Restore it.');
}

const at = (name: string): string => join(folder.path, name);
const failure = async (work: Promise<void>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => error,
  );

describe('a regular file', () => {
  it('is made under a new name, and replaced with its permissions kept', async () => {
    await writeTarget(at('new'), source());
    expect(await readFile(at('new'))).toEqual(large);
    await chmod(at('new'), 0o640);
    await writeTarget(at('new'), source(Buffer.from('other')));
    expect(await readFile(at('new'), 'utf8')).toBe('other');
    expect((await stat(at('new'))).mode & 0o777).toBe(0o640);
    expect(await readdir(folder.path)).toEqual(['new']);
  });

  it('stays as it was, with nothing beside it, when the source breaks', async () => {
    await writeFile(at('old'), 'old');
    expect(await failure(writeTarget(at('old'), breaking()))).toMatchObject({ type: 'BlobCorrupt' });
    expect(await readFile(at('old'), 'utf8')).toBe('old');
    expect(await readdir(folder.path)).toEqual(['old']);
  });
});

describe('a symbolic link', () => {
  it('stays one, and the file that it leads to is written, over several links and where nothing is there yet', async () => {
    await mkdir(at('elsewhere'));
    await writeFile(at('elsewhere/real'), 'old');
    await symlink('elsewhere/real', at('near'));
    await symlink('near', at('far'));
    await symlink('elsewhere/none-yet', at('dangling'));
    await writeTarget(at('far'), source());
    await writeTarget(at('dangling'), source());
    expect([await readlink(at('near')), await readlink(at('far'))]).toEqual(['elsewhere/real', 'near']);
    expect(await readlink(at('dangling'))).toBe('elsewhere/none-yet');
    for (const name of ['elsewhere/real', 'elsewhere/none-yet']) {
      expect((await lstat(at(name))).isFile()).toBe(true);
      expect(await readFile(at(name))).toEqual(large);
    }
  });

  it('to a folder, or in a circle, is refused and stays', async () => {
    await mkdir(at('folder'));
    await symlink('folder', at('link'));
    await symlink('circle', at('circle'));
    for (const name of ['link', 'circle', 'folder']) {
      expect(await failure(writeTarget(at(name), source()))).toMatchObject({
        type: 'UsageInvalid',
        message: expect.stringContaining(at(name)),
      });
    }
    expect((await readdir(folder.path)).sort()).toEqual(['circle', 'folder', 'link']);
  });
});

describe.runIf(process.platform !== 'win32')('a FIFO', () => {
  it('waits for its reader, gives it every byte, and stays a FIFO, through a link too', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    await symlink('fifo', at('link'));
    for (const name of ['fifo', 'link']) {
      const written = writeTarget(at(name), source());
      expect(await buffer(createReadStream(at('fifo')))).toEqual(large);
      await written;
    }
    expect((await lstat(at('fifo'))).isFIFO()).toBe(true);
    expect((await lstat(at('link'))).isSymbolicLink()).toBe(true);
    expect((await readdir(folder.path)).sort()).toEqual(['fifo', 'link']);
  });

  it('whose reader leaves is OutputFailed', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const written = failure(writeTarget(at('fifo'), source(Buffer.alloc(4_000_000))));
    const reader = createReadStream(at('fifo'));
    reader.once('data', () => reader.destroy());
    expect(await written).toMatchObject({ type: 'OutputFailed', exitCode: 3 });
    expect((await lstat(at('fifo'))).isFIFO()).toBe(true);
  });
});
