// One server of the pool: its single connection, made when needed and made anew when broken, and the catalogue's errors
// for what can go wrong. Never sends a call twice, except to a server that refused it unseen for its session.
import { setTimeout as delay } from 'node:timers/promises';

import { LongshoreError, messageOf } from '../../shared/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ToolAnnotations, ToolListing, ToolRequest, ToolResponse, ToolServer } from '../../shared/tool-server.ts';
import { createBackoff, UnavailableForNow, type RestartPauses } from './backoff.ts';
import type { Connection, RpcAnswer, RpcRequest } from './connection.ts';
import { depthWords, isDeeperThan, MOST_LEVELS, withoutDepths } from './depth.ts';
import { declinedBlock } from './elicitation.ts';
import {
  DeadlineFault,
  LostFault,
  MessageTooLargeFault,
  NotSentFault,
  RefusedFault,
  SessionGoneFault,
} from './faults.ts';
import { describeTools, listAllTools } from './listing.ts';
import { IDEMPOTENCY_KEY_META } from './meta.ts';
import { errorResponse, toToolResponse } from './messages.ts';
import { createSchemaChecker } from './schema-check.ts';
import { createSlot } from './slot.ts';

/** How often a listing is asked for whose connection was lost, and the pauses between. */
const LISTING_ATTEMPTS = 3;
const LISTING_PAUSE_MS = 250;
const LONGEST_LISTING_PAUSE_MS = 2_000;
/** What went wrong stands in history and before the model. */
const WORDS_CHARACTERS = 1_000;

/** What a pooled server is made of. */
export interface PooledServerOptions {
  readonly name: string;
  /** The configuration's file, for mends. */
  readonly source: string;
  readonly timeoutMs: number;
  readonly annotations: { readonly [tool: string]: ToolAnnotations };
  /** Opens a new connection; raises an error of the catalogue. The signal ends the start. */
  readonly open: (signal: AbortSignal) => Promise<Connection>;
  readonly pauses: RestartPauses;
  readonly redact: (text: string) => string;
  /** How often the server has said that its list of tools changed. */
  readonly changesTold: () => number;
}

/** Makes the server; nothing is started before it is used. */
export function createPooledServer(options: PooledServerOptions): ToolServer {
  const { name } = options;
  const backoff = createBackoff(options.pauses);
  const slot = createSlot({ ...options, backoff });
  const errorOf = (error: unknown, tool?: string): unknown => catalogued(error, { ...options, ...(tool && { tool }) });

  async function request(input: RpcRequest, beforeResend?: () => Promise<void>): Promise<RpcAnswer> {
    try {
      return await slot.use(input.signal, (connection) => firstAnswer(connection, input));
    } catch (error) {
      if (!(error instanceof SessionGoneFault)) throw error;
    }
    await beforeResend?.();
    return slot.use(input.signal, (connection) => answerOf(connection, input));
  }

  /** A refusal is this request's alone; where no request can get through, the next one goes another way. */
  async function firstAnswer(connection: Connection, input: RpcRequest): Promise<RpcAnswer> {
    try {
      return await answerOf(connection, input);
    } catch (error) {
      if (error instanceof NotSentFault && !(error instanceof RefusedFault)) {
        // One that is gone before its first answer is not started anew at once.
        slot.drop(connection, { isUseless: !(error instanceof SessionGoneFault) && !connection.hasAnswered });
      }
      throw error;
    }
  }

  async function answerOf(connection: Connection, input: RpcRequest): Promise<RpcAnswer> {
    const answer = await connection.request(input);
    backoff.worked();
    return answer;
  }

  async function listPage(params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const answer = await request({ method: 'tools/list', params, timeoutMs: options.timeoutMs, signal });
    if ('error' in answer)
      throw unlisted(options, `${wordsOf(answer.error.message, options)} (code ${answer.error.code})`);
    return answer.result;
  }

  async function listTools(signal: AbortSignal): Promise<ToolListing> {
    const connection = await slot.take(signal);
    const { instructions, title, offersTools } = connection;
    const changes = options.changesTold();
    const isCurrent = (): boolean => slot.has(connection) && options.changesTold() === changes;
    const raw = offersTools ? await listAllTools((params) => listPage(params, signal)) : [];
    const listing = await describeTools(raw, createSchemaChecker(signal), options.annotations);
    return {
      ...listing,
      isCurrent,
      ...(instructions !== undefined && { instructions }),
      ...(title !== undefined && { title }),
    };
  }

  return {
    name,
    listTools: async (signal) => {
      try {
        return await persistently(() => listTools(signal), signal);
      } catch (error) {
        throw signal.aborted ? signal.reason : listingError(errorOf(error), options);
      }
    },
    callTool: async ({ tool, arguments: args, idempotencyKey, signal, onProgress, beforeResend }: ToolRequest) => {
      const params = { name: tool, arguments: args, _meta: { [IDEMPOTENCY_KEY_META]: idempotencyKey } };
      const { timeoutMs } = options;
      try {
        const call: RpcRequest = { method: 'tools/call', params, timeoutMs, signal, ...(onProgress && { onProgress }) };
        return responseOf(await request(call, beforeResend), options.redact);
      } catch (error) {
        throw signal.aborted ? signal.reason : errorOf(error, tool);
      }
    },
    close: () => slot.close(),
  };
}

