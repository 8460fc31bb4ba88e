// Starts a keeper as a process of its own: in its own session, so that Ctrl-C in a terminal does not reach it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { siblingModule } from '../../activities/threads/module-url.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { Home } from '../home.ts';
import { homeUnusable } from '../home.ts';
import type { KeeperReport } from './keeper.ts';

/**
 * Starts a keeper and waits for its first report. Its arguments are its claim's token, the Temporal CLI's
 * path, and what to add to the server's arguments.
 *
 * @throws `HomeUnusable` when the keeper's log cannot be opened; `TemporalUnavailable` when it died at once.
 */
export async function startKeeper(
  home: Home,
  keeperArguments: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<KeeperReport> {
  const logPath = join(home.logsFolder, 'keeper.log');
  const log = openLog(home, logPath);
  const script = fileURLToPath(siblingModule(import.meta.url, './keeper'));
  const child = spawn(process.execPath, ['--no-warnings', script, ...keeperArguments], {
    cwd: home.folder,
    detached: true,
    env: { ...env, LONGSHORE_HOME: home.folder, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', log],
  });
  closeSync(log);
  const { stdout: output } = child;
  if (output === null) throw keeperDied(logPath);
  try {
    const exited = once(child, 'exit').then(() => undefined);
    const line = once(createInterface({ input: output }), 'line').then(([text]) => String(text));
    const report = await Promise.race([line, exited]);
    if (report === undefined) throw keeperDied(logPath);
    // The line was written by `report` in `keeper.ts`.
    return JSON.parse(report) as KeeperReport;
  } finally {
    output.destroy();
    child.unref();
  }
}

function openLog(home: Home, path: string): number {
  try {
    return openSync(path, 'w', 0o600);
  } catch (thrown) {
    throw homeUnusable(home.folder, thrown);
  }
}

function keeperDied(logPath: string): LongshoreError {
  return new LongshoreError(
    'TemporalUnavailable',
    'The process that keeps the embedded Temporal server ended before it could start one.',
    `Look into ${logPath}; then try again.`,
  );
}
