// One large tool result through the Activity `longshoreCallTool`: server, transport, payload, measurement, staged file. Each
// case runs in a process of its own with Temporal's Worker library loaded, whose highest memory is read from the system; one
// runs in a turn of a whole Worker.
// `node bench/mcp-size.ts [--json] [--case NAME]`; Linux only.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createCallTool } from '../activities/call-tool.ts';
import { closeMeasure, warmUpMeasure } from '../activities/measure.ts';
import { createMcpPool } from '../activities/mcp/pool.ts';
import { createLocalStore } from '../activities/store/local.ts';
import type { CallToolInput } from '../shared/activities.ts';
import type { ResultFacts } from '../shared/facts.ts';
import type { McpServerConfig } from '../shared/mcp-config.ts';
import { table } from './lib/stats.ts';
import { runWholeTurn } from './lib/whole-turn.ts';

const MB = 1_000_000;

interface Case {
  readonly name: string;
  readonly mode: 'stdio' | 'json' | 'stream';
  /** A whole Worker that takes it in a turn; else the Activity alone. @default false */
  readonly inTurn?: boolean;
  readonly bytes: number;
  /** @default 'text' */
  readonly form?: 'text' | 'structured' | 'image' | 'resource';
}

const CASES: readonly Case[] = [
  { name: 'nothing', mode: 'stdio', bytes: 0 },
  { name: '50 MB, stdio', mode: 'stdio', bytes: 50 * MB },
  { name: '50 MB, HTTP, JSON', mode: 'json', bytes: 50 * MB },
  { name: '50 MB, HTTP, event stream', mode: 'stream', bytes: 50 * MB },
  { name: '50 MB of structured content, stdio', mode: 'stdio', bytes: 50 * MB, form: 'structured' },
  { name: '50 MB of structured content, HTTP, JSON', mode: 'json', bytes: 50 * MB, form: 'structured' },
  { name: '50 MB of structured content, HTTP, event stream', mode: 'stream', bytes: 50 * MB, form: 'structured' },
  { name: '50 MB of base64 as an image, stdio', mode: 'stdio', bytes: 50 * MB, form: 'image' },
  { name: '50 MB of base64 as a resource, stdio', mode: 'stdio', bytes: 50 * MB, form: 'resource' },
  { name: '50 MB, stdio, in a turn of a whole Worker', mode: 'stdio', bytes: 50 * MB, inTurn: true },
  { name: '200 MB, stdio', mode: 'stdio', bytes: 200 * MB },
  { name: '200 MB, HTTP, JSON', mode: 'json', bytes: 200 * MB },
  { name: '200 MB, HTTP, event stream', mode: 'stream', bytes: 200 * MB },
];

/** What one case came to; memory in MB of 1,000,000 bytes, resident. */
interface Outcome {
  readonly name: string;
  readonly outcome: string;
  readonly stagedBytes: number;
  readonly ms: number;
  readonly beforeMb: number;
  readonly highestMb: number;
  readonly text: string;
}

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, case: { type: 'string' }, child: { type: 'string' } },
});
if (values.child !== undefined) {
  console.log(JSON.stringify(await runCase(caseOf(values.child))));
} else {
  const outcomes: Outcome[] = [];
  for (const { name } of values.case === undefined ? CASES : [caseOf(values.case)]) outcomes.push(await inChild(name));
  if (values.json) console.log(JSON.stringify(outcomes, null, 2));
  else report(outcomes);
}

function caseOf(name: string): Case {
  const found = CASES.find((one) => one.name === name);
  if (found === undefined) throw new Error(`No case ${name}; there are: ${CASES.map((one) => one.name).join(' | ')}`);
  return found;
}

async function inChild(name: string): Promise<Outcome> {
  const args = [fileURLToPath(import.meta.url), '--child', name];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await once(child, 'close');
  // The child prints nothing else.
  return JSON.parse(output) as Outcome;
}

