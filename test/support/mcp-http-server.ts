// A Streamable HTTP server for tests, by hand, so that it can do what no library lets one do: cut streams, end them without an
// answer, forget sessions, refuse. Each tool is one behaviour.
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

import { onTestFinished } from 'vitest';

import type { JsonObject } from '../../shared/json.ts';

/** A request as it came. */
interface SeenRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly rpc: string | undefined;
  /** By `performance.now()`. */
  readonly atMs: number;
}

/** The running server. */
export interface HttpTestServer {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** The server no longer knows any session. */
  forgetSessions(status: 404 | 400): void;
  /** How many calls of `held` wait for their answer. */
  heldCount(): number;
  /** Answers them. */
  release(): void;
  /** Ends idle connections and takes no new one; calls under way go on. */
  refuseConnections(): void;
  stop(): Promise<void>;
}

interface Rpc {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: JsonObject };
}

interface State {
  readonly standing: string | undefined;
  readonly tools: () => readonly object[];
  readonly seen: SeenRequest[];
  readonly sessions: Set<string>;
  gone: number;
  held: (() => void)[];
}

/** What a server does beside its tools. */
interface HttpServerOptions {
  /** What is sent on the stream for news before it ends; without it there is no such stream. */
  readonly standing?: string;
  /** What it lists at the moment. @default none */
  readonly tools?: () => readonly object[];
}

/** Starts on a free port; stopped when the test has ended. */
export async function startHttpServer({ standing, tools = () => [] }: HttpServerOptions = {}): Promise<HttpTestServer> {
  const state: State = { standing, tools, seen: [], sessions: new Set(), gone: 404, held: [] };
  const server = createServer((request, response) => {
    void handle(request, response, state);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => stop(server));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen: state.seen,
    forgetSessions: (status) => {
      state.gone = status;
      state.sessions.clear();
    },
    heldCount: () => state.held.length,
    release: () => {
      for (const answer of state.held.splice(0)) answer();
    },
    refuseConnections: () => {
      server.close();
      server.closeIdleConnections();
    },
    stop: () => stop(server),
  };
}

async function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
}

async function handle(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const rpc = (chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString())) as Rpc;
  const method = request.method ?? '';
  state.seen.push({ method, headers: request.headers, rpc: rpc.method, atMs: performance.now() });
  if (request.url === '/none') {
    response.writeHead(401).end();
    return;
  }
  if (rpc.method === 'initialize') {
    const session = `session-${state.seen.length}`;
    state.sessions.add(session);
    response.setHeader('mcp-session-id', session);
    const serverInfo = { name: 'http', version: '1' };
    sendJson(response, {
      id: rpc.id,
      result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
    });
    return;
  }
  if (!state.sessions.has(String(request.headers['mcp-session-id']))) {
    response.writeHead(state.gone, { 'content-type': 'text/plain' }).end('No valid session');
    return;
  }
  if (method === 'GET' && request.headers['last-event-id'] !== undefined) {
    resume(response, String(request.headers['last-event-id']));
    return;
  }
  if (method === 'GET' && state.standing !== undefined) events(response).end(state.standing);
  else if (method !== 'POST') response.writeHead(405).end();
  else if (rpc.id === undefined) response.writeHead(202).end();
  else act(rpc, response, { authorization: String(request.headers['authorization']), state });
}

interface Scene {
  readonly authorization: string;
  readonly state: State;
}

function act(rpc: Rpc, response: ServerResponse, { authorization, state }: Scene): void {
  const answer = { id: rpc.id, result: { content: [{ type: 'text', text: 'answer' }] } };
  const args = rpc.params?.arguments ?? {};
  const behaviours: Readonly<Record<string, () => void>> = {
    '': () => sendJson(response, { id: rpc.id, result: { tools: state.tools() } }),
    json: () => sendJson(response, answer),
    stream: () => events(response).end(event(answer)),
    // An event stream that breaks after its head, by a cut or a proper end.
    cut: () => events(response).write(': hello\n\n', () => response.destroy()),
    end: () => events(response).end(': bye\n\n'),
    // The same with an id, so that the stream may be taken up again.
    resumable: () => events(response).end(`id: good-${rpc.id}\ndata: \n\n`),
    endless: () => events(response).end('id: endless\nretry: 0\ndata: \n\n'),
    gone: () => events(response).end('id: bad\ndata: \n\n'),
    big: () =>
      sendJson(response, {
        id: rpc.id,
        result: { content: [{ type: 'text', text: 'x'.repeat(Number(args['bytes'])) }] },
      }),
    bigStream: () => {
      const result = { content: [{ type: 'text', text: 'x'.repeat(Number(args['bytes'])) }] };
      events(response).write('id: big\ndata: \n\n');
      response.end(event({ id: rpc.id, result }));
    },
    garbage: () => response.writeHead(200, { 'content-type': 'application/json' }).end('{"oops'),
    html: () => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Hello</p>'),
    refused: () => response.writeHead(403).end('You may not'),
    broken: () => response.writeHead(502).end('Bad gateway'),
    // What a server should never do with a token.
    echoes: () =>
      sendJson(response, { id: rpc.id, result: { content: [{ type: 'text', text: `You are ${authorization}` }] } }),
    betrays: () => sendJson(response, { id: rpc.id, error: { code: -32_000, message: `Not you, ${authorization}` } }),
    refuses: () => response.writeHead(403).end(`Not you, ${authorization}`),
    hangs: () => {},
    held: () => void state.held.push(() => sendJson(response, answer)),
    heldStream: () => {
      events(response).write(': hello\n\n');
      state.held.push(() => response.end(event(answer)));
    },
    status: () =>
      response.writeHead(Number(args['status']), { 'content-type': 'text/plain' }).end(JSON.stringify(args['text'])),
  };
  behaviours[rpc.params?.name ?? '']?.();
}

function resume(response: ServerResponse, eventId: string): void {
  if (eventId === 'endless') {
    events(response).end('id: endless\nretry: 0\ndata: \n\n');
    return;
  }
  if (!eventId.startsWith('good-')) {
    response.writeHead(500).end();
    return;
  }
  events(response).end(
    event({ id: Number(eventId.slice(5)), result: { content: [{ type: 'text', text: 'resumed' }] } }),
  );
}

function sendJson(response: ServerResponse, message: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

function events(response: ServerResponse): ServerResponse {
  return response.writeHead(200, { 'content-type': 'text/event-stream' });
}

function event(message: object): string {
  return `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
}
