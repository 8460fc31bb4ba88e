// The servers of tools, outside of the Workers: a ledger that honours no idempotency keys and counts every posting, and
// orders that honour them. Every effect is a line in an append-only file, synced before the answer.
import fs from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ARCHIVE_TEXT } from './script.ts';

/** Told of a call before and after what it does; the call waits for it. */
export type EffectHook = (tool: string, moment: 'before' | 'after') => Promise<void>;

/** The servers of one trial, as it looks at them. */
export interface TrialEffects {
  /** For the Workers' plan. */
  readonly url: string;
  /** Every call that arrived, by `tool key`. */
  requests(): readonly string[];
  /** Every effect that was done, by `tool key`, as the file has it. */
  effects(): readonly string[];
}

/** All servers of all trials, on one port. */
export interface EffectServers {
  open(trial: string, file: string, hook: EffectHook): TrialEffects;
  close(): Promise<void>;
}

interface Ledger {
  readonly requests: string[];
  readonly file: string;
  readonly hook: EffectHook;
}

/** Starts the servers on a free port. */
export async function startEffectServers(): Promise<EffectServers> {
  const ledgers = new Map<string, Ledger>();
  const http = createServer((request, response) => {
    serve(request, response, ledgers).catch((thrown: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(String(thrown));
    });
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  const { port } = http.address() as AddressInfo;
  return {
    open(trial, file, hook) {
      const ledger: Ledger = { requests: [], file, hook };
      ledgers.set(trial, ledger);
      return {
        url: `http://127.0.0.1:${port}/${trial}`,
        requests: () => [...ledger.requests],
        effects: () => linesOf(file),
      };
    },
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => {
        http.close(resolve);
      });
    },
  };
}

/** The lines of a file; none where there is none yet. */
export function linesOf(file: string): readonly string[] {
  if (!fs.existsSync(file)) return [];
  return fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '');
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  ledgers: ReadonlyMap<string, Ledger>,
): Promise<void> {
  const [, trial = '', name = ''] = (request.url ?? '').split('/');
  const ledger = ledgers.get(trial);
  if (!ledger || request.method !== 'POST') {
    response.writeHead(ledger ? 405 : 404).end();
    return;
  }
  const server = name === 'orders' ? ordersServer(ledger) : ledgerServer(ledger);
  // Without a session, as the SDK has it for servers without state: one transport a request.
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  response.on('close', () => {
    void transport.close();
    void server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

function ledgerServer(ledger: Ledger): McpServer {
  const server = new McpServer({ name: 'ledger', version: '1' });
  const reads = { annotations: { readOnlyHint: true } };
  server.registerTool('balance', { description: 'Reads the balance.', ...reads }, async (extra) =>
    work(ledger, { tool: 'balance', extra }, () => 'the balance is 4711'),
  );
  server.registerTool('archive', { description: 'Reads the whole archive.', ...reads }, async (extra) =>
    work(ledger, { tool: 'archive', extra }, () => ARCHIVE_TEXT),
  );
  server.registerTool('post', { description: 'Posts an entry.' }, async (extra) =>
    work(ledger, { tool: 'post', extra }, (key) => {
      appendSynced(ledger.file, `post ${key}`);
      return 'posted';
    }),
  );
  return server;
}

function ordersServer(ledger: Ledger): McpServer {
  const server = new McpServer({ name: 'orders', version: '1' });
  server.registerTool('place', { description: 'Places an order, once a key.' }, async (extra) =>
    work(ledger, { tool: 'place', extra }, (key) => {
      const line = `place ${key}`;
      if (!linesOf(ledger.file).includes(line)) appendSynced(ledger.file, line);
      return 'placed';
    }),
  );
  return server;
}

interface Call {
  readonly tool: string;
  readonly extra: { readonly _meta?: { readonly [name: string]: unknown } | undefined };
}

async function work(
  { requests, hook }: Ledger,
  { tool, extra }: Call,
  act: (key: string) => string,
): Promise<{ content: { type: 'text'; text: string }[] }> {
  const key = String(extra._meta?.['longshore/idempotency-key']);
  requests.push(`${tool} ${key}`);
  await hook(tool, 'before');
  const text = act(key);
  await hook(tool, 'after');
  return { content: [{ type: 'text', text }] };
}

function appendSynced(file: string, line: string): void {
  fs.appendFileSync(file, `${line}\n`, { flush: true });
}
