// One live connection to a server: an initialised client, its requests, and what became of it. Knows no server names and
// no catalogue errors; those are given by `pooled-server.ts`.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  ElicitRequestSchema,
  McpError,
  ToolListChangedNotificationSchema,
  type ElicitRequest,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

import { LongshoreError, messageOf } from '../../shared/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { currentExchange, openExchange, type Exchange } from './exchange.ts';
import { LostFault, MessageTooLargeFault, NotSentFault, RefusedFault, SessionGoneFault } from './faults.ts';
import { httpWords } from './http-words.ts';
import type { RpcError } from './messages.ts';

/** The SDK's own clock is not used: its time-out looks like an error that a server sent. */
const NO_SDK_TIMEOUT_MS = 2_147_483_647;

/** Takes a result as it came: the SDK's schemas refuse what is new or a little wrong, and the result would be lost. */
const ANY_RESULT = z.record(z.string(), z.unknown());

/** A 400 in these words is about the session; the last ones are the SDK's, of a server that was restarted. */
const SESSION_GONE = /session|server not initiali[sz]ed/i;

/** What a request asks. */
export interface RpcRequest {
  readonly method: 'tools/list' | 'tools/call';
  readonly params: JsonObject;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { readonly message?: string }) => void;
}

/** What a server answers. */
export type RpcAnswer = ({ readonly result: JsonObject } | { readonly error: RpcError }) & {
  /** What it asked a person meanwhile, and was declined. */
  readonly declined?: readonly string[];
};

/** A connection that has been initialised. */
export interface Connection {
  readonly instructions: string | undefined;
  readonly title: string | undefined;
  readonly offersTools: boolean;
  /** False once no request can be sent any more. */
  readonly isOpen: boolean;
  /** Whether any request was answered, be it with an error; a message above the limit is an answer of sorts. */
  readonly hasAnswered: boolean;
  /** When it was lost, by `performance.now()`. */
  readonly closedAtMs: number | undefined;
  /** Raises a fault, an error of the catalogue, or the signal's reason. */
  request(request: RpcRequest): Promise<RpcAnswer>;
  close(): Promise<void>;
}

/** A transport, with what the connection has to know of it. */
export interface ConnectionOptions {
  readonly transport: Transport;
  readonly startTimeoutMs: number;
  /** Ends the start. */
  readonly signal?: AbortSignal;
  /** Hears of what goes wrong beside any request. */
  readonly onTrouble: (error: Error) => void;
  readonly onToolsChanged: () => void;
  /** Answers what the server asks of a person. */
  readonly onElicitation: (request: ElicitRequest) => Promise<ElicitResult>;
  /** Runs before the transport closes, as long as the connection is open. */
  readonly beforeClose?: () => Promise<void>;
  /** Frees what the transport was given. */
  readonly afterClose?: () => Promise<void>;
}

/** Connects and initialises; rejects with what the transport or the SDK raised. The transport is then closing. */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  // An accepted form gets the defaults of its schema from the SDK. Sampling, roots and tasks are not offered.
  const capabilities = { elicitation: { form: { applyDefaults: true } } };
  const client = new Client({ name: 'longshore', version: '1' }, { capabilities });
  const inFlight = new Set<Exchange>();
  let isOpen = true;
  let hasAnswered = false;
  let closedAtMs: number | undefined;
  let fault: Error | undefined;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is no event target: this property is its interface
  client.onerror = (error) => {
    if (error instanceof MessageTooLargeFault) {
      fault = error;
      hasAnswered = true;
    }
    options.onTrouble(error);
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's client is no event target: this property is its interface
  client.onclose = () => {
    isOpen = false;
    closedAtMs = performance.now();
    const reason = fault ?? new LostFault('the connection was lost');
    for (const exchange of inFlight) exchange.end(reason);
  };
  client.setNotificationHandler(ToolListChangedNotificationSchema, options.onToolsChanged);
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    // Over stdio nothing says which call a question belongs to: then it belongs to all that are under way.
    const own = currentExchange.getStore();
    const askers = own === undefined ? [...inFlight] : [own];
    const answer = await options.onElicitation(request);
    if (answer.action !== 'accept') for (const asker of askers) asker.declined.push(request.params.message);
    return answer;
  });
  // Outside of any exchange: what is opened here serves all of them.
  const { startTimeoutMs: timeout, signal } = options;
  await currentExchange.exit(() => client.connect(options.transport, { timeout, ...(signal && { signal }) }));
  return {
    instructions: client.getInstructions(),
    title: client.getServerVersion()?.title,
    offersTools: client.getServerCapabilities()?.tools !== undefined,
    get isOpen() {
      return isOpen;
    },
    get hasAnswered() {
      return hasAnswered;
    },
    get closedAtMs() {
      return closedAtMs;
    },
    request: async (request) => {
      if (!isOpen) throw new NotSentFault('the connection was lost');
      const answer = await ask(client, request, inFlight);
      hasAnswered = true;
      return answer;
    },
    close: async () => {
      if (isOpen) await options.beforeClose?.();
      await client.close();
      await options.transport.close();
      await options.afterClose?.();
    },
  };
}

async function ask(client: Client, request: RpcRequest, inFlight: Set<Exchange>): Promise<RpcAnswer> {
  request.signal.throwIfAborted();
  const exchange = openExchange(request);
  inFlight.add(exchange);
  try {
    const answer = currentExchange.run(exchange, () => send(client, request, exchange));
    const given = await Promise.race([answer, exchange.ended]);
    return exchange.declined.length === 0 ? given : { ...given, declined: exchange.declined };
  } finally {
    inFlight.delete(exchange);
    exchange.dispose();
  }
}

async function send(client: Client, request: RpcRequest, exchange: Exchange): Promise<RpcAnswer> {
  const { method, params } = request;
  try {
    const result = await client.request({ method, params }, ANY_RESULT, {
      signal: exchange.signal,
      timeout: NO_SDK_TIMEOUT_MS,
      onprogress: ({ message }) => {
        exchange.alive();
        request.onProgress?.(message === undefined ? {} : { message });
      },
      onresumptiontoken: () => {
        exchange.isResumable = true;
      },
    });
    // The result was read from JSON.
    return { result: result as JsonObject };
  } catch (error) {
    if (error instanceof McpError) return { error: rpcErrorOf(error) };
    throw faultOf(error);
  }
}

/** The SDK puts `MCP error CODE: ` before what the server said, at the server's end and at this one. */
function rpcErrorOf(error: McpError): RpcError {
  return { code: error.code, message: error.message.replace(/^(?:MCP error -?\d+: )+/, ''), data: error.data };
}

function faultOf(error: unknown): Error {
  if (error instanceof LongshoreError || error instanceof NotSentFault || error instanceof LostFault) return error;
  if (error instanceof MessageTooLargeFault) return error;
  if (error instanceof StreamableHTTPError) return httpFault(error);
  return new LostFault(`the answer could not be read: ${messageOf(error)}`);
}

/** 3xx and 4xx refuse a request unseen; after a 5xx nobody knows. Source: MCP, Streamable HTTP, session management. */
function httpFault(error: StreamableHTTPError): Error {
  const { code = 0 } = error;
  const message = httpWords(error);
  if (code === 404 || (code === 400 && SESSION_GONE.test(error.message))) return new SessionGoneFault(message);
  if (code >= 300 && code < 500) return new RefusedFault(message);
  return new LostFault(message);
}
