// Runs a Worker inside a command: the connection, the Worker, its announcement to others that use the home, and the way
// back, in order.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

import { DefaultLogger, type LogEntry, NativeConnection, Runtime } from '@temporalio/worker';

import { setUpSweepSchedule } from '../client/sweep-schedule.ts';
import type { LongshoreConfig } from '../shared/config.ts';
import { messageOf } from '../shared/errors.ts';
import { sweepTimes } from '../shared/sweep-settings.ts';
import { startWorker } from '../worker/create-worker.ts';
import type { TemporalServer } from '../worker/dev-server.ts';
import type { Home } from '../worker/home.ts';
import { loggerOf } from '../worker/log.ts';
import { connectClient } from './connect-client.ts';
import type { LoadedMcp } from './load-config.ts';
import { projectFingerprint } from './store.ts';
import { acrossRestart } from './temporal-faults.ts';

/** What the Worker is made of. */
export interface HostOptions {
  readonly server: TemporalServer;
  readonly home: Home;
  readonly taskQueue: string;
  readonly config: LongshoreConfig;
  readonly mcp: LoadedMcp;
  readonly env: NodeJS.ProcessEnv;
  /** Gets warnings and errors of the Worker; everything goes to `logs/worker.log`. */
  readonly note: (text: string) => void;
}

/** A Worker inside this process. */
export interface HostedWorker {
  /** Settles when the Worker has stopped; rejects when it failed. */
  readonly run: Promise<void>;
  /** Stops the Worker and closes its connection. The lease of an embedded server stays. */
  close(): Promise<void>;
}

/**
 * Starts a Worker and announces it. On the embedded server it sees to the Schedule of the retention sweep too, for its own Task Queue,
 * unless that is one that a run took beside another Worker.
 */
export async function hostWorker(options: HostOptions): Promise<HostedWorker> {
  installRuntime(options.home, options.note);
  return acrossRestart(options.server, async () => connectWorker(options));
}

async function connectWorker(options: HostOptions): Promise<HostedWorker> {
  const { server, home, taskQueue, config, mcp, env } = options;
  const connection = await NativeConnection.connect(server.connectionOptions);
  try {
    const scheduling = setUpSchedule(options);
    const worker = await startWorker({
      connection,
      namespace: server.namespace,
      taskQueue,
      home,
      mcp: mcp.mcp,
      configFolder: mcp.configFolder,
      config,
      env,
      log: loggerOf('worker'),
    });
    await scheduling;
    server.embedded?.announceWorker({ taskQueue, fingerprint: projectFingerprint(options, env) });
    return {
      run: worker.run,
      close: async () => {
        await worker.shutdown();
        await connection.close();
      },
    };
  } catch (thrown) {
    await connection.close();
    throw thrown;
  }
}

/** Without it turns run all the same, so that a failure is told and no more. */
async function setUpSchedule(options: HostOptions): Promise<void> {
  const { server, taskQueue, config, env, note } = options;
  const isAside = taskQueue.endsWith(`-${projectFingerprint(options, env).slice(0, 8)}`);
  if (server.embedded === null || isAside) return;
  try {
    const client = await connectClient(server);
    try {
      await setUpSweepSchedule(client, { taskQueue, ...sweepTimes(config.retention) });
    } finally {
      await client.connection.close();
    }
  } catch (error) {
    note(`The Schedule of the retention sweep could not be set up: ${messageOf(error)}. Run \`longshore setup\`.`);
  }
}

/** Signals are the command's own, so the SDK is told to leave them alone; logs go to a file. Once a process. */
export function installRuntime(home: Home, note: (text: string) => void): void {
  const path = join(home.logsFolder, 'worker.log');
  Runtime.install({
    shutdownSignals: [],
    logger: new DefaultLogger('INFO', (entry) => {
      const line = lineOf(entry);
      appendQuietly(path, line);
      if (entry.level === 'WARN' || entry.level === 'ERROR') note(line);
    }),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
  });
}

function lineOf({ level, message, meta, timestampNanos }: LogEntry): string {
  const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  return `${time} ${level} ${message}${meta === undefined ? '' : ` ${safeJson(meta)}`}`;
}

/** Log entries of the SDK may hold what JSON cannot. */
function safeJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner === 'bigint') return String(inner);
    return inner instanceof Error ? inner.message : inner;
  });
}

function appendQuietly(path: string, line: string): void {
  try {
    appendFileSync(path, `${line}\n`, { mode: 0o600 });
  } catch {
    // A full disk is told by what cannot be stored, not by its log.
  }
}
