// The Temporal CLI's dev server as a child of the keeper: tuned, on the home's database, and never left behind: a
// watcher process ends it when the keeper is gone without a word.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

import type { Home } from '../home.ts';
import type { ServerPorts } from './ports.ts';
import type { ServerLog } from './server-log.ts';

/** Search Attributes that Longshore's Workflows set. Source: architecture, section 4. */
export const SEARCH_ATTRIBUTES: { readonly [name: string]: 'Keyword' | 'Datetime' } = {
  LongshoreStatus: 'Keyword',
  LongshoreSession: 'Keyword',
  LongshoreAgent: 'Keyword',
  LongshoreWaitingSince: 'Datetime',
  LongshoreRemindedAt: 'Datetime',
};

/**
 * What makes the dev server four times as fast for one Workflow: it paces each at 20 Workflow Tasks a second, and
 * syncs the disk on every write. Measured: 27 ms instead of 101 for a step of two Activities.
 */
export const TUNING: readonly string[] = [
  '--dynamic-config-value=history.transferProcessorMaxPollRPS=2000',
  // A deleted execution goes when these have moved on: within seconds, and not after half a minute or more.
  '--dynamic-config-value=history.transferProcessorUpdateAckInterval="1s"',
  '--dynamic-config-value=history.visibilityProcessorUpdateAckInterval="1s"',
  '--sqlite-pragma=journal_mode=WAL',
  '--sqlite-pragma=synchronous=NORMAL',
];

const STOP_TIMEOUT_MS = 10_000;
const CONNECT_POLL_MS = 15;

/** Ends the server when standard input closes: by SIGTERM, after 3 s by SIGKILL. The first line is its process id. */
const WATCHER = `read pid || exit 0; read end; kill -TERM "$pid" 2>/dev/null; n=0
while kill -0 "$pid" 2>/dev/null && [ "$n" -lt 30 ]; do sleep 0.1; n=$((n+1)); done; kill -KILL "$pid" 2>/dev/null`;

/** A running dev server. */
export interface ServerProcess {
  readonly pid: number;
  /** Resolves with the reason in words when the process has ended, asked to or not. */
  readonly ended: Promise<string>;
  /** Resolves when its port accepts connections or it has ended, `true` if it accepts. */
  listens(timeoutMs: number): Promise<boolean>;
  /** Stops it in good order; by SIGKILL after 10 s. */
  stop(): Promise<void>;
}

/**
 * Starts the server: `command` is the Temporal CLI's path and what to add to its arguments. It is not ready yet; a
 * process that could not be started at all ends at once.
 */
export function startServerProcess(
  command: readonly string[],
  home: Home,
  ports: ServerPorts,
  log: ServerLog,
): ServerProcess {
  const [cliPath = '', ...extraArgs] = command;
  // The watcher is there before the server, so that no moment is left in which the server could be orphaned.
  const watcher = process.platform === 'win32' ? undefined : startWatcher();
  const child = spawn(cliPath, [...serverArguments(home, ports), ...extraArgs], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: serverEnv(),
  });
  if (child.pid !== undefined) watcher?.stdin?.write(`${child.pid}\n`);
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => log.append(line));
  }
  const ended = endOf(child).then((reason) => {
    watcher?.kill('SIGKILL');
    return reason;
  });
  const process_ = { pid: child.pid ?? -1, ended, isOver: false };
  void ended.then(() => (process_.isOver = true));
  // A server without its watcher could outlive a keeper that is killed: better none.
  watcher?.on('exit', () => child.kill('SIGTERM'));
  return {
    pid: process_.pid,
    ended,
    listens: async (timeoutMs) => listens(ports.port, () => process_.isOver, timeoutMs),
    stop: async () => stop(child, ended),
  };
}

function serverArguments(home: Home, ports: ServerPorts): string[] {
  return [
    'server',
    'start-dev',
    `--db-filename=${home.database}`,
    '--ip=127.0.0.1',
    `--port=${ports.port}`,
    `--ui-port=${ports.uiPort}`,
    '--log-level=warn',
    '--ui-disable-news-fetch',
    ...TUNING,
    ...Object.entries(SEARCH_ATTRIBUTES).map(([name, type]) => `--search-attribute=${name}=${type}`),
  ];
}

/** Without `TEMPORAL_*`: those name the user's own servers, and the CLI would heed them. */
function serverEnv(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

function startWatcher(): ChildProcess {
  const watcher = spawn('/bin/sh', ['-c', WATCHER], { stdio: ['pipe', 'ignore', 'ignore'] });
  // A pipe to a watcher that is gone: its `exit` handler acts.
  watcher.stdin?.on('error', () => {});
  watcher.on('error', () => {});
  return watcher;
}

async function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
}

async function listens(port: number, isOver: () => boolean, timeoutMs: number): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  while (!isOver() && Date.now() < deadline) {
    const socket = connect({ host: '127.0.0.1', port });
    try {
      await once(socket, 'connect');
      return !isOver();
    } catch {
      await delay(CONNECT_POLL_MS);
    } finally {
      socket.destroy();
    }
  }
  return false;
}

async function stop(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}
