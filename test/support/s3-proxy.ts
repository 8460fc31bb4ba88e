// A proxy before an S3 server that does to requests what a test tells it: refuses, hangs, cuts answers off, alters them.
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** What happens to one request. */
export type ProxyAct =
  | { readonly type: 'pass' }
  /** Answered with an error of S3, without asking the server. */
  | { readonly type: 'refuse'; readonly status: number; readonly code: string; readonly message?: string }
  /** Answered with nothing but these headers. */
  | {
      readonly type: 'answer';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Never answered. */
  | { readonly type: 'hang' }
  /** Passed on, and the connection cut after so many bytes of the answer's body; 0: before its first line. */
  | { readonly type: 'cut'; readonly afterBytes: number }
  /** Passed on; where the server answers 412, success is told. */
  | { readonly type: 'ignoreConditions' };

/** One request as the proxy saw it. */
export interface ProxyRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
}

/** A running proxy. */
export interface S3Proxy {
  readonly endpoint: string;
  /** All of them, in order. */
  readonly requests: readonly ProxyRequest[];
  close(): Promise<void>;
}

/** Starts a proxy. `decide` is asked for each request, with how many came before it. */
export async function startS3Proxy(
  target: string,
  decide: (request: ProxyRequest, index: number) => ProxyAct,
): Promise<S3Proxy> {
  const requests: ProxyRequest[] = [];
  const server = http.createServer((incoming, response) => {
    const request = { method: incoming.method ?? '', path: incoming.url ?? '', headers: incoming.headers };
    requests.push(request);
    carryOut(decide(request, requests.length - 1), { target, incoming, response });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Exchange {
  readonly target: string;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
}

function carryOut(act: ProxyAct, exchange: Exchange): void {
  const { incoming, response } = exchange;
  switch (act.type) {
    case 'refuse': {
      const body = `<?xml version="1.0"?><Error><Code>${act.code}</Code><Message>${act.message ?? 'no'}</Message></Error>`;
      answer(incoming, response, { status: act.status, headers: { 'content-type': 'application/xml' }, body });
      return;
    }
    case 'answer':
      answer(incoming, response, act);
      return;
    case 'hang':
      incoming.resume();
      return;
    case 'pass':
    case 'cut':
    case 'ignoreConditions':
      forward(act, exchange);
  }
}

function answer(
  incoming: IncomingMessage,
  response: ServerResponse,
  {
    status,
    headers = {},
    body = '',
  }: { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string },
): void {
  incoming.resume().on('end', () => response.writeHead(status, headers).end(body));
}

function forward(act: ProxyAct, { target, incoming, response }: Exchange): void {
  const { method, headers } = incoming;
  const upstream = http.request(`${target}${incoming.url ?? ''}`, { method, headers, agent: false }, (answered) => {
    if (act.type === 'cut') {
      cutOff(answered, response, act.afterBytes);
      return;
    }
    const isHidden = act.type === 'ignoreConditions' && answered.statusCode === 412;
    response.writeHead(isHidden ? 200 : (answered.statusCode ?? 502), isHidden ? { etag: '"x"' } : answered.headers);
    if (isHidden) answered.resume().on('end', () => response.end());
    else answered.pipe(response);
  });
  upstream.on('error', () => response.destroy());
  incoming.pipe(upstream);
}

function cutOff(answered: IncomingMessage, response: ServerResponse, afterBytes: number): void {
  let left = afterBytes;
  if (left > 0) response.writeHead(answered.statusCode ?? 502, answered.headers);
  answered.on('data', (chunk: Buffer) => {
    if (left > 0) response.write(chunk.subarray(0, left));
    left -= chunk.length;
    if (left <= 0) setImmediate(() => response.destroy());
  });
  answered.on('end', () => response.destroy());
}
