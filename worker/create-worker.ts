// A Worker of Longshore's own: the plugin, the Workflows, and settings for quick hand-over.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker, type NativeConnection, type WorkerOptions, type WorkflowBundleOption } from '@temporalio/worker';
import type { LocalServer } from '../activities/mcp/local.ts';
import { warmUpMeasure } from '../activities/measure.ts';
import { HEARTBEAT_INTERVAL_MS } from '../shared/activity-options.ts';
import type { LongshoreConfig } from '../shared/config.ts';
import type { McpConfig } from '../shared/mcp-config.ts';
import type { Home } from './home.ts';
import type { Log } from './log.ts';
import { storeSettings } from './open-store.ts';
import { sourceBundle } from './source-bundle.ts';
import { LongshorePlugin, type LongshorePluginOptions } from './plugin.ts';

/** What a Worker is started with. */
export interface StartWorkerOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly home: Home;
  readonly mcp: McpConfig;
  readonly config: LongshoreConfig;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  /** Where relative `cwd`s of MCP servers start. */
  readonly configFolder?: string;
}

/** A Worker that polls. */
export interface RunningWorker {
  /** Settles when the Worker has stopped; rejects when it failed. */
  readonly run: Promise<void>;
  /** Stops polling, lets Activities finish or hand over, and closes MCP servers. */
  shutdown(): Promise<void>;
}

/**
 * Settings for quick hand-over. A shutdown lets running calls go on for 8 s, so that a write is finished and not left
 * `unknown`; most who end a process by SIGTERM follow with SIGKILL after 10 s.
 */
export const WORKER_SETTINGS = {
  // A Worker that died keeps its sticky queue: what waits there is taken back after this long.
  stickyQueueScheduleToStartTimeout: '1s',
  // By default the SDK holds heartbeats back for 8 of our 10 s, and cancellations with them.
  maxHeartbeatThrottleInterval: HEARTBEAT_INTERVAL_MS,
  defaultHeartbeatThrottleInterval: HEARTBEAT_INTERVAL_MS,
  shutdownGraceTime: '8s',
  shutdownForceTime: '20s',
} as const satisfies Partial<WorkerOptions>;

/** Starts a Worker for Longshore's Workflows and Activities. */
export async function startWorker(options: StartWorkerOptions): Promise<RunningWorker> {
  const { mcp, config, env, log, configFolder } = options;
  const plugin = new LongshorePlugin({
    store: openedStore(options),
    mcp,
    env,
    log,
    // `checkConfig` has proved that these came from `defineLocalServer`.
    localServers: (config.localServers ?? []) as readonly LocalServer[],
    ...(config.providers && { providers: config.providers }),
    ...(config.prices && { prices: config.prices }),
    ...(config.hooks && { hooks: config.hooks }),
    ...(configFolder !== undefined && { configFolder }),
  });
  const [worker] = await Promise.all([createWorker(options, plugin), warmUpMeasure()]);
  const run = worker.run();
  return {
    run,
    async shutdown() {
      if (worker.getState() === 'RUNNING') worker.shutdown();
      await run;
    },
  };
}

/** With the settings as they are, so that the plugin knows which variable holds a key. */
function openedStore({ config, env, home, namespace }: StartWorkerOptions): LongshorePluginOptions['store'] {
  const settings = storeSettings(env, config.store);
  return settings.type === 's3'
    ? { ...settings, namespace }
    : { type: 'local', folder: settings.folder ?? home.storeFolder, namespace };
}

async function createWorker(
  { connection, namespace, taskQueue }: StartWorkerOptions,
  plugin: LongshorePlugin,
): Promise<Worker> {
  return Worker.create({
    connection,
    namespace,
    taskQueue,
    plugins: [plugin],
    ...WORKER_SETTINGS,
    workflowBundle: await ownBundle(),
  });
}

/** The bundle of Longshore's own Workflows: the package's where it has one, else that of the sources. */
export async function ownBundle(): Promise<WorkflowBundleOption> {
  const codePath = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));
  return existsSync(codePath) ? { codePath } : sourceBundle();
}
