// H5: turns parked on approvals, beside the bare Workflow that waits for an Update: memory of each, and how long after a decision
// the call begins, with the Workflow in the Worker's cache and evicted from it. Each combination runs in a process of its own.
// Usage: node bench/parked.ts [--count 1000] [--resume 100] [--json]
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { makeTelemetryFilterString, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { startTurn } from '../client/turns.ts';
import { RESOLVE_APPROVAL_UPDATE, type WaitingCall } from '../shared/approvals.ts';
import { requireSpec } from '../shared/spec-check.ts';
import { startScriptedModel } from '../testing/scripted-model.ts';
import { attachDevServer } from '../worker/dev-server.ts';
import { openHome } from '../worker/home.ts';
import { defineLocalServer, defineLocalTool, LongshorePlugin } from '../worker/index.ts';
import { median, table } from './lib/stats.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    resume: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
    /** Set for the processes that this one starts. */
    system: { type: 'string' },
    cached: { type: 'boolean', default: false },
  },
});
const count = Number(values.count);
const resumed = Math.min(Number(values.resume), count);

/** What one process measured. */
interface Sample {
  readonly system: string;
  readonly cached: boolean;
  /** Growth of the Worker process for each parked Workflow. */
  readonly kilobytesEach: number;
  readonly resumeMs: number;
  readonly resumeP95Ms: number;
  readonly historyBytes: number;
  readonly events: number;
}

/** One system under measurement: begins a wait, and decides on it. */
interface Parking {
  readonly park: (workflowId: string) => Promise<unknown>;
  readonly decide: (workflowId: string) => Promise<unknown>;
}

/** Parked Workflows that are known to wait, and calls that have begun. */
const parked = new Map<string, WaitingCall | null>();
const begun = new Map<string, PromiseWithResolvers<void>>();
const reach = (workflowId: string): PromiseWithResolvers<void> => {
  const one = begun.get(workflowId) ?? Promise.withResolvers<void>();
  begun.set(workflowId, one);
  return one;
};

if (values.system === undefined) await compare();
else console.log(JSON.stringify(await measure(values.system, values.cached)));

async function compare(): Promise<void> {
  const samples: Sample[] = [];
  for (const cached of [true, false]) {
    for (const system of ['bare', 'longshore']) {
      const more = ['--count', String(count), '--resume', String(resumed), ...(cached ? ['--cached'] : [])];
      const args = ['--expose-gc', fileURLToPath(import.meta.url), '--system', system, ...more];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      // Written by `measure` in the process just ended; the SDK may have warned before it.
      samples.push(JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Sample);
    }
  }
  if (values.json) {
    console.log(JSON.stringify({ count, resumed, samples }));
    return;
  }
  console.log(
    `H5: ${count} parked, ${resumed} of them decided on one after another (tuned server, node ${process.version})\n`,
  );
  const rows = samples.map((one) => [
    `${one.system}, ${one.cached ? 'cached' : 'evicted'}`,
    ...[one.kilobytesEach, one.resumeMs, one.resumeP95Ms].map((value) => value.toFixed(1)),
    String(one.historyBytes),
    String(one.events),
  ]);
  console.log(table(['', 'KB each', 'resume ms', 'p95', 'history bytes', 'events'], rows));
}

