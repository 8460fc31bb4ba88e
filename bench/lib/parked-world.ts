// What H5 is measured in: one tuned server, and for each system a Worker with nothing but its own Workflows. Both are parked and
// decided on by the same client, and both are known to be parked by the same look at the server.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  Worker,
  type ActivityInterceptorsFactory,
  type WorkerOptions,
} from '@temporalio/worker';
import { Client, Connection } from '@temporalio/client';
import { z } from 'zod';
import { listApprovals } from '../../client/approvals.ts';
import { startTurn } from '../../client/turns.ts';
import { RESOLVE_APPROVAL_UPDATE, type ResolveApprovalInput } from '../../shared/approvals.ts';
import { requireSpec } from '../../shared/spec-check.ts';
import { startScriptedModel, type ScriptedModelServer } from '../../testing/scripted-model.ts';
import { attachDevServer } from '../../worker/dev-server.ts';
import { openHome } from '../../worker/home.ts';
import { defineLocalServer, defineLocalTool, LongshorePlugin } from '../../worker/index.ts';
import { phasesOf, type Marks, type Phases } from './parked-phases.ts';

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** One of the two that are compared. */
export type System = 'bare' | 'longshore';

/** How the Worker is set up. */
export interface ParkedOptions {
  readonly systems: readonly System[];
  /** Workflows that each Worker keeps; those beyond are evicted. */
  readonly cachedWorkflows: number;
  /** Whether the project has a hook that is told of approvals. */
  readonly hook: boolean;
}

/** How long one resume took, and where it went. */
export interface Resume {
  readonly ms: number;
  readonly phases: Phases;
}

/** What is measured, and where. */
export interface ParkedWorld {
  readonly client: Client;
  /** Has the Workers run until `work` is done. */
  during<T>(work: () => Promise<T>): Promise<T>;
  /** Starts a Workflow, and waits until it is parked. */
  park(system: System, workflowId: string): Promise<void>;
  /** Decides, waits for the Workflow's end, and tells how long after the decision was sent its call began. */
  resume(system: System, workflowId: string): Promise<Resume>;
  close(): Promise<void>;
}

/** Brings everything up; close it when done. */
export async function openParkedWorld(options: ParkedOptions): Promise<ParkedWorld> {
  const telemetryOptions = { logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) } };
  Runtime.install({ logger: quiet, shutdownSignals: [], telemetryOptions });
  const folder = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const home = await openHome({ LONGSHORE_HOME: folder }, folder);
  const lease = await attachDevServer(home, { kind: 'dev', log: () => {} });
  const model = await startActingModel();
  const native = await NativeConnection.connect({ address: lease.address });
  const client = new Client({ connection: await Connection.connect({ address: lease.address }) });
  const calls = new Calls();
  const plugin = pluginOf(home.storeFolder, model.baseUrl, { calls, hook: options.hook });
  const own: Record<System, Partial<WorkerOptions>> = {
    bare: { workflowsPath: pathOf('../workflows/parked.ts'), activities: bareActivities(calls) },
    longshore: { workflowsPath: pathOf('../../workflows/index.ts'), plugins: [plugin] },
  };
  const common = { connection: native, maxCachedWorkflows: options.cachedWorkflows };
  const workers = await Promise.all(
    options.systems.map((system) =>
      Worker.create({ ...common, ...own[system], taskQueue: system, interceptors: { activity: [calls.watch] } }),
    ),
  );
  return {
    client,
    async during(work) {
      const over = Promise.withResolvers<void>();
      const running = workers.map((worker) => worker.runUntil(over.promise));
      try {
        return await work();
      } finally {
        over.resolve();
        await Promise.all(running);
      }
    },
    park: async (system, workflowId) => {
      await (system === 'bare' ? startBare(client, workflowId) : startLongshore(client, workflowId));
      await until(() => isIdle(client, workflowId));
    },
    async resume(system, workflowId) {
      const update = system === 'bare' ? bareUpdate() : await longshoreUpdate(client, workflowId);
      return resume(client, calls, { workflowId, ...update });
    },
    async close() {
      await client.connection.close();
      await native.close();
      await lease.release();
      await model.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
}

/** When each Workflow's call was entered, and when it began. */
class Calls {
  private readonly entered = new Map<string, number>();
  private readonly begun = new Map<string, PromiseWithResolvers<number>>();

  readonly watch: ActivityInterceptorsFactory = ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const makesCall = info.activityType === 'longshoreCallTool' || info.activityType === 'runParked';
        if (makesCall) this.entered.set(info.workflowExecution?.workflowId ?? '', now());
        return next(input);
      },
    },
  });

  begin(workflowId: string): void {
    this.reach(workflowId).resolve(now());
  }

  async beginning(workflowId: string): Promise<Pick<Marks, 'entered' | 'begun'>> {
    const begun = await this.reach(workflowId).promise;
    return { begun, entered: this.entered.get(workflowId) ?? Number.NaN };
  }

  private reach(workflowId: string): PromiseWithResolvers<number> {
    const one = this.begun.get(workflowId) ?? Promise.withResolvers<number>();
    this.begun.set(workflowId, one);
    return one;
  }
}

