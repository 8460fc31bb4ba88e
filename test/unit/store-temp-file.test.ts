// What a temporary file does when the system writes less than it was given, or says so and does not.
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { writeTemp } from '../../activities/store/temp-file.ts';

describe('a temporary file', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await fs.promises.mkdtemp(join(os.tmpdir(), 'longshore-temp-'));
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await fs.promises.rm(folder, { recursive: true });
  });

  test('is whole though the system takes a few bytes at a time', async () => {
    type Write = (...args: readonly [number, Uint8Array, number, number, number]) => number;
    const write = fs.writeSync.bind(fs) as Write;
    const few: Write = (...[file, content, from, count, at]) => write(file, content, from, Math.min(count, 3), at);
    vi.spyOn(fs, 'writeSync').mockImplementation(few as typeof fs.writeSync);
    const { path, bytes } = await writeTemp(folder, Buffer.from('0123456789'));
    expect([fs.readFileSync(path, 'utf8'), bytes]).toEqual(['0123456789', 10]);
  });

  test.each([
    ['takes nothing', 0],
    ['says it took all and did not', 10],
  ])('is refused and removed when the system %s', async (_, count) => {
    vi.spyOn(fs, 'writeSync').mockReturnValue(count);
    await expect(writeTemp(folder, Buffer.from('0123456789'))).rejects.toMatchObject({ type: 'StoreUnavailable' });
    expect(fs.readdirSync(folder)).toEqual([]);
  });

  test.each(['EIO', 'EROFS', 'EACCES', 'ENOSPC', 'EDQUOT'])(
    'is removed and told as one of ours on %s',
    async (code) => {
      const type = ['ENOSPC', 'EDQUOT'].includes(code) ? 'StoreFull' : 'StoreUnavailable';
      vi.spyOn(fs, 'fchmodSync').mockImplementation(() => {
        throw Object.assign(new Error(`${code}: scripted`), { code });
      });
      const wanted = {
        type,
        message: expect.stringContaining(code) as string,
        mend: expect.stringContaining(folder) as string,
      };
      await expect(writeTemp(folder, Buffer.from('x'))).rejects.toMatchObject(wanted);
      expect(fs.readdirSync(folder)).toEqual([]);
    },
  );
});
