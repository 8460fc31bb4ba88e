// A real Worker with the plugin, a scripted model over HTTP and a store in a temporary folder, on the run's dev server.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { bundleWorkflowCode, NativeConnection, Runtime, Worker, type WorkerOptions } from '@temporalio/worker';
import { inject } from 'vitest';
import type { ScriptedModel, ScriptedModelServer } from '../../testing/scripted-model.ts';
import { startScriptedModel } from '../../testing/scripted-model.ts';
import { startTurn, type StartTurnOptions } from '../../client/turns.ts';
import { readTurn } from '../../client/turns.ts';
import type { TurnView } from '../../client/turn-view.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { checkSpec } from '../../shared/spec-check.ts';
import type { AgentSpec } from '../../shared/agent-spec.ts';
import type { AgentTurnResult } from '../../shared/turn.ts';
import { LongshorePlugin, type LongshorePluginOptions } from '../../worker/plugin.ts';
import { workflowSource } from '../../worker/create-worker.ts';

/** What a world is made of. */
export interface WorldOptions {
  readonly script: ScriptedModel;
  readonly plugin?: Partial<LongshorePluginOptions>;
  readonly worker?: Partial<WorkerOptions>;
}

/** A place where turns run. */
export interface World {
  readonly client: Client;
  readonly taskQueue: string;
  readonly folder: string;
  readonly store: FileStore;
  readonly model: ScriptedModelServer;
  /** Starts a turn; the spec's model is the scripted one unless it names another. */
  start(spec: Record<string, unknown>, turn?: Partial<StartTurnOptions> & { readonly text?: string }): Promise<StartedTurn>;
  /** Runs a turn to its end. */
  run(
    spec: Record<string, unknown>,
    turn?: Partial<StartTurnOptions> & { readonly text?: string },
  ): Promise<{ readonly result: AgentTurnResult; readonly view: TurnView; readonly history: History; readonly workflowId: string }>;
  close(): Promise<void>;
}

/** A turn under way. */
export interface StartedTurn {
  readonly workflowId: string;
  result(): Promise<AgentTurnResult>;
  cancel(): Promise<unknown>;
}

let bundle: Promise<{ readonly code: string }> | undefined;

/** Makes a world; close it when done. */
export async function createWorld(options: WorldOptions): Promise<World> {
  quietRuntime();
  const address = inject('temporalAddress');
  const folder = await mkdtemp(join(tmpdir(), 'longshore-world-'));
  const taskQueue = `test-${randomUUID()}`;
  const model = await startScriptedModel(options.script);
  const store = createLocalStore({ folder: join(folder, 'store'), namespace: 'default' });
  const env = { ...process.env, OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'test-key-0123456789' };
  const plugin = new LongshorePlugin({ store, env, log: () => {}, ...options.plugin });
  const native = await NativeConnection.connect({ address });
  const source = workflowSource();
  bundle ??= bundleWorkflowCode({ workflowsPath: source.workflowsPath ?? '', logger: quiet });
  const worker = await Worker.create({
    connection: native,
    namespace: 'default',
    taskQueue,
    workflowBundle: await bundle,
    plugins: [plugin],
    stickyQueueScheduleToStartTimeout: '1s',
    ...options.worker,
  });
  const running = worker.run();
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });

  async function start(spec: Record<string, unknown>, turn: Partial<StartTurnOptions> & { text?: string } = {}): Promise<StartedTurn> {
    const { text, ...rest } = turn;
    const workflowId = rest.workflowId ?? `turn-${randomUUID()}`;
    const message = text === undefined ? {} : { message: { type: 'user.message' as const, content: text } };
    const handle = await startTurn(client, { spec: specOf(spec), taskQueue, ...message, ...rest, workflowId });
    return { workflowId, result: () => handle.result(), cancel: () => handle.cancel() };
  }

  return {
    client,
    taskQueue,
    folder,
    store,
    model,
    start,
    async run(spec, turn = { text: 'Go on.' }) {
      const started = await start(spec, turn);
      const result = await started.result();
      const handle = client.workflow.getHandle(started.workflowId);
      const view = await readTurn(client, started.workflowId, store);
      return { result, view, history: await handle.fetchHistory(), workflowId: started.workflowId };
    },
    async close() {
      worker.shutdown();
      await running;
      await connection.close();
      await native.close();
      await model.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A checked spec on the scripted model. */
export function specOf(spec: Record<string, unknown>): AgentSpec {
  const checked = checkSpec({ model: { name: 'openai/scripted' }, ...spec });
  if (!checked.spec) throw new Error(`the spec of the test has faults: ${JSON.stringify(checked.faults)}`);
  return checked.spec;
}

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
let installed = false;

function quietRuntime(): void {
  if (installed) return;
  installed = true;
  Runtime.install({ logger: quiet, shutdownSignals: [] });
}
