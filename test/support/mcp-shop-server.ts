// A stdio MCP server whose tools stand in a file that a test writes, so that they can change while it runs:
// `node mcp-shop-server.ts STATE_FILE LOG_FILE`. It logs a line for each start, listing and call. Its tool `publish`, if it has
// one, puts the file's `next` state in place and says that the list has changed.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ShopState } from './shop.ts';

const [stateFile = '', logFile = ''] = process.argv.slice(2);
const state = (): ShopState => JSON.parse(readFileSync(stateFile, 'utf8')) as ShopState;
const record = (line: string): void => appendFileSync(logFile, `${line}\n`);
const send = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

interface Request {
  readonly id?: number;
  readonly method: string;
  readonly params: {
    readonly protocolVersion?: string;
    readonly name?: string;
    readonly arguments?: Record<string, unknown>;
  };
}

function called(name: string, args: Record<string, unknown>): string {
  const { next } = state();
  if (name === 'publish' && next) {
    writeFileSync(stateFile, JSON.stringify(next));
    send({ method: 'notifications/tools/list_changed' });
  }
  const text = `${name} of ${JSON.stringify(args)}\n`;
  return typeof args['times'] === 'number' ? text.repeat(args['times']) : text;
}

function answer({ id, method, params }: Request): void {
  if (method === 'initialize') {
    const { protocolVersion } = params;
    const serverInfo = { name: 'shop', version: '1' };
    send({ id, result: { protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo } });
  } else if (method === 'tools/list') {
    record('listed');
    const { tools, isHeld } = state();
    if (isHeld !== true) send({ id, result: { tools } });
  } else if (method === 'tools/call') {
    const { name = '', arguments: args = {} } = params;
    record(`called ${name} ${JSON.stringify(args)}`);
    send({ id, result: { content: [{ type: 'text', text: called(name, args) }] } });
  } else if (id !== undefined) {
    send({ id, result: {} });
  }
}

record('started');
if (state().isDown === true) process.exit(1);
createInterface({ input: process.stdin }).on('line', (line) => answer(JSON.parse(line) as Request));
