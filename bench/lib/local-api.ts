// An API for tools to call: every request is answered with a small JSON object, and the last one's time is kept.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A running API. */
export interface LocalApi {
  readonly url: string;
  /** When each request came, by `performance.now()`. */
  readonly arrivals: readonly number[];
  readonly close: () => Promise<void>;
}

/** Starts it on a free port. */
export async function startLocalApi(): Promise<LocalApi> {
  const arrivals: number[] = [];
  const server = createServer((request, response) => {
    arrivals.push(performance.now());
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true,"id":"item-1"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // A server that listens on TCP has an address with a port.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
