// The bare Workflows as systems; `minimal` or `naive` is the second argument.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Context } from '@temporalio/activity';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createAskModel } from '../../activities/model/ask.ts';
import type { RequestMessage, RequestTool } from '../../shared/model.ts';
import { pageOf } from './payload.ts';
import { serveRuns, settingOfProcess, type RunRequest } from './system-process.ts';
import { watchWorkflow } from './workflow-outcome.ts';
import { stepOf, type BareActivities, type BareAnswer } from './workflows.ts';

const workflowType = process.argv[3] === 'naive' ? 'naiveTurn' : 'minimalTurn';
const taskQueue = `bare-${workflowType}`;
const { address, baseUrl } = settingOfProcess();
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
Runtime.install({ logger: quiet, shutdownSignals: [] });

const askModel = createAskModel({ env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'none' } });
const tool: RequestTool = {
  name: 'fetch',
  description: 'One page.',
  inputSchema: { type: 'object', properties: { page: { type: 'number' } }, required: ['page'] },
};

/** A run, and of a minimal one the conversation, which its history does not need to hold. */
interface Running {
  readonly request: RunRequest;
  readonly messages: RequestMessage[];
  call?: { readonly callId: string; readonly name: string };
}
const running = new Map<string, Running>();

function current(): Running {
  const found = running.get(Context.current().info.workflowExecution?.workflowId ?? '');
  if (!found) throw new Error('This Worker does not know the run.');
  return found;
}

async function ask(model: string, messages: readonly RequestMessage[]): Promise<BareAnswer> {
  const answer = await askModel({
    model: `openai/${model}`,
    params: {},
    responseFormat: { type: 'text' },
    messages,
    tools: [tool],
    signal: AbortSignal.timeout(60_000),
  });
  const calls = answer.toolCalls.map(({ providerCallId: callId, name }) => ({ callId, name }));
  return { text: answer.text, calls };
}

const activities: BareActivities = {
  async minimalModel(model) {
    const run = current();
    const answer = await ask(model, run.messages);
    const [call] = answer.calls;
    if (call) run.call = call;
    return answer;
  },
  naiveModel: ask,
  async barePage(page) {
    const { request, messages, call } = current();
    const text = pageOf(request, page);
    if (workflowType === 'minimalTurn' && call) messages.push(...stepOf(call, text, page));
    return text;
  },
};

const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowsPath: fileURLToPath(new URL('./workflows.ts', import.meta.url)),
  activities,
});
const channelArgs = { 'grpc.max_receive_message_length': 256 * 1024 * 1024 };
const client = new Client({ connection: await Connection.connect({ address, channelArgs }) });
worker.run().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

serveRuns(async (request) => {
  const workflowId = `${workflowType}-${randomUUID()}`;
  running.set(workflowId, { request, messages: [{ role: 'user', parts: [{ type: 'text', text: 'Go on.' }] }] });
  await client.workflow.start(workflowType, { workflowId, taskQueue, args: [request.model] });
  const outcome = await watchWorkflow(client, workflowId, { limitMs: request.limitMs, faultOf: () => null });
  running.delete(workflowId);
  return outcome;
});
