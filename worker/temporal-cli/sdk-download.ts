// Fetches the Temporal CLI by the Temporal SDK's own download, in a process of its own so that it can be bounded and
// ended. The SDK has no call that only fetches: the child starts a server from the download and stops it again.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { siblingModule } from '../../activities/threads/module-url.ts';
import { runBounded } from './run-bounded.ts';

/** The longest time for the download, in milliseconds. */
const DOWNLOAD_TIMEOUT_MS = 180_000;

/** Fetches into `folder` and gives the binary's path. @throws an `Error`; within about 5 s when there is no network. */
export async function fetchWithSdk(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = fileURLToPath(siblingModule(import.meta.url, './sdk-download-child'));
  await runBounded(process.execPath, ['--no-warnings', child, folder], {
    // The SDK's download heeds a proxy; Node's `fetch`, which only asks whether the host is there, must do so too.
    env: { ...env, NODE_USE_ENV_PROXY: '1' },
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
    cwd: folder,
  });
  const names = (await readdir(folder)).filter((name) => name.startsWith('temporal-cli-'));
  const [name] = names;
  if (name === undefined) throw new Error('the SDK left no binary');
  return join(folder, name);
}
