// The HTTP side of servers that stand in for a model: a port of their own, bodies read, connections closed at the end.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** A running server. */
export interface HttpEndpoint {
  /** As `OPENAI_BASE_URL` wants it: `http://127.0.0.1:<port>/v1`. */
  readonly baseUrl: string;
  /** Ends every connection and gives the port back; a second time does nothing. */
  readonly close: () => Promise<void>;
}

/** Listens on the loopback address. @default port 0, one that is free */
export async function listen(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  port: number = 0,
): Promise<HttpEndpoint> {
  const server = createServer(handle);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The server has no port.');
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise<void>((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())));
    server.closeAllConnections();
    await closed;
  };
  return { baseUrl: `http://127.0.0.1:${address.port}/v1`, close };
}

/** The whole body as text. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  // A cast, since Node types the chunks of a request as `any`; without an encoding they are buffers.
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

/** Answers with JSON. */
export function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Answers with an error in OpenAI's form. */
export function sendError(response: ServerResponse, status: number, message: string, type: string): void {
  sendJson(response, status, { error: { message, type, param: null, code: null } });
}
