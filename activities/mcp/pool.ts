// All MCP servers of a Worker process, one connection each: configured ones over stdio and HTTP, and servers of local tools.
import { LongshoreError } from '../../shared/errors.ts';
import { DEFAULT_TOOL_TIMEOUT_MS, type McpConfig, type McpServerConfig } from '../../shared/mcp-config.ts';
import { redact as redactSecrets, secretsOf, type Environment } from '../../shared/mcp-config-schema.ts';
import { longestForm } from '../../shared/secret-redaction.ts';
import type { ToolAnnotations, ToolServer } from '../../shared/tool-server.ts';
import { PROCESS_PAUSES, SESSION_PAUSES, type RestartPauses } from './backoff.ts';
import type { Connection } from './connection.ts';
import type { AnswerElicitation } from './elicitation.ts';
import type { LocalServer } from './local.ts';
import { openHttp, openLocal, openStdio, type OpenContext } from './open.ts';
import { createPooledServer } from './pooled-server.ts';
import { createServerLog, type PoolLogEntry } from './server-log.ts';
import { createToolChanges, type ToolChanges } from './tool-changes.ts';

export type { PoolLogEntry } from './server-log.ts';

/** What is configured of a server, for whoever calls it. */
interface ServerSettings {
  /** A call's deadline in milliseconds, extended by progress. */
  readonly timeoutMs: number;
  readonly description?: string;
  readonly honoursIdempotencyKeys: boolean;
  readonly annotations: { readonly [tool: string]: ToolAnnotations };
}

/** The servers of a Worker. */
export interface McpPool {
  /** Raises `McpServerUnknown`, which lists the servers there are. Starts nothing. */
  server(name: string): ToolServer;
  /** In order of configuration, local servers last. */
  names(): readonly string[];
  /** Raises `McpServerUnknown`. */
  settings(name: string): ServerSettings;
  /** What servers said of their lists of tools. */
  readonly toolChanges: ToolChanges;
  /** Every value of the environment that must not be seen, those that were replaced meanwhile too; longest first. */
  secrets(): readonly string[];
  /** Ends every connection and every process; calls under way end as lost. */
  close(): Promise<void>;
}

/** What a pool is made of. */
export interface McpPoolOptions {
  readonly config: McpConfig;
  readonly localServers?: readonly LocalServer[];
  /** Where `${NAME}` comes from. @default process.env */
  readonly env?: Environment;
  readonly log: (entry: PoolLogEntry) => void;
  /** Where relative `cwd`s start. @default the working directory */
  readonly configFolder?: string;
  /** How long a server may take to start and answer `initialize`, in milliseconds. @default 60000 */
  readonly startTimeoutMs?: number;
  /** How long a server's process that failed is left alone. @default 1 s, doubled up to 60 s */
  readonly restartPauses?: RestartPauses;
  /** Answers what servers ask of a person. @default declines */
  readonly answerElicitation?: AnswerElicitation;
}

interface PooledEntry {
  readonly server: ToolServer;
  readonly settings: ServerSettings;
}

const START_TIMEOUT_MS = 60_000;

/** Makes the pool; raises `ToolServerClash` when a local server has the name of a configured one. Starts nothing. */
export function createMcpPool(options: McpPoolOptions): McpPool {
  const env = options.env ?? process.env;
  const secrets = createSecrets(options.config, env);
  const redact = (text: string): string => redactSecrets(text, secrets.all());
  const toolChanges = createToolChanges();
  const pauses = options.restartPauses ?? PROCESS_PAUSES;
  const entries = new Map<string, PooledEntry>();
  const contextOf = (name: string): OpenContext => ({
    name,
    source: options.config.source,
    env,
    log: createServerLog(name, options.log, redact),
    redact,
    longestSecret: () => longestForm(secrets.all()),
    startTimeoutMs: options.startTimeoutMs ?? START_TIMEOUT_MS,
    configFolder: options.configFolder ?? process.cwd(),
    onExpand: secrets.refresh,
    onToolsChanged: () => toolChanges.told(name),
    answerElicitation: options.answerElicitation,
  });
  for (const [name, config] of Object.entries(options.config.servers)) {
    const context = contextOf(name);
    entries.set(
      name,
      entryOf(config, context, {
        open: (signal) => openConfigured(config, context, signal),
        pauses: config.type === 'stdio' ? pauses : SESSION_PAUSES,
        changesTold: () => toolChanges.count(name),
      }),
    );
  }
  for (const local of options.localServers ?? []) {
    if (entries.has(local.name)) throw clash(local.name, options.config.source);
    const context = contextOf(local.name);
    const changesTold = (): number => toolChanges.count(local.name);
    entries.set(local.name, entryOf(local, context, { open: () => openLocal(local, context), pauses, changesTold }));
  }
  return { ...poolOf(entries, options.config.source), toolChanges, secrets: secrets.all };
}

/** A token that is replaced in the environment is used by the next request; the old one stays a secret. */
function createSecrets(config: McpConfig, env: Environment): { refresh: () => void; all: () => readonly string[] } {
  let all = secretsOf(config, env);
  const refresh = (): void => {
    const added = secretsOf(config, env).filter((secret) => !all.includes(secret));
    if (added.length > 0) all = [...all, ...added].sort((a, b) => b.length - a.length);
  };
  return { refresh, all: () => all };
}

function poolOf(entries: ReadonlyMap<string, PooledEntry>, source: string): Omit<McpPool, 'toolChanges' | 'secrets'> {
  const entry = (name: string): PooledEntry => {
    const found = entries.get(name);
    if (found === undefined) throw unknown(name, [...entries.keys()], source);
    return found;
  };
  return {
    server: (name) => entry(name).server,
    names: () => [...entries.keys()],
    settings: (name) => entry(name).settings,
    close: async () => {
      await Promise.all([...entries.values()].map(({ server }) => server.close()));
    },
  };
}

type Common = Pick<McpServerConfig, 'description' | 'timeoutMs' | 'annotations' | 'honoursIdempotencyKeys'>;

interface Opening {
  readonly open: (signal: AbortSignal) => Promise<Connection>;
  readonly pauses: RestartPauses;
  readonly changesTold: () => number;
}

function entryOf(common: Common, context: OpenContext, opening: Opening): PooledEntry {
  const { name, source, redact } = context;
  const { timeoutMs = DEFAULT_TOOL_TIMEOUT_MS, annotations = {}, honoursIdempotencyKeys = false, description } = common;
  const settings = {
    timeoutMs,
    honoursIdempotencyKeys,
    annotations,
    ...(description !== undefined && { description }),
  };
  return { settings, server: createPooledServer({ name, source, timeoutMs, annotations, redact, ...opening }) };
}

async function openConfigured(config: McpServerConfig, context: OpenContext, signal: AbortSignal): Promise<Connection> {
  return config.type === 'stdio' ? openStdio(config, context, signal) : openHttp(config, context, signal);
}

function unknown(name: string, names: readonly string[], source: string): LongshoreError {
  const known = names.length === 0 ? 'none is' : `configured are ${names.map((known) => `\`${known}\``).join(', ')}`;
  const message = `MCP server \`${name}\` is not configured; ${known}`;
  return new LongshoreError(
    'McpServerUnknown',
    message,
    `Add \`${name}\` to ${source}, or use one of the configured names.`,
  );
}

function clash(name: string, source: string): LongshoreError {
  const message = `MCP server \`${name}\` is configured in ${source} and defined as a server of local tools too`;
  return new LongshoreError('ToolServerClash', message, 'Rename one of the two.');
}