async function runCase(one: Case): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-size-'));
  try {
    return one.inTurn === true ? await runInTurn(one, folder) : await runActivity(one, folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
  }
}

async function runInTurn({ name, bytes, form = 'text' }: Case, folder: string): Promise<Outcome> {
  let [beforeMb, highestMb] = [0, 0];
  const turn = await runWholeTurn(
    { folder, bytes, form },
    {
      between: async (pid) => {
        beforeMb = await memory('VmRSS', pid);
      },
      after: async (pid) => {
        highestMb = await memory('VmHWM', pid);
      },
    },
  );
  return { name, ...turn, beforeMb, highestMb, text: turn.outcome };
}

async function runActivity(one: Case, folder: string): Promise<Outcome> {
  const server = await serverOf(one);
  const pool = createMcpPool({ config: { source: 'bench', servers: { size: server.config } }, env: {}, log: () => {} });
  try {
    await warmUpMeasure();
    const callTool = createCallTool({
      store: createLocalStore({ folder: join(folder, 'store'), namespace: 'bench' }),
      pool,
      askModel: () => Promise.reject(new Error('no model here')),
      prices: {},
      localServers: [],
      redact: (text) => text,
      redactBytes: (bytes) => bytes,
    });
    const run = (input: CallToolInput): Promise<ResultFacts> => new MockActivityEnvironment().run(callTool, input);
    await run(inputOf({ ...one, bytes: 0 }));
    const beforeMb = await memory('VmRSS');
    const start = performance.now();
    const facts = await run(inputOf(one));
    const ms = performance.now() - start;
    const highestMb = await memory('VmHWM');
    const stagedBytes = Math.max(facts.file?.bytes ?? 0, ...facts.blocks.map((block) => block.bytes));
    const text = (facts.inlineText ?? facts.pointer ?? '').slice(0, 400);
    const { name } = one;
    return { name, outcome: facts.outcome, stagedBytes, ms, beforeMb, highestMb, text };
  } finally {
    await pool.close();
    server.stop();
    await closeMeasure();
  }
}

async function serverOf({ mode }: Case): Promise<{ readonly config: McpServerConfig; readonly stop: () => void }> {
  const program = fileURLToPath(new URL('./lib/size-server.ts', import.meta.url));
  if (mode === 'stdio') {
    const config = { type: 'stdio', command: process.execPath, args: [program, mode], env: {} } as const;
    return { config, stop: () => {} };
  }
  const child = spawn(process.execPath, [program, mode], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  const url = `http://127.0.0.1:${port.toString().trim()}/mcp`;
  return { config: { type: 'http', url, headers: {} }, stop: () => child.kill('SIGKILL') };
}

function inputOf({ bytes, form = 'text' }: Case): CallToolInput {
  return {
    turn: { workflowId: 'bench', session: 'bench', turn: 1 },
    callKey: `t1/0/${bytes}`,
    server: 'size',
    tool: 'big',
    arguments: { bytes, form },
    schemaHash: 'none',
    effect: 'read',
    generation: 0,
    perResultTokens: 6_000,
    previewCharacters: 200,
    imageTokens: 1_000,
  };
}

async function memory(field: 'VmRSS' | 'VmHWM', pid: number | 'self' = 'self'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const found = new RegExp(`${field}:\\s+(\\d+) kB`).exec(status);
  return (Number(found?.[1]) * 1024) / MB;
}

function report(outcomes: readonly Outcome[]): void {
  const rows = outcomes.map(({ name, outcome, stagedBytes, ms, beforeMb, highestMb }) => [
    name,
    outcome,
    (stagedBytes / MB).toFixed(1),
    ms.toFixed(0),
    beforeMb.toFixed(0),
    highestMb.toFixed(0),
  ]);
  console.log(table(['result', 'outcome', 'staged MB', 'ms', 'MB before', 'MB at most'], rows));
  for (const { name, outcome, text } of outcomes) if (outcome !== 'ok') console.log(`\n${name}: ${text}`);
}
