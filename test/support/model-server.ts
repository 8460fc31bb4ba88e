// A model server for tests that misbehaves as told: a queue of behaviours, one a request. A request without a behaviour is
// answered 500 and makes `assertDone` fail, and so does a behaviour that nobody asked for.
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { listen, readBody, sendError } from '../../testing/scripted-model-http.ts';
import type { ScriptedRequest } from '../../testing/scripted-model.ts';
import { chunksOf, DONE_EVENT, eventOf, type ScriptedAnswer } from '../../testing/scripted-model-wire.ts';

/** What the server does with one request. */
export type ModelBehaviour =
  /** A streamed answer. */
  | { readonly type: 'answer'; readonly answer: ScriptedAnswer; readonly withoutUsage?: boolean }
  /** A stream of given chunks, as they are. */
  | { readonly type: 'chunks'; readonly chunks: readonly object[] }
  /** Any other answer, whole. */
  | {
      readonly type: 'body';
      readonly status: number;
      readonly body: string | object;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** The first events of an answer, then the end of the stream, or a broken connection. */
  | { readonly type: 'cut'; readonly answer: ScriptedAnswer; readonly after: number; readonly how: 'end' | 'reset' }
  /** The first events of an answer, then text that is no event of one. */
  | { readonly type: 'garbage'; readonly answer: ScriptedAnswer; readonly after: number; readonly text: string }
  /** Nothing at all, or the first events or a text and nothing more, until the client gives up. */
  | { readonly type: 'hang'; readonly answer?: ScriptedAnswer; readonly after?: number; readonly text?: string };

/** A request as it came. */
interface RecordedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly url: string;
  readonly text: string;
  readonly body: ScriptedRequest;
}

/** A running model server. */
export interface ModelServer {
  readonly baseUrl: string;
  /** `OPENAI_BASE_URL` and a key. */
  readonly env: { readonly OPENAI_BASE_URL: string; readonly OPENAI_API_KEY: string };
  readonly requests: readonly RecordedRequest[];
  readonly enqueue: (...behaviours: readonly ModelBehaviour[]) => void;
  /** Settles when a `hang` has begun to hang. */
  readonly hanging: () => Promise<void>;
  /** Settles when the client of a `hang` has gone. */
  readonly abandoned: () => Promise<void>;
  /** @throws Error if a request was not expected, or a behaviour was not asked for. */
  readonly assertDone: () => void;
  readonly close: () => Promise<void>;
}

/** The key that tests use, and look for where it must not be. */
export const TEST_KEY = 'sk-test-4f9d2c1b7a6e5d8c9b0a';

/** Starts a model server with a queue of behaviours. */
export async function startModelServer(...behaviours: readonly ModelBehaviour[]): Promise<ModelServer> {
  const queue = [...behaviours];
  const requests: RecordedRequest[] = [];
  const unexpected: string[] = [];
  const hanging = Promise.withResolvers<void>();
  const abandoned = Promise.withResolvers<void>();
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await readBody(request);
    const url = request.url ?? '';
    const behaviour = queue.shift();
    if (behaviour === undefined || request.method !== 'POST' || url !== '/v1/chat/completions') {
      unexpected.push(`${request.method ?? ''} ${url}`);
      sendError(response, 500, 'unexpected request', 'test');
      return;
    }
    // A cast, since tests assert on what it holds; a request without messages fails them.
    const body = JSON.parse(text) as ScriptedRequest;
    const call = requests.push({ headers: request.headers, url, text, body }) - 1;
    if (behaviour.type === 'hang') {
      response.once('close', abandoned.resolve);
      if (behaviour.answer !== undefined) writeEvents(response, behaviour.answer, behaviour.after ?? 1, call);
      if (behaviour.text !== undefined) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(behaviour.text);
      }
      hanging.resolve();
    } else behave(response, behaviour, call);
  };
  const endpoint = await listen((request, response) => {
    respond(request, response).catch((error: unknown) => {
      unexpected.push(String(error));
      response.destroy();
    });
  });
  return {
    ...endpoint,
    env: { OPENAI_BASE_URL: endpoint.baseUrl, OPENAI_API_KEY: TEST_KEY },
    requests,
    enqueue: (...more) => queue.push(...more),
    hanging: () => hanging.promise,
    abandoned: () => abandoned.promise,
    assertDone: () => {
      if (unexpected.length > 0) throw new Error(`Unexpected requests: ${unexpected.join(', ')}`);
      if (queue.length > 0) throw new Error(`Not asked for: ${queue.map((left) => left.type).join(', ')}`);
    },
  };
}

function behave(response: ServerResponse, behaviour: Exclude<ModelBehaviour, { type: 'hang' }>, call: number): void {
  switch (behaviour.type) {
    case 'answer': {
      const chunks = answerChunks(behaviour.answer, call);
      writeChunks(response, behaviour.withoutUsage === true ? chunks.slice(0, -1) : chunks);
      response.end(DONE_EVENT);
      return;
    }
    case 'chunks':
      writeChunks(response, behaviour.chunks);
      response.end(DONE_EVENT);
      return;
    case 'body': {
      const { status, body, headers } = behaviour;
      const isText = typeof body === 'string';
      response.writeHead(status, { ...(isText ? {} : { 'content-type': 'application/json' }), ...headers });
      response.end(isText ? body : JSON.stringify(body));
      return;
    }
    case 'cut':
      writeEvents(response, behaviour.answer, behaviour.after, call);
      if (behaviour.how === 'end') response.end();
      // Once what was written is on its way, so that the client sees the beginning.
      else response.write(': last\n\n', () => response.destroy());
      return;
    case 'garbage':
      writeEvents(response, behaviour.answer, behaviour.after, call);
      response.end(behaviour.text);
  }
}

function answerChunks(answer: ScriptedAnswer, call: number): object[] {
  return chunksOf(answer, { call, model: 'served-model', requestBytes: 0 });
}

function writeEvents(response: ServerResponse, answer: ScriptedAnswer, after: number, call: number): void {
  writeChunks(response, answerChunks(answer, call).slice(0, after));
}

function writeChunks(response: ServerResponse, chunks: readonly object[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunks) response.write(eventOf(chunk));
}
