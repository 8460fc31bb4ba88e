// H4 and H1's shape: what a step costs beside a bare Workflow with the same two Activities, and how history grows.
// Usage: node bench/turn.ts [--steps 40] [--rounds 6] [--json]
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { createMcpPool } from '../activities/mcp/pool.ts';
import { createAskModel } from '../activities/model/ask.ts';
import { sandboxListing } from '../activities/sandbox/server.ts';
import { startTurn } from '../client/turns.ts';
import type { JsonValue } from '../shared/json.ts';
import { requireSpec } from '../shared/spec-check.ts';
import { startScriptedModel } from '../testing/scripted-model.ts';
import { attachDevServer } from '../worker/dev-server.ts';
import { openHome } from '../worker/home.ts';
import { defineLocalServer, defineLocalTool, LongshorePlugin } from '../worker/index.ts';

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '6' },
    json: { type: 'boolean' },
  },
});
const steps = Number(values.steps);
const rounds = Number(values.rounds);
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
Runtime.install({ logger: quiet, shutdownSignals: [] });

let serverPid: string | undefined;

/** How large the tool's result is, and how many steps a turn makes; set before each run. */
const plan = { resultBytes: 200, steps };
const words = 'alpha beta gamma delta epsilon zeta eta theta iota kappa '.repeat(200);

const model = await startScriptedModel(({ messages }) => {
  const answered = messages.filter((message) => message.role === 'tool').length;
  if (answered >= plan.steps) return { text: 'done' };
  return { toolCalls: [{ name: 'bench__fetch', arguments: { page: answered } }] };
});
const server = defineLocalServer({
  name: 'bench',
  tools: [
    defineLocalTool({
      name: 'fetch',
      description: 'One page.',
      inputSchema: z.object({ page: z.number() }),
      annotations: { readOnlyHint: true },
      run: ({ page }) => `${page} ${words}`.slice(0, plan.resultBytes),
    }),
  ],
});
const folder = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
const home = await openHome({ LONGSHORE_HOME: folder }, folder);
const lease = await attachDevServer(home, { kind: 'dev', log: () => {} });
const taskQueue = 'bench';
const env = { OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'none' };
const native = await NativeConnection.connect({ address: lease.address });
const connection = await Connection.connect({
  address: lease.address,
  channelArgs: { 'grpc.max_receive_message_length': 256 * 1024 * 1024 },
});
const client = new Client({ connection });
const plugin = new LongshorePlugin({ store: { folder: home.storeFolder }, localServers: [server], env, log: () => {} });
const worker = await Worker.create({
  connection: native,
  taskQueue,
  workflowsPath: fileURLToPath(new URL('./workflows/index.ts', import.meta.url)),
  plugins: [plugin],
  activities: bareActivities(),
});
const spec = requireSpec(
  {
    model: { name: 'openai/scripted' },
    mcp_servers: [{ name: 'bench', preload: true }],
    config: { iteration_limit: 1024 },
  },
  'the benchmark',
);

/** The same model request and the same tool, through the same client code, and nothing kept. */
function bareActivities(): Record<string, (step: number) => Promise<unknown>> {
  const askModel = createAskModel({ env });
  const pool = createMcpPool({ config: { source: 'bench', servers: {} }, localServers: [server], log: () => {} });
  const conversation: string[] = [];
  // What the agent's requests carry too: the tools of the built-in server, and the benchmark's own.
  const tools = [
    ...sandboxListing().tools.map(({ name, description = '', inputSchema }) => ({
      name: `sandbox__${name}`,
      description,
      inputSchema,
    })),
    {
      name: 'bench__fetch',
      description: 'One page.',
      inputSchema: z.toJSONSchema(z.object({ page: z.number() })) as JsonValue,
    },
  ];
  return {
    async bareModel(step) {
      if (step === 0) conversation.length = 0;
      const results = conversation.map((text, index) => ({
        callId: `c${index}`,
        name: 'bench__fetch',
        isError: false,
        text,
        images: [],
      }));
      const messages = [
        { role: 'user' as const, parts: [{ type: 'text' as const, text: 'Go on.' }] },
        ...results.flatMap((result) => [
          {
            role: 'assistant' as const,
            text: '',
            reasoning: [],
            toolCalls: [{ callId: result.callId, name: result.name, input: {} }],
          },
          { role: 'tool' as const, results: [result] },
        ]),
      ];
      const answer = await askModel({
        model: 'openai/scripted',
        params: {},
        responseFormat: { type: 'text' },
        messages,
        tools,
        signal: AbortSignal.timeout(60_000),
      });
      return { text: answer.text, calls: answer.toolCalls.length };
    },
    async bareTool(step) {
      const signal = AbortSignal.timeout(60_000);
      const response = await pool
        .server('bench')
        .callTool({ tool: 'fetch', arguments: { page: step }, idempotencyKey: String(step), signal });
      const text = JSON.stringify(response.content);
      conversation.push(text);
      return text;
    },
  };
}

