// The place where a turn and the bare Workflow beside it are measured: one tuned server, one Worker that serves both, a
// scripted model that asks for one page a step, and the tool that gives it.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { createMcpPool } from '../../activities/mcp/pool.ts';
import { createAskModel } from '../../activities/model/ask.ts';
import { sandboxListing } from '../../activities/sandbox/server.ts';
import { startTurn } from '../../client/turns.ts';
import type { JsonValue } from '../../shared/json.ts';
import { requireSpec } from '../../shared/spec-check.ts';
import { startScriptedModel, type ScriptedModelServer, type ScriptedRequest } from '../../testing/scripted-model.ts';
import { attachDevServer } from '../../worker/dev-server.ts';
import { openHome, type Home } from '../../worker/home.ts';
import { storeSettings } from '../../worker/open-store.ts';
import { defineLocalServer, defineLocalTool, LongshorePlugin } from '../../worker/index.ts';

const TASK_QUEUE = 'bench';
const WORDS = 'alpha beta gamma delta epsilon zeta eta theta iota kappa '.repeat(200);
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** How large the tool's results are, and how many calls a turn makes; set before each run. */
export interface TurnPlan {
  resultBytes: number;
  steps: number;
  /** Told of each request to the model. */
  onRequest?: () => void;
  /** Where files live, as in `LONGSHORE_STORE`; credentials come from the environment. @default the home */
  readonly store?: string | undefined;
}

/** What is measured, and where. */
export interface TurnBench {
  readonly plan: TurnPlan;
  readonly client: Client;
  readonly home: Home;
  /** Has the Worker run until `work` is done. */
  during(work: () => Promise<void>): Promise<void>;
  /** Runs the bare Workflow to its end; gives its id. */
  readonly runBare: () => Promise<string>;
  /** Runs a turn to its end; gives its id. */
  readonly runLongshore: () => Promise<string>;
  close(): Promise<void>;
}

/** Brings everything up; close it when done. */
export async function openTurnBench(plan: TurnPlan): Promise<TurnBench> {
  Runtime.install({ logger: quiet, shutdownSignals: [] });
  const model: ScriptedModelServer = await startScriptedModel((request, call) => {
    const { messages } = request;
    // Requests are kept by the server; hundreds of megabytes a long run would be.
    (model.requests as ScriptedRequest[])[call] = { model: request.model, messages: [] };
    plan.onRequest?.();
    const answered = messages.filter((message) => message.role === 'tool').length;
    if (answered >= plan.steps) return { text: 'done' };
    return { toolCalls: [{ name: 'bench__fetch', arguments: { page: answered } }] };
  });
  const server = pageServer(plan);
  const folder = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const home = await openHome({ LONGSHORE_HOME: folder }, folder);
  const lease = await attachDevServer(home, { kind: 'dev', log: () => {} });
  const env = { ...process.env, OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'none' };
  const native = await NativeConnection.connect({ address: lease.address });
  const channelArgs = { 'grpc.max_receive_message_length': 256 * 1024 * 1024 };
  const connection = await Connection.connect({ address: lease.address, channelArgs });
  const client = new Client({ connection });
  const known = storeSettings({ LONGSHORE_STORE: plan.store }, undefined);
  const store = known.type === 's3' ? known : { folder: known.folder ?? home.storeFolder };
  const worker = await Worker.create({
    connection: native,
    taskQueue: TASK_QUEUE,
    workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
    plugins: [new LongshorePlugin({ store, localServers: [server], env, log: () => {} })],
    activities: bareActivities(env, server),
  });
  return {
    plan,
    client,
    home,
    during: (work) => worker.runUntil(work),
    runBare: () => runBare(client),
    runLongshore: () => runLongshore(client),
    async close() {
      await connection.close();
      await native.close();
      await lease.release();
      await model.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
}

type PageServer = ReturnType<typeof defineLocalServer>;

function pageServer(plan: TurnPlan): PageServer {
  return defineLocalServer({
    name: 'bench',
    tools: [
      defineLocalTool({
        name: 'fetch',
        description: 'One page.',
        inputSchema: z.object({ page: z.number() }),
        annotations: { readOnlyHint: true },
        run: ({ page }) => `${page} ${WORDS}`.slice(0, plan.resultBytes),
      }),
    ],
  });
}

async function runBare(client: Client): Promise<string> {
  const workflowId = `bare-${randomUUID()}`;
  await client.workflow.execute('bareTurn', { workflowId, taskQueue: TASK_QUEUE });
  return workflowId;
}

async function runLongshore(client: Client): Promise<string> {
  const workflowId = `turn-${randomUUID()}`;
  const given = {
    model: { name: 'openai/scripted' },
    mcp_servers: [{ name: 'bench', preload: true }],
    config: { iteration_limit: 1024 },
  };
  const spec = requireSpec(given, 'the benchmark');
  const message = { type: 'user.message' as const, content: 'Go on.' };
  const handle = await startTurn(client, { workflowId, taskQueue: TASK_QUEUE, spec, message });
  const result = await handle.result();
  if (result.status !== 'completed') throw new Error(`the turn ended ${result.status}: ${result.error?.message}`);
  return workflowId;
}

/** The same model request and the same tool, through the same client code, and nothing kept. */
function bareActivities(
  env: Readonly<Record<string, string>>,
  server: PageServer,
): Record<string, (step: number) => Promise<unknown>> {
  const askModel = createAskModel({ env });
  const pool = createMcpPool({ config: { source: 'bench', servers: {} }, localServers: [server], log: () => {} });
  const conversation: string[] = [];
  const tools = toolsOfBare();
  return {
    async bareModel(step) {
      if (step === 0) conversation.length = 0;
      const answer = await askModel({
        model: 'openai/scripted',
        params: {},
        responseFormat: { type: 'text' },
        messages: requestOf(conversation),
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

/** What the agent's requests carry too: the tools of the built-in server, and the benchmark's own. */
function toolsOfBare() {
  return [
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
}

function requestOf(conversation: readonly string[]) {
  const results = conversation.map((text, index) => ({
    callId: `c${index}`,
    name: 'bench__fetch',
    isError: false,
    text,
    images: [],
  }));
  return [
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
}
