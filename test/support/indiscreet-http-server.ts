// An MCP server over HTTP that shows the token it was called with wherever it can: in results, in a response header, in the
// error of a call, and in the header and body of a refusal. Each tool is one behaviour.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The running server. */
export interface IndiscreetServer {
  readonly url: string;
  /** The `authorization` of every request, and the arguments of every call. */
  readonly seen: readonly { readonly authorization: string; readonly arguments?: unknown }[];
  stop(): Promise<void>;
}

interface Rpc {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly arguments?: unknown };
}

/** Starts on a free port. */
export async function startIndiscreetServer(): Promise<IndiscreetServer> {
  const seen: { authorization: string; arguments?: unknown }[] = [];
  const server = createServer((request, response) => {
    void answer(request, response, seen);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  // A listening TCP server has an address of this form.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  seen: { authorization: string; arguments?: unknown }[],
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const rpc = (chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks).toString())) as Rpc;
  const authorization = String(request.headers['authorization']);
  seen.push({ authorization, ...(rpc.params?.name !== undefined && { arguments: rpc.params.arguments }) });
  response.setHeader('x-token', authorization);
  if (request.method !== 'POST') response.writeHead(405).end();
  else if (rpc.id === undefined) response.writeHead(202).end();
  else if (rpc.params?.name === 'refuse') {
    response.setHeader('www-authenticate', `Bearer realm="${authorization}", error_description="${authorization}"`);
    response.writeHead(403).end(`Not you, ${authorization}`);
  } else sendJson(response, { id: rpc.id, ...resultOf(rpc, authorization) });
}

function resultOf({ method, params }: Rpc, authorization: string): object {
  const text = `You are ${authorization}`;
  const tool = (name: string) => ({ name, description: text, inputSchema: { type: 'object' } });
  if (method === 'initialize') {
    const serverInfo = { name: 'indiscreet', version: authorization };
    const capabilities = { tools: {} };
    return { result: { protocolVersion: '2025-06-18', capabilities, serverInfo, instructions: text } };
  }
  if (method === 'tools/list') return { result: { tools: ['tell', 'betray', 'refuse'].map(tool) } };
  if (params?.name === 'betray') return { error: { code: -32_000, message: text } };
  return { result: { content: [{ type: 'text', text: text.repeat(2_000) }], _meta: { token: authorization } } };
}

function sendJson(response: ServerResponse, message: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}
