// The model over HTTP, in the form of OpenAI's chat completions: `POST /v1/chat/completions`, streamed, one request after
// the other. It has no script: what it sends is what the model writes, piece by piece.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { answerRequest, MOST_TOKENS, type AnswerEnd, type AnswerListener } from './answer.ts';
import { argumentsSchema } from './grammar.ts';
import { CONTEXT_TOKENS, type LocalModel } from './llama.ts';
import { promptOf } from './prompt.ts';
import { parseChatRequest, type ChatRequest } from './request.ts';

/** A running server. */
export interface LocalModelServer {
  /** For `OPENAI_BASE_URL`: `http://127.0.0.1:<port>/v1`. No key is needed. */
  readonly baseUrl: string;
  /** Ends every connection and gives the port back; the model stays loaded. */
  readonly close: () => Promise<void>;
}

/**
 * Serves the model on a free port of the loopback address.
 * A request that it cannot answer gets status 400 and the reason; a fault while it writes ends the stream with an
 * error, and `onFault` hears of it.
 */
export async function startLocalModelServer(
  model: LocalModel,
  onFault: (error: Error) => void,
): Promise<LocalModelServer> {
  let last: Promise<void> = Promise.resolve();
  const server = createServer((request, response) => {
    respond(request, response, model, (work) => (last = last.then(work))).catch((thrown: unknown) => {
      // A client that went away stopped the model itself.
      if (response.destroyed) return;
      const error = thrown instanceof Error ? thrown : new Error(String(thrown));
      onFault(error);
      response.end(`data: ${JSON.stringify({ error: { message: error.message, type: 'server_error' } })}\n\n`);
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    close: async () => {
      const closed = new Promise<void>((resolve, reject) =>
        server.close((error) => (error ? reject(error) : resolve())),
      );
      server.closeAllConnections();
      await closed;
      await last;
    },
  };
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  model: LocalModel,
  inTurn: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  if (request.method !== 'POST' || request.url !== '/v1/chat/completions') {
    refuse(response, 404, `This server has no ${request.method ?? ''} ${request.url ?? ''}.`);
    return;
  }
  let chat: ChatRequest;
  try {
    chat = parseChatRequest(await text(request));
    for (const tool of chat.tools) argumentsSchema(tool);
  } catch (thrown) {
    refuse(response, 400, thrown instanceof Error ? thrown.message : String(thrown));
    return;
  }
  const tokens = model.countTokens(promptOf(chat));
  if (tokens + 2 * MOST_TOKENS > CONTEXT_TOKENS) {
    const message = `This model's maximum context length is ${CONTEXT_TOKENS - 2 * MOST_TOKENS} tokens. However, your messages resulted in ${tokens} tokens.`;
    refuse(response, 400, message, 'context_length_exceeded');
    return;
  }
  const gone = new AbortController();
  response.once('close', () => gone.abort(new Error('The client has gone.')));
  let failure: unknown;
  await inTurn(() => stream(chat, response, model, gone.signal).catch((thrown: unknown) => void (failure = thrown)));
  if (failure !== undefined) throw failure;
}

async function stream(
  chat: ChatRequest,
  response: ServerResponse,
  model: LocalModel,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const frame = {
    id: `chatcmpl-${randomUUID()}`,
    object: 'chat.completion.chunk',
    created: nowSeconds(),
    model: chat.model,
  };
  const send = (event: object): void => void response.write(`data: ${JSON.stringify({ ...frame, ...event })}\n\n`);
  const delta = (given: object, finishReason: AnswerEnd['finishReason'] | null = null): void => {
    send({ choices: [{ index: 0, delta: given, finish_reason: finishReason }] });
  };
  const call = (given: object): void => delta({ tool_calls: [{ index: 0, ...given }] });
  const listener: AnswerListener = {
    onTool: (name) => call({ id: `call_${randomUUID()}`, type: 'function', function: { name, arguments: '' } }),
    onArguments: (piece) => call({ function: { arguments: piece } }),
    onText: (piece) => delta({ content: piece }),
  };
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  delta({ role: 'assistant', content: '' });
  const { finishReason, inputTokens, outputTokens } = await answerRequest(chat, model, listener, signal);
  delta({}, finishReason);
  const usage = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  send({ choices: [], usage });
  response.end('data: [DONE]\n\n');
}

function refuse(response: ServerResponse, status: number, message: string, code: string | null = null): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code } }));
}

function nowSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
