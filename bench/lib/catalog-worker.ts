// Longshore on one catalog: a whole Worker as its own process, and turns on it. Its memory is that of a Worker alone: server,
// model, API and tool server live elsewhere.
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { createLocalStore } from '../../activities/store/local.ts';
import type { TurnView } from '../../client/turn-view.ts';
import { readTurn, startTurn } from '../../client/turns.ts';
import type { McpServerConfig } from '../../shared/mcp-config.ts';
import { requireSpec } from '../../shared/spec-check.ts';
import { packageIn } from './whole-turn.ts';
import { WORKER_PLAN, type WholeWorkerPlan } from './worker-plan.ts';

/** Resident memory of the Worker's process, in MB of 1,000,000 bytes. */
export interface WorkerMemory {
  readonly nowMb: number;
  readonly highestMb: number;
}

/** A running Worker. */
export interface CatalogWorker {
  /** Runs a turn to its end, on a model of that name. */
  readonly turn: (model: string, server: Readonly<Record<string, unknown>> | null, text: string) => Promise<TurnView>;
  readonly memory: () => Promise<WorkerMemory>;
  readonly close: () => Promise<void>;
}

/** Starts one with a store of its own. */
export async function startCatalogWorker(setting: {
  readonly address: string;
  readonly modelUrl: string;
  readonly folder: string;
  readonly servers: Readonly<Record<string, McpServerConfig>>;
}): Promise<CatalogWorker> {
  const { address, modelUrl, folder, servers } = setting;
  await mkdir(folder, { recursive: true });
  const storeFolder = join(folder, 'store');
  const plan: WholeWorkerPlan = {
    address,
    taskQueue: `catalog-${randomUUID()}`,
    ...(await packageIn(folder)),
    storeFolder,
    modelUrl,
    servers,
  };
  const program = fileURLToPath(new URL('./whole-worker.ts', import.meta.url));
  const worker = spawn(process.execPath, ['--max-semi-space-size=8', program], {
    env: { ...process.env, [WORKER_PLAN]: JSON.stringify(plan) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(worker, 'exit');
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const store = createLocalStore({ folder: storeFolder, namespace: 'default' });
  await once(worker.stdout, 'data');
  return {
    async turn(model, server, text) {
      const workflowId = `turn-${randomUUID()}`;
      const given = { model: { name: `openai/${model}` }, ...(server && { mcp_servers: [server] }) };
      const spec = requireSpec(given, 'the benchmark');
      const message = { type: 'user.message' as const, content: text };
      const handle = await startTurn(client, { workflowId, taskQueue: plan.taskQueue, spec, message });
      const result = await handle.result();
      if (result.status !== 'completed') throw new Error(`The turn ended ${result.status}: ${result.error?.message}`);
      return readTurn(client, workflowId, store);
    },
    memory: async () => memoryOf(worker.pid ?? 0),
    async close() {
      worker.kill('SIGTERM');
      await ended;
      await connection.close();
    },
  };
}

async function memoryOf(pid: number): Promise<WorkerMemory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const mb = (field: string): number => (Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6;
  return { nowMb: mb('VmRSS'), highestMb: mb('VmHWM') };
}
