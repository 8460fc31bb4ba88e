// Longshore as a system: the plugin on a Worker with the default settings, a local tool, a local file store.
import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { startTurn } from '../../client/turns.ts';
import { requireSpec } from '../../shared/spec-check.ts';
import type { AgentTurnResult } from '../../shared/turn.ts';
import { defineLocalServer, defineLocalTool, LongshorePlugin } from '../../worker/index.ts';
import { pageOf } from './payload.ts';
import { serveRuns, settingOfProcess, type RunRequest } from './system-process.ts';
import { watchWorkflow } from './workflow-outcome.ts';

const taskQueue = 'longshore-side-by-side';
const { address, baseUrl, folder } = settingOfProcess();
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
Runtime.install({ logger: quiet, shutdownSignals: [] });

/** What the tool answers for; runs that go at once share the pages of the one that began last. */
let current: Pick<RunRequest, 'id' | 'payload'> = { id: '', payload: { bytes: 0 } };
const server = defineLocalServer({
  name: 'bench',
  tools: [
    defineLocalTool({
      name: 'fetch',
      description: 'One page.',
      inputSchema: z.object({ page: z.number() }),
      annotations: { readOnlyHint: true },
      run: ({ page }) => pageOf(current, page),
    }),
  ],
});
const plugin = new LongshorePlugin({
  store: { folder },
  localServers: [server],
  env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'none' },
  log: () => {},
});
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowsPath: fileURLToPath(new URL('../workflows/index.ts', import.meta.url)),
  plugins: [plugin],
});
const channelArgs = { 'grpc.max_receive_message_length': 256 * 1024 * 1024 };
const client = new Client({ connection: await Connection.connect({ address, channelArgs }) });
worker.run().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});

async function folderBytes(path: string): Promise<number> {
  let total = 0;
  for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) total += (await stat(join(entry.parentPath, entry.name))).size;
  }
  return total;
}

let atOnce = 0;
serveRuns(async (request) => {
  current = request;
  atOnce += 1;
  const before = atOnce === 1 ? await folderBytes(folder) : 0;
  const workflowId = `turn-${randomUUID()}`;
  const spec = requireSpec(
    {
      model: { name: `openai/${request.model}` },
      mcp_servers: [{ name: 'bench', preload: true }],
      config: { iteration_limit: 1024 },
    },
    'the comparison',
  );
  await startTurn(client, { workflowId, taskQueue, spec, message: { type: 'user.message', content: 'Go on.' } });
  const outcome = await watchWorkflow(client, workflowId, { limitMs: request.limitMs, faultOf });
  atOnce -= 1;
  return { ...outcome, elsewhereBytes: atOnce === 0 ? (await folderBytes(folder)) - before : 0 };
});

function faultOf(result: unknown): string | null {
  // The result of `longshoreAgentTurn`.
  const { status, error } = result as AgentTurnResult;
  return status === 'completed' ? null : `${status}: ${error?.message}`;
}
