// Longshore as a guest on a user's own Worker: own Workflows, own bundle, a local tool, a scripted model in place of a paid one.
// Needs a Temporal server: `temporal server start-dev`, or `longshore dev`; `TEMPORAL_ADDRESS` names it.
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { LongshorePlugin } from 'longshore';
import { checkSpec } from 'longshore/client';
import { startScriptedModel } from 'longshore/testing';
import { orders } from './orders.ts';

const address = process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233';
const taskQueue = `own-worker-${process.pid}`;

/** A stand-in for a model: calls the tool, then answers with what it said. */
const model = await startScriptedModel(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== 'tool') {
    return { toolCalls: [{ name: 'orders__find_order', arguments: { order_id: 'A-17' } }] };
  }
  return { text: `The order desk says: ${String(last.content)}` };
});

const checked = checkSpec({
  name: 'order-desk',
  model: { name: 'openai/scripted' },
  instructions: 'Answer questions about orders.',
  mcp_servers: [{ name: 'orders', preload: true }],
});
if (!checked.spec) throw new Error(JSON.stringify(checked.faults));

const plugin = new LongshorePlugin({
  store: { folder: '.longshore/store' },
  localServers: [orders],
  env: { ...process.env, OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'none' },
});
const workflowsPath = fileURLToPath(new URL('./workflows.ts', import.meta.url));
const workflowBundle = await bundleWorkflowCode({ workflowsPath, plugins: [plugin] });
const connection = await NativeConnection.connect({ address });
const worker = await Worker.create({ connection, taskQueue, workflowBundle, plugins: [plugin] });
const client = new Client({ connection: await Connection.connect({ address }) });

await worker.runUntil(async () => {
  const answers = await client.workflow.execute('reviewOrder', {
    workflowId: `review-${Date.now()}`,
    taskQueue,
    args: [{ spec: checked.spec, orderId: 'A-17' }],
  });
  console.log(answers);
});
await client.connection.close();
await connection.close();
await model.close();
