// Opens connections: a child process, an HTTP session, or a server in this process; and says what kept one from opening.
import { stat } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';

import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';

import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { DEFAULT_MAX_MESSAGE_BYTES, type HttpServerConfig, type StdioServerConfig } from '../../shared/mcp-config.ts';
import type { Environment } from '../../shared/mcp-config-schema.ts';
import { connect, type Connection, type ConnectionOptions } from './connection.ts';
import { answerOf, type AnswerElicitation } from './elicitation.ts';
import { createExpand, expandRecord } from './expand.ts';
import { createServerFetch, MOST_RESUMPTIONS } from './http-fetch.ts';
import { httpWords } from './http-words.ts';
import { LineLog } from './line-log.ts';
import { openLocalServer, type LocalServer } from './local.ts';
import type { ServerLog } from './server-log.ts';
import { StdioTransport } from './stdio-transport.ts';
import { paceStreams } from './stream-pace.ts';

/** What the SDK raises when `initialize` is not answered in time. */
const REQUEST_TIMEOUT: number = ErrorCode.RequestTimeout;

/** The end of an HTTP session is told to the server, which may not answer. */
const GOODBYE_MS = 1_000;

/** What every kind of server is opened with. */
export interface OpenContext {
  readonly name: string;
  /** The configuration's file, for mends. */
  readonly source: string;
  readonly env: Environment;
  readonly log: ServerLog;
  readonly redact: (text: string) => string;
  /** The length of the longest text that `redact` takes out, in characters. */
  readonly longestSecret: () => number;
  readonly startTimeoutMs: number;
  /** Where relative `cwd`s start. */
  readonly configFolder: string;
  /** The environment is about to be read: what of it is secret may have changed. */
  readonly onExpand: () => void;
  readonly onToolsChanged: () => void;
  /** @default declines */
  readonly answerElicitation?: AnswerElicitation | undefined;
}

/** Starts a stdio server; raises `McpServerUnavailable` or `EnvironmentMissing`. */
export async function openStdio(
  config: StdioServerConfig,
  context: OpenContext,
  signal: AbortSignal,
): Promise<Connection> {
  const { name, log, redact, longestSecret } = context;
  context.onExpand();
  const expand = createExpand(name, context.env);
  const cwd = config.cwd === undefined ? undefined : await folderOf(expand(config.cwd, 'cwd'), context);
  const stderr = new LineLog({ redact, longestSecret, write: (line) => log.debug(line, { stream: 'stderr' }) });
  const noise = new LineLog({ redact, longestSecret, write: (line) => log.noise(line) });
  const transport = new StdioTransport({
    command: expand(config.command, 'command'),
    args: config.args.map((text, index) => expand(text, `args[${index}]`)),
    env: expandRecord(config.env, expand, 'env'),
    maxMessageBytes: config.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
    onNoise: (line) => noise.line(line),
    onStderr: (chunk) => stderr.append(chunk),
    ...(cwd !== undefined && { cwd }),
  });
  try {
    const connection = await connect({ transport, signal, ...connectOptions(context) });
    log.debug('server started', { pid: transport.pid ?? null });
    return connection;
  } catch (error) {
    const why = stdioProblem(error, config, { exit: transport.exit, lastLines: stderr.lastLines });
    await transport.close();
    throw unavailable(
      context,
      why,
      `Start \`${config.command}\` with its arguments by hand to see why, or correct its entry in`,
    );
  }
}

/** Opens an HTTP session; raises `McpServerUnavailable` or `EnvironmentMissing`. */
export async function openHttp(
  config: HttpServerConfig,
  context: OpenContext,
  signal: AbortSignal,
): Promise<Connection> {
  const expand = createExpand(context.name, context.env);
  context.onExpand();
  const url = URL.parse(expand(config.url, 'url'));
  if (url === null) throw unavailable(context, `its \`url\` ${config.url} is none`, 'Correct it in');
  const server = createServerFetch({
    headers: () => {
      context.onExpand();
      return expandRecord(config.headers, expand, 'headers');
    },
    maxMessageBytes: config.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
  });
  const transport = new StreamableHTTPClientTransport(url, {
    fetch: paceStreams(server.fetch),
    reconnectionOptions: {
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 10_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: MOST_RESUMPTIONS,
    },
  });
  const goodbye = (): Promise<void> =>
    within(GOODBYE_MS, transport.terminateSession()).catch((error: unknown) => {
      context.log.debug(`the session's end could not be told: ${messageOf(error)}`);
    });
  try {
    const ends = { beforeClose: goodbye, afterClose: server.close };
    return await connect({ transport, signal, ...connectOptions(context), ...ends });
  } catch (error) {
    await transport.close();
    await server.close();
    if (error instanceof LongshoreError) throw error;
    const where = `${url.origin}${url.pathname}`;
    const why = error instanceof StreamableHTTPError ? httpWords(error) : messageOf(error);
    throw unavailable(context, `${where}: ${why}`, 'Check that the server runs, and its entry in');
  }
}

/** Starts a server of local tools; raises `McpServerUnavailable` when it defines a tool twice. */
export async function openLocal(local: LocalServer, context: OpenContext): Promise<Connection> {
  try {
    return await connect({ transport: await openLocalServer(local), ...connectOptions(context) });
  } catch (error) {
    throw unavailable(context, messageOf(error), 'Correct the definition of its tools; it is not one of those in');
  }
}

function connectOptions(context: OpenContext): Omit<ConnectionOptions, 'transport'> {
  const { name, startTimeoutMs, log, answerElicitation } = context;
  return {
    startTimeoutMs,
    onTrouble: (error) => log.trouble(error),
    onToolsChanged: () => {
      log.info('the server says that its list of tools has changed');
      context.onToolsChanged();
    },
    onElicitation: (request) => answerOf(name, request, answerElicitation),
  };
}

async function folderOf(cwd: string, context: OpenContext): Promise<string> {
  const folder = isAbsolute(cwd) ? cwd : resolve(context.configFolder, cwd);
  const isFolder = await stat(folder).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder)
    throw unavailable(context, `its folder ${folder} (\`cwd\`) does not exist`, 'Make it, or correct the entry in');
  return folder;
}

function stdioProblem(
  error: unknown,
  { command }: StdioServerConfig,
  server: { readonly exit: string | undefined; readonly lastLines: string },
): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return `its command \`${command}\` was not found`;
  if (code === 'EACCES') return `its command \`${command}\` may not be executed`;
  const said = server.lastLines === '' ? '' : `; it said: ${server.lastLines}`;
  if (server.exit !== undefined) return `\`${command}\` ended (${server.exit}) before it answered${said}`;
  if (error instanceof McpError && error.code === REQUEST_TIMEOUT) {
    return `\`${command}\` started and did not answer \`initialize\` in time${said}`;
  }
  return `\`${command}\`: ${messageOf(error)}${said}`;
}

function unavailable({ name, source, redact }: OpenContext, why: string, mend: string): LongshoreError {
  const message = `MCP server \`${name}\` could not be started: ${redact(why).slice(0, 2_000)}`;
  return new LongshoreError('McpServerUnavailable', message, `${mend} ${source}.`);
}

async function within(ms: number, promise: Promise<void>): Promise<void> {
  const { promise: late, resolve: giveUp } = Promise.withResolvers<void>();
  const timer = setTimeout(giveUp, ms);
  await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
