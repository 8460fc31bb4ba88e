// The plugin: adds Longshore's Activities to a user's own Worker, and lets everything else be.
import { SimplePlugin } from '@temporalio/plugin';
import type { BundleOptions, Worker, WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities/index.ts';
import type { LocalServer } from '../activities/mcp/local.ts';
import { createMcpPool, type McpPool } from '../activities/mcp/pool.ts';
import { createAskModel } from '../activities/model/ask.ts';
import { warmUpMeasure } from '../activities/measure.ts';
import { closeSandbox } from '../activities/sandbox/server.ts';
import type { LongshoreHooks } from '../shared/hooks.ts';
import type { LongshoreConfig } from '../shared/config.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { S3StoreSettings } from '../shared/store-settings.ts';
import type { McpConfig } from '../shared/mcp-config.ts';
import { checkMcpConfig, redact } from '../shared/mcp-config-schema.ts';
import { loggerOf, type Log } from './log.ts';
import { openFileStore } from './open-store.ts';
import { preloadedModules } from './preloaded-modules.ts';
import { ownSecrets, redactBytes, redactingModel, rememberingCredentials } from './secrets.ts';
import { createTelemetry } from './telemetry.ts';

/** What the plugin works with. */
export interface LongshorePluginOptions {
  /** Where files live: a store, a folder for the local one, or a bucket. Workers that share turns share it. */
  readonly store:
    | FileStore
    | { readonly type?: 'local'; readonly folder: string; readonly namespace?: string }
    | (S3StoreSettings & { readonly namespace?: string });
  /** MCP servers in the form that MCP clients share (`{mcpServers: {…}}`), or already checked. */
  readonly mcp?: McpConfig | { readonly mcpServers: { readonly [name: string]: unknown } };
  /** Tools in this process, as servers; see `defineLocalServer`. */
  readonly localServers?: readonly LocalServer[];
  /** Model providers beside `openai`, by the name before the slash in `model.name`. */
  readonly providers?: LongshoreConfig['providers'];
  /** Prices for cost budgets, by `provider/model`. */
  readonly prices?: LongshoreConfig['prices'];
  /** What the project is told while its turns run. */
  readonly hooks?: LongshoreHooks;
  /** A model that sends no byte for this long is given up and asked again. Milliseconds. @default 600000 */
  readonly modelIdleTimeoutMs?: number;
  /** Where `${NAME}` and keys come from. @default process.env */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where relative `cwd`s of MCP servers start. @default the working directory */
  readonly configFolder?: string;
  /** @default Temporal's own logger */
  readonly log?: Log;
  /** The clock of the retention sweep, for tests. Milliseconds since 1970. @default the earlier one of the Worker's and Temporal's */
  readonly sweepClock?: () => number;
}

/**
 * Longshore on a user's own Worker, Client and bundle.
 *
 * It adds its Activities, all named `longshore…`, and refuses a Worker that already has one of these names
 * (`PluginCollision`). It adds an interceptor that watches these alone, for logs and OpenTelemetry. Codecs, the
 * user's own interceptors, Activities and every other option stay as they are. TypeScript plugins
 * cannot ship Workflows: re-export `longshoreAgentTurn` from your own workflows module.
 */
export class LongshorePlugin extends SimplePlugin {
  private readonly pool: McpPool;

  constructor(options: LongshorePluginOptions) {
    const env = options.env ?? process.env;
    const mcp = mcpConfig(options.mcp);
    const localServers = options.localServers ?? [];
    checkServerNames(mcp, localServers);
    const pool = createMcpPool({
      config: mcp,
      localServers,
      env,
      log: options.log ?? loggerOf('mcp'),
      ...(options.configFolder !== undefined && { configFolder: options.configFolder }),
    });
    const keyVariable = keyVariableOf(options.store);
    // Asked for each time: a token may be replaced while the Worker runs.
    const secrets = (): readonly string[] => [...pool.secrets(), ...ownSecrets(env, keyVariable)];
    const redactText = (text: string): string => redact(text, secrets());
    const credentials = rememberingCredentials(mcp, env, keyVariable);
    const telemetry = createTelemetry({ log: options.log ?? loggerOf('turn'), redact: redactText });
    const askModel = createAskModel({
      env,
      secrets,
      ...(options.providers && { providers: options.providers }),
    });
    const activities = createActivities({
      store: storeOf(options.store, env),
      pool,
      askModel: telemetry.watchModel(redactingModel(askModel, (text) => redact(text, credentials()))),
      prices: options.prices ?? {},
      ...(options.modelIdleTimeoutMs !== undefined && { modelIdleTimeoutMs: options.modelIdleTimeoutMs }),
      localServers,
      ...(options.sweepClock && { retention: { now: options.sweepClock } }),
      ...(options.hooks && { hooks: options.hooks }),
      redact: redactText,
      redactBytes: (bytes) => redactBytes(bytes, secrets()),
    });
    super({ name: 'longshore', activities, workerInterceptors: telemetry.interceptors });
    this.pool = pool;
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    const taken = Object.keys(options.activities ?? {}).filter((name) => name.startsWith('longshore'));
    if (taken.length > 0) {
      throw new LongshoreError(
        'PluginCollision',
        `The Worker already has Activities with names of the plugin: ${taken.join(', ')}`,
        'Rename them, or add the plugin once only: names that begin with `longshore` belong to it.',
      );
    }
    return super.configureWorker(options);
  }

  /** What is the same for every Workflow is loaded once, and not by each of them. */
  override configureBundler(options: BundleOptions): BundleOptions {
    const configured = super.configureBundler(options);
    return { ...configured, preloadModules: [...(configured.preloadModules ?? []), ...preloadedModules()] };
  }

  override async runWorker(worker: Worker, next: (worker: Worker) => Promise<void>): Promise<void> {
    try {
      await warmUpMeasure();
      await super.runWorker(worker, next);
    } finally {
      await Promise.all([this.pool.close(), closeSandbox()]);
    }
  }
}

function storeOf(store: LongshorePluginOptions['store'], env: NonNullable<LongshorePluginOptions['env']>): FileStore {
  if ('putBlob' in store) return store;
  const { namespace = 'default', ...rest } = store;
  const settings = rest.type === 's3' ? rest : ({ ...rest, type: 'local' } as const);
  return openFileStore({ settings, folder: '', namespace, env }); // a local one has its own folder
}

function keyVariableOf(store: LongshorePluginOptions['store']): string | undefined {
  if ('putBlob' in store || store.type !== 's3') return undefined;
  return store.encryption?.type === 'sse-c' ? store.encryption.keyVariable : undefined;
}

function mcpConfig(given: LongshorePluginOptions['mcp']): McpConfig {
  if (!given) return { source: 'the plugin options', servers: {} };
  if ('servers' in given) return given;
  const checked = checkMcpConfig(given, 'the plugin options');
  if ('config' in checked) return checked.config;
  const faults = checked.faults.map(({ path, message, mend }) => `${path}: ${message}. ${mend}`).join('\n');
  throw new LongshoreError('McpConfigInvalid', `The MCP configuration has faults:\n${faults}`, 'Mend them all.');
}

function checkServerNames(mcp: McpConfig, local: readonly LocalServer[]): void {
  const names = [...Object.keys(mcp.servers), ...local.map((server) => server.name)];
  const clash = names.find((name, index) => names.indexOf(name) !== index);
  if (clash === undefined) return;
  throw new LongshoreError('ToolServerClash', `Two servers are named \`${clash}\``, 'Rename one of them.');
}
