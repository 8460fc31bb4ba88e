// A small stdio MCP server for tests, good or bad by its first argument:
// `plain`, `noisy` (prints on stdout and stderr), `mute` (never answers), `exits`, `pages` (a cursor that repeats),
// `bad-schema` (one tool in fifty), `launcher` (a child that holds on; its pid goes to the file in `PID_FILE`),
// `tattles` (unusable tools that show `SECRET` in their names, and in their schemas after 256 characters and more),
// `deaf` (ignores SIGTERM and the end of its input), `deaf-launcher` (both), `dies` (after it has answered `initialize`).
import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema, McpError, type Tool } from '@modelcontextprotocol/sdk/types.js';

const mode = process.argv[2] ?? 'plain';
const object = { type: 'object' as const };
const names = ['echo', 'die', 'slow', 'big', 'progress', 'throw', 'raw', 'env', 'pid', 'ask', 'change', 'print'];
const plain: Tool[] = names.map((name) => ({ name, description: `The tool ${name}`, inputSchema: object }));

function toolsOf(cursor: string | undefined): { tools: Tool[]; nextCursor?: string } {
  if (mode === 'pages') {
    const page = cursor === undefined ? 0 : Number(cursor);
    const tools = Array.from({ length: 50 }, (_, index) => tool(`tool-${Math.min(page * 50 + index, 100)}`));
    return { tools, nextCursor: String(Math.min(page + 1, 2)) };
  }
  if (mode === 'bad-schema') {
    const bad: Tool = { name: 'bad', inputSchema: { ...object, properties: { a: { type: 'strnig' } } } };
    const good = Array.from({ length: 49 }, (_, index) => tool(`good-${index}`));
    return { tools: [...good.slice(0, 20), bad, ...good.slice(20)], nextCursor: '' };
  }
  if (mode === 'tattles') {
    const secret = process.env['SECRET'] ?? '';
    const lengths = Array.from({ length: 20 }, (_, index) => 256 + index);
    return {
      tools: lengths.map((length) => ({
        name: `bad-${length}-${secret}`,
        inputSchema: { ...object, properties: { a: { $ref: `${'x'.repeat(length)}${secret}` } } },
      })),
    };
  }
  return { tools: plain };
}

function tool(name: string): Tool {
  return {
    name,
    inputSchema: { ...object, $defs: { t: { type: 'string' } }, properties: { t: { $ref: '#/$defs/t' } } },
  };
}

function record(text: string): void {
  const file = process.env['RECORD_FILE'];
  if (file !== undefined) appendFileSync(file, `${text}\n`);
}

const server = new Server(
  { name: 'test', version: '1', title: 'A test server' },
  { capabilities: { tools: { listChanged: true } }, instructions: 'Be kind.' },
);

server.setRequestHandler(ListToolsRequestSchema, ({ params }) => toolsOf(params?.cursor));

server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
  const args = params.arguments ?? {};
  const answer = (text: string) => ({ content: [{ type: 'text' as const, text }] });
  record(`called ${params.name}`);
  extra.signal.addEventListener('abort', () => record(`cancelled ${params.name}`));
  if (mode === 'noisy') {
    console.log('a log line on stdout');
    for (let line = 0; line < 5_000; line += 1) console.error(`stderr line ${line} ${process.env['SECRET'] ?? ''}`);
  }
  switch (params.name) {
    case 'echo':
      return { ...answer(String(args['text'])), _meta: { got: JSON.stringify(params._meta) } };
    case 'env':
      return answer(JSON.stringify({ env: process.env, args: process.argv.slice(3), cwd: process.cwd() }));
    case 'pid':
      return answer(String(process.pid));
    case 'die':
      return process.exit(7);
    case 'hush':
      closeSync(1);
      return new Promise<never>(() => {});
    case 'stop-reading':
      // Both pipes stay open, and the process lives: nothing tells the client.
      process.stdin.pause();
      setInterval(() => {}, 60_000);
      record('stopped reading');
      return new Promise<never>(() => {});
    case 'slow':
      await delay(Number(args['ms']));
      return answer('late');
    case 'big':
      return answer('x'.repeat(Number(args['bytes'])));
    case 'progress':
      for (let step = 1; step <= Number(args['steps']); step += 1) {
        await delay(Number(args['everyMs']));
        const progressToken = params._meta?.progressToken ?? '';
        const progress = { progressToken, progress: step, message: `step ${step}` };
        await extra.sendNotification({ method: 'notifications/progress', params: progress });
      }
      return answer('done');
    case 'ask': {
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
      const { action } = await server.elicitInput({
        message: typeof args['message'] === 'string' ? args['message'] : 'Who\nare you?',
        requestedSchema,
      });
      return answer(`it was ${action}`);
    }
    case 'change':
      await server.sendToolListChanged();
      return answer('changed');
    case 'print':
      process.stdout.write((args['lines'] as string[]).map((line) => `${line}\n`).join(''));
      return answer('printed');
    case 'throw':
      throw new McpError(-32_602, 'You asked for the wrong thing', { wanted: ['this', 'that'] });
    case 'raw':
      process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id: extra.requestId, ...args })}\n`);
      return new Promise<never>(() => {});
    default:
      throw new McpError(-32_602, `Tool ${params.name} not found`);
  }
});

if (mode === 'exits') {
  console.error('cannot start: the moon is full');
  process.exitCode = 3;
} else if (mode === 'mute') {
  process.stdin.resume();
} else {
  if (mode === 'noisy') console.log('starting up …');
  if (mode === 'launcher' || mode === 'deaf-launcher') {
    const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM",()=>{});setInterval(()=>{},1e3)'], {
      stdio: 'inherit',
    });
    writeFileSync(process.env['PID_FILE'] ?? '', String(child.pid));
  }
  if (mode === 'deaf' || mode === 'deaf-launcher') {
    process.on('SIGTERM', () => {});
    setInterval(() => {}, 1_000);
  }
  if (mode === 'dies') server.oninitialized = () => process.exit(9);
  record('started');
  await server.connect(new StdioServerTransport());
}