interface Sample {
  readonly msPerStep: number;
  readonly workerCpuMsPerStep: number;
  readonly serverCpuMsPerStep: number;
  readonly bytesPerStep: number;
  readonly eventsPerStep: number;
}

/** CPU time of the server's process, found by its database file; 0 where there is no /proc. */
async function serverCpuMs(): Promise<number> {
  serverPid ??= await findServer();
  const text = await readFile(`/proc/${serverPid}/stat`, 'utf8').catch(() => '');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10;
}

async function findServer(): Promise<string> {
  for (const pid of await readdir('/proc').catch(() => [])) {
    const command = /^\d+$/.test(pid) ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : '';
    if (command.includes('start-dev') && command.includes(home.database)) return pid;
  }
  return '0';
}

async function sample(start: () => Promise<string>): Promise<Sample> {
  const [cpu, serverCpu, began] = [process.cpuUsage(), await serverCpuMs(), performance.now()];
  const workflowId = await start();
  const ms = performance.now() - began;
  const used = process.cpuUsage(cpu);
  const serverUsed = (await serverCpuMs()) - serverCpu;
  const description = await client.workflow.getHandle(workflowId).describe();
  const per = (value: number): number => value / plan.steps;
  return {
    msPerStep: per(ms),
    workerCpuMsPerStep: per((used.user + used.system) / 1000),
    serverCpuMsPerStep: per(serverUsed),
    bytesPerStep: per(description.historySize ?? 0),
    eventsPerStep: per(description.historyLength),
  };
}

async function runBare(): Promise<string> {
  const workflowId = `bare-${randomUUID()}`;
  await client.workflow.execute('bareTurn', { workflowId, taskQueue });
  return workflowId;
}

async function runLongshore(): Promise<string> {
  const workflowId = `turn-${randomUUID()}`;
  const message = { type: 'user.message' as const, content: 'Go on.' };
  const handle = await startTurn(client, { workflowId, taskQueue, spec, message });
  const result = await handle.result();
  if (result.status !== 'completed') throw new Error(`the turn ended ${result.status}: ${result.error?.message}`);
  return workflowId;
}

function median(samples: readonly Sample[], key: keyof Sample): number {
  const sorted = samples.map((one) => one[key]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

async function compare(): Promise<{ readonly bare: Sample[]; readonly longshore: Sample[] }> {
  const result = { bare: [] as Sample[], longshore: [] as Sample[] };
  await sample(runBare);
  await sample(runLongshore);
  for (let round = 0; round < rounds; round++) {
    result.bare.push(await sample(runBare));
    result.longshore.push(await sample(runLongshore));
  }
  return result;
}

async function growth(): Promise<
  readonly { readonly calls: number; readonly bytes: number; readonly events: number; readonly msPerStep: number }[]
> {
  plan.resultBytes = 5_000;
  const rows = [];
  for (const calls of [50, 100, 200]) {
    plan.steps = calls;
    const one = await sample(runLongshore);
    rows.push({
      calls,
      bytes: Math.round(one.bytesPerStep * calls),
      events: Math.round(one.eventsPerStep * calls),
      msPerStep: one.msPerStep,
    });
  }
  return rows;
}

await worker.runUntil(async () => {
  const { bare, longshore } = await compare();
  const keys = Object.keys(bare[0] ?? {}) as (keyof Sample)[];
  const rows = keys.map((key) => ({ measure: key, bare: median(bare, key), longshore: median(longshore, key) }));
  const history = await growth();
  if (values.json) console.log(JSON.stringify({ steps, rounds, rows, history }));
  else {
    console.log(
      `H4: a step of ${steps} (median of ${rounds} interleaved rounds, 200-byte results, tuned server, node ${process.version})\n`,
    );
    console.log('| measure | bare Workflow | Longshore | ratio |\n|---|---|---|---|');
    for (const { measure, bare: a, longshore: b } of rows)
      console.log(`| ${measure} | ${a.toFixed(2)} | ${b.toFixed(2)} | ${(b / a).toFixed(2)} |`);
    console.log("\nH1's shape: 5,000-byte results\n");
    console.log('| model calls | history bytes | events | ms a step |\n|---|---|---|---|');
    for (const row of history)
      console.log(
        `| ${row.calls} | ${row.bytes.toLocaleString('en-US')} | ${row.events} | ${row.msPerStep.toFixed(1)} |`,
      );
  }
});
await connection.close();
await native.close();
await lease.release();
await model.close();
await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
