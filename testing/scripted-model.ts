// A model for tests and examples whose answers come from a function, served over HTTP in the form of OpenAI's chat
// completions, so that everything between an agent and its model is the real thing. It speaks no other part of that API.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen, readBody, sendError, sendJson } from './scripted-model-http.ts';
import { chunksOf, completionOf, DONE_EVENT, eventOf, type ScriptedAnswer } from './scripted-model-wire.ts';

export type { ScriptedAnswer, ScriptedToolCall, ScriptedUsage } from './scripted-model-wire.ts';

/** A message of a request, as it stands in the body. */
export interface ScriptedMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  /** Of a tool's result: the call it answers. */
  readonly tool_call_id?: string;
}

/** A request's body, parsed. */
export interface ScriptedRequest {
  readonly model: string;
  readonly messages: readonly ScriptedMessage[];
  readonly tools?: readonly {
    readonly function: { readonly name: string; readonly description?: string; readonly parameters?: unknown };
  }[];
  readonly stream?: boolean;
  readonly [param: string]: unknown;
}

/**
 * Answers a request; `call` counts from 0 in order of arrival.
 * Contract: may be asynchronous and may be called again before it is done. What it throws is answered with status 500 and
 * kept in `errors`; a client that retries calls it again.
 */
export type ScriptedModel = (request: ScriptedRequest, call: number) => ScriptedAnswer | Promise<ScriptedAnswer>;

/** A running scripted model. */
export interface ScriptedModelServer {
  /** For `OPENAI_BASE_URL`: `http://127.0.0.1:<port>/v1`. No key is needed. */
  readonly baseUrl: string;
  /** Every request so far, in order of arrival. */
  readonly requests: readonly ScriptedRequest[];
  /** What the script threw, and requests that are none; a test should find it empty. */
  readonly errors: readonly Error[];
  /** Ends every connection and gives the port back. */
  readonly close: () => Promise<void>;
}

/**
 * Starts a model that answers as scripted: `POST /v1/chat/completions`, streaming and not, and `GET /v1/models`.
 * Usage is the script's own, else an estimate of bytes / 4 that is marked as one; it is not a count.
 * @param options `port`: 0, the default, takes a free one.
 */
export async function startScriptedModel(
  script: ScriptedModel,
  options: { readonly port?: number } = {},
): Promise<ScriptedModelServer> {
  const requests: ScriptedRequest[] = [];
  const errors: Error[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'GET' && request.url === '/v1/models') {
      sendJson(response, 200, {
        object: 'list',
        data: [{ id: 'scripted', object: 'model', created: 0, owned_by: 'longshore' }],
      });
      return;
    }
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
      throw new Error(`A scripted model does not serve ${request.method ?? ''} ${request.url ?? ''}.`);
    }
    const body = await readBody(request);
    const parsed = parseRequest(body);
    const call = requests.push(parsed) - 1;
    const answer = await script(parsed, call);
    const frame = { call, model: parsed.model, requestBytes: Buffer.byteLength(body) };
    if (parsed.stream === true) sendStream(response, chunksOf(answer, frame));
    else sendJson(response, 200, completionOf(answer, frame));
  };
  const endpoint = await listen((request, response) => {
    respond(request, response).catch((thrown: unknown) => {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      errors.push(error);
      sendError(response, 500, error.message, 'scripted_model_error');
    });
  }, options.port);
  return { ...endpoint, requests, errors };
}

function parseRequest(body: string): ScriptedRequest {
  const parsed: unknown = JSON.parse(body);
  if (typeof parsed !== 'object' || parsed === null || !('messages' in parsed) || !Array.isArray(parsed.messages)) {
    throw new Error('The request has no messages.');
  }
  if (!('model' in parsed) || typeof parsed.model !== 'string') throw new Error('The request names no model.');
  // Proved just above, as far as the type requires; the rest is what the client sent.
  return parsed as unknown as ScriptedRequest;
}

function sendStream(response: ServerResponse, chunks: readonly object[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const chunk of chunks) response.write(eventOf(chunk));
  response.end(DONE_EVENT);
}
