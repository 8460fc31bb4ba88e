// A server of one tool, `big`, whose answer is so many bytes of text, structured content or base64, sent once: over stdio, or
// over HTTP as JSON or as an event stream. By hand, so that its own memory and time stay small. `node size-server.ts stdio|json|stream`; over HTTP it
// prints its port.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream/promises';

const CHUNK_BYTES = 1024 * 1024;
const mode = process.argv[2] ?? 'stdio';

type Form = 'text' | 'structured' | 'image' | 'resource';

/** What comes before, again and again, and after. */
const FORMS: Readonly<Record<Form, readonly [head: string, row: string, tail: string]>> = {
  text: ['{"content":[{"type":"text","text":"', 'a row of the result, 1234567 and no end\\n', '"}]}'],
  structured: ['{"content":[],"structuredContent":{"rows":[', '{"id":1234567,"name":"a row of the result"},', '{}]}}'],
  image: ['{"content":[{"type":"image","mimeType":"image/png","data":"', 'AAECAwQFBgcICQoL', '"}]}'],
  resource: ['{"content":[{"type":"resource","resource":{"uri":"x:y","blob":"', 'AAECAwQFBgcICQoL', '"}}]}'],
};

interface Rpc {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly arguments?: { readonly bytes?: number; readonly form?: Form } };
}

/** The answer in pieces of a megabyte. */
function* answerOf({ id, method, params }: Rpc): Generator<string> {
  if (method === 'initialize') {
    const serverInfo = { name: 'size', version: '1' };
    const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
    yield JSON.stringify({ jsonrpc: '2.0', id, result });
    return;
  }
  if (method === 'tools/list') {
    const tool = { name: 'big', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } };
    yield JSON.stringify({ jsonrpc: '2.0', id, result: { tools: [tool] } });
    return;
  }
  const { bytes = 0, form = 'text' } = params?.arguments ?? {};
  const [head, row, tail] = FORMS[form];
  const block = row.repeat(Math.ceil(CHUNK_BYTES / row.length));
  yield `{"jsonrpc":"2.0","id":${id},"result":${head}`;
  for (let sent = 0; sent < bytes; sent += block.length) yield block;
  yield `${tail}}`;
}

async function respond(rpc: Rpc, response: ServerResponse): Promise<void> {
  const isStream = mode === 'stream' && rpc.method === 'tools/call';
  response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
  if (!isStream) {
    await pipeline(answerOf(rpc), response);
    return;
  }
  response.write('data: ');
  await pipeline(answerOf(rpc), response, { end: false });
  response.end('\n\n');
}

if (mode === 'stdio') {
  for await (const line of createInterface({ input: process.stdin })) {
    const rpc = JSON.parse(line) as Rpc;
    if (rpc.id === undefined) continue;
    await pipeline(answerOf(rpc), process.stdout, { end: false });
    process.stdout.write('\n');
  }
} else {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString();
    });
    request.on('end', () => {
      const rpc = (body === '' ? {} : JSON.parse(body)) as Rpc;
      if (request.method !== 'POST') response.writeHead(405).end();
      else if (rpc.id === undefined) response.writeHead(202).end();
      // A client that has enough closes the connection.
      else respond(rpc, response).catch(() => response.destroy());
    });
  });
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
}
