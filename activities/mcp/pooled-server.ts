// One server of the pool: its single connection, made when needed and made anew when broken, and the catalogue's errors
// for what can go wrong. Never sends a call twice, except to a server that refused it unseen for its session.
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ToolAnnotations, ToolListing, ToolRequest, ToolServer } from '../../shared/tool-server.ts';
import type { Connection, RpcAnswer, RpcRequest } from './connection.ts';
import { DeadlineFault, MessageTooLargeFault, NotSentFault, SessionGoneFault } from './faults.ts';
import { describeTools, listAllTools } from './listing.ts';
import { IDEMPOTENCY_KEY_META } from './meta.ts';
import { errorResponse, toToolResponse } from './messages.ts';
import { createSchemaChecker } from './schema-check.ts';

/** After a failed start, calls get the same failure for this long: parallel calls must not start a process each. */
const RESTART_PAUSE_MS = 1_000;

/** What a pooled server is made of. */
export interface PooledServerOptions {
  readonly name: string;
  /** The configuration's file, for mends. */
  readonly source: string;
  readonly timeoutMs: number;
  readonly annotations: { readonly [tool: string]: ToolAnnotations };
  /** Opens a new connection; raises an error of the catalogue. */
  readonly open: () => Promise<Connection>;
  readonly redact: (text: string) => string;
}

/** Makes the server; nothing is started before it is used. */
export function createPooledServer(options: PooledServerOptions): ToolServer {
  const { name } = options;
  const slot = createSlot(options);
  const errorOf = (error: unknown, tool?: string): unknown => catalogued(error, { ...options, ...(tool && { tool }) });

  async function request(input: RpcRequest): Promise<RpcAnswer> {
    const connection = await slot.take(input.signal);
    try {
      return await connection.request(input);
    } catch (error) {
      if (error instanceof NotSentFault) slot.drop(connection);
      if (!(error instanceof SessionGoneFault)) throw error;
    }
    return (await slot.take(input.signal)).request(input);
  }

  async function listPage(params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const answer = await request({ method: 'tools/list', params, timeoutMs: options.timeoutMs, signal });
    if ('error' in answer) throw unlisted(options, `${answer.error.message} (code ${answer.error.code})`);
    return answer.result;
  }

  async function listTools(signal: AbortSignal): Promise<ToolListing> {
    const { instructions, title, offersTools } = await slot.take(signal);
    const raw = offersTools ? await listAllTools((params) => listPage(params, signal)) : [];
    const listing = await describeTools(raw, createSchemaChecker(signal), options.annotations);
    return { ...listing, ...(instructions !== undefined && { instructions }), ...(title !== undefined && { title }) };
  }

  return {
    name,
    listTools: async (signal) => {
      try {
        return await listTools(signal);
      } catch (error) {
        throw signal.aborted ? signal.reason : listingError(errorOf(error), options);
      }
    },
    callTool: async ({ tool, arguments: args, idempotencyKey, signal, onProgress }: ToolRequest) => {
      const params = { name: tool, arguments: args, _meta: { [IDEMPOTENCY_KEY_META]: idempotencyKey } };
      const { timeoutMs } = options;
      try {
        const call: RpcRequest = { method: 'tools/call', params, timeoutMs, signal, ...(onProgress && { onProgress }) };
        const answer = await request(call);
        return 'error' in answer ? errorResponse(answer.error) : toToolResponse(answer.result);
      } catch (error) {
        throw signal.aborted ? signal.reason : errorOf(error, tool);
      }
    },
    close: () => slot.close(),
  };
}

interface Slot {
  take(signal: AbortSignal): Promise<Connection>;
  drop(connection: Connection): void;
  close(): Promise<void>;
}

