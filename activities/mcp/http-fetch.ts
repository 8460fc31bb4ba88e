// The `fetch` under the SDK's Streamable HTTP transport: expands headers at every request, tells a request that cannot
// have arrived from one that may have, bounds messages, and notices an answer's stream that ends without an answer (the
// SDK would wait for ever).
import { Agent, fetch as undiciFetch } from 'undici';

import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';

import { messageOf } from '../../shared/errors.ts';
import { ByteStore, textOnce } from './byte-store.ts';
import { collectAfter } from './collect-garbage.ts';
import { currentExchange, type Exchange } from './exchange.ts';
import { EventLines } from './event-lines.ts';
import { LostFault, MessageTooLargeFault, NotSentFault } from './faults.ts';
import { LARGE_MESSAGE_BYTES, shrink } from './large-values.ts';

/** How often the SDK takes up a broken stream again. */
export const MOST_RESUMPTIONS = 2;
/** What has been read when a stream ends may still be on its way to the one who waits. */
const SETTLE_MS = 100;

const EVENT_STREAM = /^text\/event-stream\b/i;
const JSON_BODY = /^application\/json\b/i;

/** Errors that say no connection was made. */
const NOT_CONNECTED: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'ERR_INVALID_URL',
]);

interface FetchOptions {
  /** The configured headers, expanded; raises `EnvironmentMissing`. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly maxMessageBytes: number;
}

/** A `fetch` for one server, and what frees its sockets. */
export interface ServerFetch {
  readonly fetch: FetchLike;
  readonly close: () => Promise<void>;
}

/** Makes the `fetch` of a server. */
export function createServerFetch(options: FetchOptions): ServerFetch {
  // Node's own limits (300 s to the first byte, 300 s between two) would cut long calls; deadlines are the exchange's.
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  const send = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(options.headers())) headers.set(name, value);
    // Both follow the same standard; only their nominal types differ.
    const request = { ...init, headers: Object.fromEntries(headers), dispatcher } as Parameters<typeof undiciFetch>[1];
    return undiciFetch(url, request);
  };
  let isMuted = false;
  const mute = (): void => {
    isMuted = true;
  };
  return {
    fetch: async (url, init) => {
      const exchange = currentExchange.getStore();
      const isResumption = new Headers(init?.headers).has('last-event-id');
      // Nobody waits for this answer any more: "no stream here" ends the SDK's attempts to read it.
      if (exchange?.isOver === true && isResumption) return new Response(null, { status: 405 });
      const isStanding = exchange === undefined && init?.method === 'GET';
      if (isStanding && isMuted) return new Response(null, { status: 405 });
      const response = await send(url, init).catch((error: unknown) => {
        if (exchange !== undefined && isResumption) resumptionFailed(exchange);
        throw networkFault(error);
      });
      if (exchange !== undefined && isResumption && !response.ok) resumptionFailed(exchange, response.status);
      if (response.body === null) return response;
      const type = response.headers.get('content-type') ?? '';
      const isAnswer = response.ok && (init?.method === 'POST' || isResumption);
      const body = watched(response.body, {
        limitBytes: options.maxMessageBytes,
        ...(EVENT_STREAM.test(type) && { lines: new EventLines(options.maxMessageBytes) }),
        ...(isAnswer && exchange !== undefined && { exchange }),
        ...(isStanding && { onTooLarge: mute }),
      });
      const { status, headers } = response;
      if (!isAnswer || !JSON_BODY.test(type)) {
        return new Response(body, { status, headers });
      }
      // The SDK reads such an answer with `json` alone.
      const json = (): Promise<unknown> => readJson(body, options.maxMessageBytes);
      return Object.defineProperty(new Response(null, { status, headers }), 'json', { value: json });
    },
    close: () => dispatcher.destroy(),
  };
}

const failures = new WeakMap<Exchange, number>();

function resumptionFailed(exchange: Exchange, status?: number): void {
  const count = (failures.get(exchange) ?? 0) + 1;
  failures.set(exchange, count);
  if (count < MOST_RESUMPTIONS && status !== 405) return;
  exchange.end(new LostFault('the stream of the answer broke and could not be taken up again'));
}

function networkFault(error: unknown): unknown {
  if (!(error instanceof TypeError)) return error;
  const { cause } = error;
  const codes = cause instanceof AggregateError ? cause.errors.map(codeOf) : [codeOf(cause)];
  const why = codes.find((code) => code !== undefined) ?? messageOf(cause ?? error);
  const isNotSent = codes.every((code) => code !== undefined && (NOT_CONNECTED.has(code) || /CERT|TLS/.test(code)));
  return isNotSent ? new NotSentFault(`no connection (${why})`) : new LostFault(`the connection broke (${why})`);
}

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

interface Watch {
  readonly limitBytes: number;
  /** Cuts an event stream into lines. */
  readonly lines?: EventLines;
  /** Whose answer the body is to bring. */
  readonly exchange?: Exchange;
  /** The stream for news outside of any exchange sent too much: it is not opened again. */
  readonly onTooLarge?: () => void;
}

/** The same body up to the limit, large values of events taken out; a message above it and an end without an answer end the exchange. */
function watched(
  body: ReadableStream<Uint8Array>,
  { limitBytes, lines, exchange, onTooLarge }: Watch,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let messageBytes = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        // A pull that gives nothing is not repeated.
        for (let passed = 0; passed === 0;) {
          const { done, value } = await reader.read();
          if (done) {
            if (exchange !== undefined) bodyEnded(exchange);
            controller.close();
            return;
          }
          messageBytes = bytesSinceBoundary(value, messageBytes);
          if (messageBytes > limitBytes) throw new MessageTooLargeFault(limitBytes);
          for (const piece of lines?.append(value) ?? [value]) {
            controller.enqueue(piece);
            passed += 1;
          }
        }
      } catch (error) {
        if (error instanceof MessageTooLargeFault) {
          onTooLarge?.();
          exchange?.end(error);
        } else if (exchange !== undefined) bodyEnded(exchange);
        await reader.cancel(error).catch(() => {});
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** As `Response.json`, with one copy of a large body in memory instead of three. */
async function readJson(body: ReadableStream<Uint8Array>, limitBytes: number): Promise<unknown> {
  const store = new ByteStore(limitBytes);
  for await (const chunk of body) {
    // Blank lines in a JSON text make the count of the stream begin anew.
    if (store.sizeBytes + chunk.length > limitBytes) throw new MessageTooLargeFault(limitBytes);
    store.add(chunk);
  }
  const { value, sizeBytes } = parseAll(store.take());
  collectAfter(sizeBytes);
  return value;
}

/** A frame of its own: when it has returned, nothing holds the text any more. */
function parseAll(bytes: Buffer): { readonly value: unknown; readonly sizeBytes: number } {
  const text = (bytes.length > LARGE_MESSAGE_BYTES ? shrink(bytes) : undefined) ?? textOnce(bytes);
  return { value: JSON.parse(text), sizeBytes: text.length };
}

function bodyEnded(exchange: Exchange): void {
  setTimeout(() => {
    if (!exchange.isResumable) exchange.end(new LostFault('the stream of the answer ended without one'));
  }, SETTLE_MS);
}

/** An empty line ends a server-sent event; a JSON body has none, or its size is counted from there, which is as well. */
function bytesSinceBoundary(chunk: Uint8Array, before: number): number {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const boundary = Math.max(bytes.lastIndexOf('\n\n'), bytes.lastIndexOf('\n\r\n'));
  return boundary === -1 ? before + bytes.length : bytes.length - boundary;
}
