// `@temporalio/ai-sdk` as a system: its plugin on a Worker of the SDK version that it pins.
// Plain JavaScript: these modules are installed in this folder only, out of the type checker's sight.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { Context } from '@temporalio/activity';
import { AiSdkPlugin } from '@temporalio/ai-sdk';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { pageOf } from '../payload.ts';
import { serveRuns, settingOfProcess } from '../system-process.ts';
import { watchWorkflow } from '../workflow-outcome.ts';

const taskQueue = 'ai-sdk-side-by-side';
const { address, baseUrl } = settingOfProcess();
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
Runtime.install({ logger: quiet, shutdownSignals: [] });

const running = new Map();
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowsPath: fileURLToPath(new URL('./ai-sdk-workflow.mjs', import.meta.url)),
  plugins: [
    new AiSdkPlugin({ modelProvider: createOpenAICompatible({ name: 'scripted', baseURL: baseUrl, apiKey: 'none' }) }),
  ],
  activities: {
    aiSdkPage: async (page) => pageOf(running.get(Context.current().info.workflowExecution.workflowId), page),
  },
});
const channelArgs = { 'grpc.max_receive_message_length': 256 * 1024 * 1024 };
const client = new Client({ connection: await Connection.connect({ address, channelArgs }) });
worker.run().catch((error) => {
  console.error(error);
  process.exit(1);
});

serveRuns(async (request) => {
  const workflowId = `ai-sdk-${randomUUID()}`;
  running.set(workflowId, request);
  await client.workflow.start('aiSdkTurn', { workflowId, taskQueue, args: [request.model] });
  return watchWorkflow(client, workflowId, { limitMs: request.limitMs, faultOf: () => null });
});