/** Holds the one connection. */
function createSlot({ name, open }: PooledServerOptions): Slot {
  let current: Promise<Connection> | undefined;
  let failure: { readonly error: unknown; readonly atMs: number } | undefined;
  let isClosed = false;
  const closing = new Set<Promise<void>>();

  function closeInBackground(connection: Connection): void {
    const done = connection
      .close()
      .catch(() => {})
      .finally(() => closing.delete(done));
    closing.add(done);
  }

  async function start(): Promise<Connection> {
    try {
      const connection = await open();
      failure = undefined;
      return connection;
    } catch (error) {
      failure = { error, atMs: performance.now() };
      current = undefined;
      throw error;
    }
  }

  async function live(): Promise<Connection> {
    const before = current;
    const connection = await before;
    if (connection?.isOpen === true) return connection;
    if (connection !== undefined && current === before) {
      current = undefined;
      closeInBackground(connection);
    }
    if (isClosed) throw closedError(name);
    if (failure !== undefined && performance.now() - failure.atMs < RESTART_PAUSE_MS) throw failure.error;
    current ??= start();
    return current;
  }

  return {
    take: (signal) => orAborted(live(), signal),
    drop: (connection) => {
      current = undefined;
      closeInBackground(connection);
    },
    close: async () => {
      isClosed = true;
      const connection = await current?.catch(() => undefined);
      current = undefined;
      if (connection !== undefined) closeInBackground(connection);
      await Promise.all(closing);
    },
  };
}

/** Waits for a start that others wait for too: an abort ends the wait, not the start. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => {});
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

interface ErrorContext {
  readonly name: string;
  readonly source: string;
  readonly tool?: string;
  readonly redact: (text: string) => string;
}

/** A fault as an error of the catalogue. */
function catalogued(error: unknown, context: ErrorContext): unknown {
  if (error instanceof LongshoreError || !(error instanceof Error)) return error;
  const { name, source } = context;
  const call =
    context.tool === undefined
      ? `A request to MCP server \`${name}\``
      : `Tool \`${context.tool}\` of MCP server \`${name}\``;
  const why = context.redact(messageOf(error)).slice(0, 1_000);
  if (error instanceof DeadlineFault) {
    const mend = `Ask for less, or raise \`timeoutMs\` of \`${name}\` in ${source}.`;
    return new LongshoreError(
      'ToolTimeout',
      `${call} gave no answer and no progress within ${error.timeoutMs} ms`,
      mend,
    );
  }
  if (error instanceof MessageTooLargeFault) {
    const what = `${call} was waiting when the server sent a message above the limit of ${error.limitBytes} bytes (\`maxMessageBytes\`)`;
    const mend = `Ask for less, or raise \`maxMessageBytes\` of \`${name}\` in ${source}.`;
    return new LongshoreError('ToolMessageTooLarge', what, mend);
  }
  if (error instanceof NotSentFault) {
    const mend = `Check that the server runs and that its entry in ${source} is right.`;
    return new LongshoreError('McpServerUnavailable', `${call} was not reached: ${why}`, mend, { cause: error });
  }
  const mend = 'The call may have taken effect: check before it is made again.';
  return new LongshoreError('ToolCallFailed', `${call} was called and its answer is lost: ${why}`, mend, {
    cause: error,
  });
}

/** A listing has no effect: whatever kept it back, it may be asked for again. */
function listingError(error: unknown, options: PooledServerOptions): unknown {
  if (!(error instanceof LongshoreError)) return error;
  if (error.type !== 'ToolCallFailed' && error.type !== 'ToolTimeout') return error;
  return unlisted(options, error.message);
}

function unlisted({ name, source }: ErrorContext, why: string): LongshoreError {
  const message = `MCP server \`${name}\` did not list its tools: ${why}`;
  return new LongshoreError('McpServerUnavailable', message, `Check the server and its entry in ${source}.`);
}

function closedError(name: string): LongshoreError {
  const message = `MCP server \`${name}\` was asked after the Worker had closed it`;
  return new LongshoreError('McpServerUnavailable', message, 'The call is made again by another Worker.');
}