interface Decision {
  readonly workflowId: string;
  readonly name: string;
  readonly args: [string | ResolveApprovalInput];
}

async function resume(client: Client, calls: Calls, { workflowId, name, args }: Decision): Promise<Resume> {
  const handle = client.workflow.getHandle(workflowId);
  const sent = now();
  const [marks] = await Promise.all([calls.beginning(workflowId), handle.executeUpdate(name, { args })]);
  // What the Workflow does after its call would be in the way of the next decision.
  await handle.result();
  const { events } = await handle.fetchHistory();
  return { ms: marks.begun - sent, phases: phasesOf(events ?? [], { sent, ...marks }) };
}

function startBare(client: Client, workflowId: string): Promise<unknown> {
  return client.workflow.start('bareParked', { workflowId, taskQueue: 'bare', args: [workflowId] });
}

function bareActivities(calls: Calls): NonNullable<WorkerOptions['activities']> {
  return {
    askParked: async () => 'act',
    runParked: async (workflowId: string) => {
      calls.begin(workflowId);
      return 'done';
    },
  };
}

function bareUpdate(): Pick<Decision, 'name' | 'args'> {
  return { name: 'decideParked', args: ['approve'] };
}

function startLongshore(client: Client, workflowId: string): Promise<unknown> {
  const raw = { model: { name: 'openai/scripted' }, mcp_servers: [{ name: 'bench', preload: true }] };
  const message = { type: 'user.message' as const, content: workflowId };
  return startTurn(client, { workflowId, taskQueue: 'longshore', spec: requireSpec(raw, 'the benchmark'), message });
}

async function longshoreUpdate(client: Client, workflowId: string): Promise<Pick<Decision, 'name' | 'args'>> {
  const [approval] = await listApprovals(client, { workflowId });
  if (!approval) throw new Error(`nothing of ${workflowId} waits`);
  const { callKey, digest } = approval;
  const input = { workflowId, callKey, digest, decision: { type: 'approve' }, approver: 'bench' } as const;
  return { name: RESOLVE_APPROVAL_UPDATE, args: [input] };
}

/** Whether the server knows of nothing that this Workflow has to do, nor of anything that is done for it. */
async function isIdle(client: Client, workflowId: string): Promise<boolean> {
  const { raw, historyLength } = await client.workflow.getHandle(workflowId).describe();
  return historyLength > 4 && !raw.pendingWorkflowTask && (raw.pendingActivities ?? []).length === 0;
}

function startActingModel(): Promise<ScriptedModelServer> {
  return startScriptedModel(({ messages }) => {
    if (messages.at(-1)?.role === 'tool') return { text: 'done' };
    return { toolCalls: [{ name: 'bench__act', arguments: { id: String(messages.at(-1)?.content) } }] };
  });
}

function pluginOf(
  folder: string,
  baseUrl: string,
  { calls, hook }: { readonly calls: Calls; readonly hook: boolean },
): LongshorePlugin {
  const act = defineLocalTool({
    name: 'act',
    description: 'Acts.',
    inputSchema: z.object({ id: z.string() }),
    run: ({ id }) => {
      calls.begin(id);
      return 'done';
    },
  });
  return new LongshorePlugin({
    store: { folder },
    localServers: [defineLocalServer({ name: 'bench', tools: [act] })],
    env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'none' },
    ...(hook && { hooks: { onApproval: () => {} } }),
    log: () => {},
  });
}

function pathOf(sibling: string): string {
  return fileURLToPath(new URL(sibling, import.meta.url));
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; !(await condition());) {
    if (Date.now() > end) throw new Error('not parked within 120 s');
    await delay(20);
  }
}
