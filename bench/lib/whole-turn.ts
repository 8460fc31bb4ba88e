// One large result in a turn of a whole Worker, a process of its own: server, model and client live elsewhere, so that the
// Worker's memory is what a Worker takes.
import { randomUUID } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode } from '@temporalio/worker';
import { createLocalStore } from '../../activities/store/local.ts';
import { startTurn } from '../../client/turns.ts';
import { requireSpec } from '../../shared/spec-check.ts';
import { startScriptedModel } from '../../testing/scripted-model.ts';
import { attachDevServer } from '../../worker/dev-server.ts';
import { openHome } from '../../worker/home.ts';
import { WORKER_PLAN, type WholeWorkerPlan } from './worker-plan.ts';

/** What a turn came to; memory by the process id of the Worker is read between and after. */
export interface WholeTurn {
  readonly outcome: string;
  readonly stagedBytes: number;
  readonly ms: number;
}

/** Runs a small turn, calls `between` with the Worker's process id, runs the large turn, and calls `after`. */
export async function runWholeTurn(
  { folder, bytes, form }: { readonly folder: string; readonly bytes: number; readonly form: string },
  watch: { readonly between: (pid: number) => Promise<void>; readonly after: (pid: number) => Promise<void> },
): Promise<WholeTurn> {
  const home = await openHome({ ...process.env, LONGSHORE_HOME: join(folder, 'home') }, folder);
  const lease = await attachDevServer(home, { kind: 'dev', log: () => {} });
  const model = await startScriptedModel(({ messages }) => {
    if (messages.some((message) => message.role === 'tool')) return { text: 'done' };
    const asked = JSON.stringify(messages).includes('Everything') ? bytes : 0;
    return { toolCalls: [{ name: 'size__big', arguments: { bytes: asked, form } }] };
  });
  const storeFolder = join(folder, 'store');
  const plan: WholeWorkerPlan = {
    address: lease.address,
    taskQueue: `size-${randomUUID()}`,
    ...(await packageIn(folder)),
    storeFolder,
    modelUrl: model.baseUrl,
  };
  const program = fileURLToPath(new URL('./whole-worker.ts', import.meta.url));
  const worker = spawn(process.execPath, ['--max-semi-space-size=8', program], {
    env: { ...process.env, [WORKER_PLAN]: JSON.stringify(plan) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(worker, 'exit');
  const connection = await Connection.connect({ address: lease.address });
  try {
    await once(worker.stdout, 'data');
    const client = new Client({ connection });
    await turn(client, plan.taskQueue, 'A little.');
    await watch.between(worker.pid ?? 0);
    const start = performance.now();
    const outcome = await turn(client, plan.taskQueue, 'Everything.');
    const ms = performance.now() - start;
    await watch.after(worker.pid ?? 0);
    let stagedBytes = 0;
    const store = createLocalStore({ folder: storeFolder, namespace: 'default' });
    for await (const blob of store.listBlobs()) stagedBytes = Math.max(stagedBytes, blob.bytes);
    return { outcome, stagedBytes, ms };
  } finally {
    worker.kill('SIGTERM');
    await ended;
    await connection.close();
    await model.close();
    await lease.release();
  }
}

/** The built package, or the sources and a bundle made of them. */
export async function packageIn(folder: string): Promise<Pick<WholeWorkerPlan, 'bundlePath' | 'root' | 'extension'>> {
  const built = new URL('../../dist/', import.meta.url);
  const bundle = fileURLToPath(new URL('workflow-bundle.js', built));
  if (existsSync(bundle)) return { bundlePath: bundle, root: built.href, extension: 'js' };
  const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
  const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
  const bundlePath = join(folder, 'workflows.js');
  await writeFile(bundlePath, (await bundleWorkflowCode({ workflowsPath, logger: quiet })).code);
  return { bundlePath, root: new URL('../../', import.meta.url).href, extension: 'ts' };
}

async function turn(client: Client, taskQueue: string, content: string): Promise<string> {
  const spec = requireSpec(
    { model: { name: 'openai/scripted' }, mcp_servers: [{ name: 'size', preload: true }] },
    'the benchmark',
  );
  const message = { type: 'user.message' as const, content };
  const handle = await startTurn(client, { workflowId: `turn-${randomUUID()}`, taskQueue, spec, message });
  const result = await handle.result();
  return result.status === 'completed' ? 'ok' : `${result.status}: ${result.error?.message}`;
}