async function measure(system: string, cached: boolean): Promise<Sample> {
  const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
  const telemetryOptions = { logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) } };
  Runtime.install({ logger: quiet, shutdownSignals: [], telemetryOptions });
  const folder = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const home = await openHome({ LONGSHORE_HOME: folder }, folder);
  const lease = await attachDevServer(home, { kind: 'dev', log: () => {} });
  const model = await startScriptedModel(({ messages }) => {
    if (messages.at(-1)?.role === 'tool') return { text: 'done' };
    return { toolCalls: [{ name: 'bench__act', arguments: { id: String(messages.at(-1)?.content) } }] };
  });
  const native = await NativeConnection.connect({ address: lease.address });
  const client = new Client({ connection: await Connection.connect({ address: lease.address }) });
  const worker = await Worker.create({
    connection: native,
    taskQueue: 'bench',
    workflowsPath: fileURLToPath(new URL('./workflows/index.ts', import.meta.url)),
    maxCachedWorkflows: cached ? count + 100 : 10,
    plugins: [pluginOf(home.storeFolder, model.baseUrl)],
    activities: {
      askParked: async () => 'act',
      runParked: async (workflowId: string) => {
        reach(workflowId).resolve();
        return 'done';
      },
    },
  });
  const parking = system === 'bare' ? bareParking(client) : turnParking(client);
  const sample = await worker.runUntil(async () => {
    // The first ones load what all share.
    for (let index = 0; index < 20; index++) await runThrough(parking, `warm-${index}`);
    const before = await residentBytes();
    const ids = Array.from({ length: count }, (_, index) => `parked-${index}`);
    for (let from = 0; from < count; from += 20) {
      await Promise.all(ids.slice(from, from + 20).map(async (id) => parking.park(id)));
    }
    const grown = (await residentBytes()) - before;
    const { historySize = 0, historyLength } = await client.workflow.getHandle('parked-0').describe();
    const times: number[] = [];
    for (let index = 0; index < resumed; index++) times.push(await resumeMs(parking, ids[index] ?? ''));
    times.sort((a, b) => a - b);
    return {
      system,
      cached,
      kilobytesEach: grown / 1024 / count,
      resumeMs: median(times),
      resumeP95Ms: times[Math.floor(times.length * 0.95)] ?? Number.NaN,
      historyBytes: historySize,
      events: historyLength,
    };
  });
  await client.connection.close();
  await native.close();
  await lease.release();
  await model.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  return sample;
}

async function runThrough(parking: Parking, id: string): Promise<void> {
  await parking.park(id);
  await resumeMs(parking, id);
}

/** From sending a decision to the beginning of the call. */
async function resumeMs(parking: Parking, id: string): Promise<number> {
  const began = performance.now();
  await Promise.all([parking.decide(id), reach(id).promise]);
  return performance.now() - began;
}

async function residentBytes(): Promise<number> {
  await delay(2_000);
  globalThis.gc?.();
  return process.memoryUsage().rss;
}

function bareParking(client: Client): Parking {
  return {
    park: async (workflowId) => {
      await client.workflow.start('bareParked', { workflowId, taskQueue: 'bench', args: [workflowId] });
      // Parked once its first Activity has come back: started, both of its events, and the Workflow Task after it.
      await until(async () => (await client.workflow.getHandle(workflowId).describe()).historyLength >= 10);
    },
    decide: async (workflowId) =>
      client.workflow.getHandle(workflowId).executeUpdate('decideParked', { args: ['approve'] }),
  };
}

function turnParking(client: Client): Parking {
  const raw = { model: { name: 'openai/scripted' }, mcp_servers: [{ name: 'bench', preload: true }] };
  const spec = requireSpec(raw, 'the benchmark');
  return {
    park: async (workflowId) => {
      const message = { type: 'user.message' as const, content: workflowId };
      await startTurn(client, { workflowId, taskQueue: 'bench', spec, message });
      await until(async () => parked.has(workflowId));
    },
    decide: async (workflowId) => {
      const call = parked.get(workflowId);
      const { callKey = '', digest = '' } = call ?? {};
      const input = { workflowId, callKey, digest, decision: { type: 'approve' }, approver: 'bench' };
      return client.workflow.getHandle(workflowId).executeUpdate(RESOLVE_APPROVAL_UPDATE, { args: [input] });
    },
  };
}

function pluginOf(folder: string, baseUrl: string): LongshorePlugin {
  const act = defineLocalTool({
    name: 'act',
    description: 'Acts.',
    inputSchema: z.object({ id: z.string() }),
    run: ({ id }) => {
      reach(id).resolve();
      return 'done';
    },
  });
  return new LongshorePlugin({
    store: { folder },
    localServers: [defineLocalServer({ name: 'bench', tools: [act] })],
    env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'none' },
    hooks: {
      onApproval: ({ type, workflowId, call }) => {
        if (type === 'waiting') parked.set(workflowId, call);
      },
    },
    log: () => {},
  });
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; !(await condition());) {
    if (Date.now() > end) throw new Error('not parked within 120 s');
    await delay(20);
  }
}