/** The answer as a tool's result, with the questions that nobody could answer. */
function responseOf(answer: RpcAnswer, redact: (text: string) => string): ToolResponse {
  const response = bareResponse(answer);
  if (answer.declined === undefined) return response;
  // Before they are cut: half a secret at the end would not be found.
  const declined = answer.declined.map((question) => redact(question));
  return { ...response, content: [...response.content, declinedBlock(declined)] };
}

function bareResponse(answer: RpcAnswer): ToolResponse {
  if (!('error' in answer)) return toToolResponse(withoutDepths(answer.result));
  const { error } = answer;
  return errorResponse(isDeeperThan(error.data, MOST_LEVELS) ? { ...error, data: depthWords('Data') } : error);
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
    context.tool === undefined ? `MCP server \`${name}\`` : `Tool \`${context.tool}\` of MCP server \`${name}\``;
  const why = wordsOf(messageOf(error), context);
  if (error instanceof DeadlineFault) {
    const mend = `Ask for less, or raise \`timeoutMs\` of \`${name}\` in ${source}.`;
    return new LongshoreError(
      'ToolTimeout',
      `${call} gave no answer and no progress within ${error.timeoutMs} ms`,
      mend,
    );
  }
  if (error instanceof MessageTooLargeFault) {
    const what = `${context.tool === undefined ? `A request to ${call}` : call} was waiting when the server sent a message above the limit of ${error.limitBytes} bytes (\`maxMessageBytes\`)`;
    const mend = `Ask for less, or raise \`maxMessageBytes\` of \`${name}\` in ${source}.`;
    return new LongshoreError('ToolMessageTooLarge', what, mend);
  }
  if (error instanceof NotSentFault) {
    const mend = `Check that the server runs and that its entry in ${source} is right.`;
    return new LongshoreError('McpServerUnavailable', `${call} was not reached: ${why}`, mend, { cause: error });
  }
  if (context.tool === undefined) return unlisted(context, why);
  const mend = 'The call may have taken effect: check before it is made again.';
  return new LongshoreError('ToolCallFailed', `${call} was called and its answer is lost: ${why}`, mend, {
    cause: error,
  });
}

/**
 * Asks again where the connection was lost: a call of somebody else may have ended it, and a listing only reads. What keeps
 * back a server that does not start at all is passed on at once.
 */
async function persistently<T>(list: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await list();
    } catch (error) {
      const waitMs = pauseAfter(error, attempt);
      if (waitMs === undefined || attempt >= LISTING_ATTEMPTS || signal.aborted) throw error;
      await delay(waitMs, undefined, { signal });
    }
  }
}

function pauseAfter(error: unknown, attempt: number): number | undefined {
  const isLost = error instanceof LostFault || error instanceof NotSentFault || error instanceof MessageTooLargeFault;
  if (isLost) return LISTING_PAUSE_MS * attempt;
  // What ended before its first answer may be started again after a second; longer pauses are of failures in a row.
  const mayStart = attempt > 1 && error instanceof UnavailableForNow && error.retryAfterMs <= LONGEST_LISTING_PAUSE_MS;
  return mayStart ? error.retryAfterMs : undefined;
}

/** A listing has no effect: whatever kept it back, it may be asked for again. */
function listingError(error: unknown, options: PooledServerOptions): unknown {
  if (!(error instanceof LongshoreError)) return error;
  if (error.type !== 'ToolCallFailed' && error.type !== 'ToolTimeout') return error;
  return unlisted(options, error.message);
}

/** Of a server or a transport; before they are cut, since half a secret at the end would not be found. */
function wordsOf(message: string, { redact }: Pick<ErrorContext, 'redact'>): string {
  return redact(message).slice(0, WORDS_CHARACTERS).toWellFormed();
}

function unlisted({ name, source }: ErrorContext, why: string): LongshoreError {
  const message = `MCP server \`${name}\` did not list its tools: ${why}`;
  return new LongshoreError('McpServerUnavailable', message, `Check the server and its entry in ${source}.`);
}
