// Where the home is, that it is private, and what is said when it cannot be used.
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { findHome, homePaths, homeUnusable, openHome } from '../../worker/home.ts';
import { temporaryFolder } from '../support/process.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => folder.remove());

describe('the home', () => {
  it('is .longshore in the working directory, the configured one, or the one LONGSHORE_HOME names', () => {
    expect(homePaths({}, '/project').folder).toBe('/project/.longshore');
    expect(homePaths({}, '/project', 'data').folder).toBe('/project/data');
    expect(homePaths({ LONGSHORE_HOME: '/srv/home' }, '/project', 'data').folder).toBe('/srv/home');
    expect(homePaths({ LONGSHORE_HOME: '' }, '/project').folder).toBe('/project/.longshore');
  });

  it('is created for its owner only, and opening it leaves no trace', async () => {
    const home = await openHome({ LONGSHORE_HOME: join(folder.path, 'deep', 'home') }, folder.path);
    await openHome({ LONGSHORE_HOME: home.folder }, folder.path);
    for (const path of [home.folder, home.storeFolder, home.logsFolder, home.claimsFolder]) {
      expect((await stat(path)).mode & 0o777).toBe(0o700);
    }
    expect((await readdir(home.folder)).toSorted()).toEqual(['keepers', 'logs', 'store']);
  });

  it('is found without being touched by who only reads, whether it is there or not', async () => {
    const missing = await findHome({ LONGSHORE_HOME: join(folder.path, 'none') }, folder.path);
    expect(missing.folder).toBe(join(folder.path, 'none'));
    await findHome({ LONGSHORE_HOME: folder.path }, folder.path);
    expect(await readdir(folder.path)).toEqual([]);
  });

  it('with a file in its way is unusable, by name and with a mend', async () => {
    const path = join(folder.path, 'file');
    await writeFile(path, '');
    for (const blocked of [path, join(path, 'below')]) {
      for (const get of [openHome, findHome])
        await expect(get({ LONGSHORE_HOME: blocked }, folder.path)).rejects.toMatchObject({
          type: 'HomeUnusable',
          message: `The home ${blocked} cannot be used: a file stands where a folder is needed.`,
          mend: expect.stringContaining('LONGSHORE_HOME'),
        });
    }
  });

  it('below a folder that can have none ends in an error, and does end', async () => {
    const missing = process.platform === 'linux' ? '/proc/longshore/home' : '/dev/null/longshore/home';
    await expect(openHome({ LONGSHORE_HOME: missing }, folder.path)).rejects.toMatchObject({ type: 'HomeUnusable' });
  });

  it('tells a full disk, a missing permission and a read-only disk apart', () => {
    const said = (code: string): string => homeUnusable('/h', Object.assign(new Error('raw'), { code })).message;
    expect(said('ENOSPC')).toBe('The home /h cannot be used: the disk is full.');
    expect(said('EACCES')).toBe('The home /h cannot be used: permission denied.');
    expect(said('EROFS')).toBe('The home /h cannot be used: the file system is read-only.');
    expect(said('EIO')).toBe('The home /h cannot be used: raw.');
  });
});
