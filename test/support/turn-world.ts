// A place where turns run: real Workers with the plugin, a scripted model over HTTP, a store in a temporary folder, on the
// run's dev server. Every turn may bring a script of its own, so that one world serves a whole file of tests.
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import {
  makeTelemetryFilterString,
  NativeConnection,
  Runtime,
  Worker,
  type Logger,
  type WorkerOptions,
} from '@temporalio/worker';
import { createLocalStore } from '../../activities/store/local.ts';
import type { TurnView } from '../../client/turn-view.ts';
import { readTurn, startTurn, type StartTurnOptions } from '../../client/turns.ts';
import type { AgentSpec } from '../../shared/agent-spec.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { checkSpec } from '../../shared/spec-check.ts';
import { TURN_STATE_QUERY, type AgentTurnResult, type TurnState } from '../../shared/turn.ts';
import type { ScriptedModel, ScriptedModelServer, ScriptedRequest } from '../../testing/scripted-model.ts';
import { startScriptedModel } from '../../testing/scripted-model.ts';
import { ownBundle } from '../../worker/create-worker.ts';
import { LongshorePlugin, type LongshorePluginOptions } from '../../worker/plugin.ts';

/** What a world is made of. */
export interface WorldOptions {
  /** Answers the turns that bring no script of their own. @default fails the test that asks it */
  readonly script?: ScriptedModel;
  readonly plugin?: Partial<LongshorePluginOptions>;
  readonly worker?: Partial<WorkerOptions>;
  /** Added to the plugin's environment. */
  readonly extraEnv?: Readonly<Record<string, string>>;
  /** @default the dev server of the test run */
  readonly address?: string;
  /** Name of the Workers and the client in histories. @default the SDK's own */
  readonly identity?: string;
}

/** A turn to start in a world. */
export interface WorldTurn extends Partial<Omit<StartTurnOptions, 'spec'>> {
  readonly text?: string;
  /** What the model answers in this turn alone. @default the world's */
  readonly script?: ScriptedModel;
}

/** A turn that has ended. */
export interface EndedTurn {
  readonly workflowId: string;
  readonly result: AgentTurnResult;
  readonly view: TurnView;
  readonly history: History;
  /** The requests that its model got, in order. */
  readonly requests: readonly ScriptedRequest[];
}

/** A turn under way. */
export interface StartedTurn {
  readonly workflowId: string;
  result(): Promise<AgentTurnResult>;
  cancel(): Promise<unknown>;
  state(): Promise<TurnState>;
  /** Waits for the end and reads what is left of the turn. */
  ended(): Promise<EndedTurn>;
}

/** A Worker of a world. */
export interface WorldWorker {
  /** Stops polling and waits until the Worker has ended. */
  stop(): Promise<void>;
}

/** A place where turns run. */
export interface World {
  readonly client: Client;
  readonly address: string;
  readonly taskQueue: string;
  readonly folder: string;
  readonly store: FileStore;
  readonly model: ScriptedModelServer;
  /** The environment that leads to the scripted model. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The first Worker, which a test may stop. */
  readonly worker: WorldWorker;
  /** Starts a turn; the spec's model is the scripted one unless it names another. */
  start(spec: Record<string, unknown>, turn?: WorldTurn): Promise<StartedTurn>;
  /** Runs a turn to its end. */
  run(spec: Record<string, unknown>, turn?: WorldTurn): Promise<EndedTurn>;
  /** Starts one more Worker on the same Task Queue and store. */
  addWorker(options?: Pick<WorldOptions, 'plugin' | 'worker'>): Promise<WorldWorker>;
  /** Every blob of the store. */
  blobCount(): Promise<number>;
  close(): Promise<void>;
}

/** The model's key in every world. */
export const MODEL_KEY = 'test-key-0123456789';

/** Longshore's Workflows as one bundle's text. */
export async function workflowBundle(): Promise<{ readonly code: string }> {
  const bundle = await ownBundle();
  return 'code' in bundle ? bundle : { code: await readFile(bundle.codePath, 'utf8') };
}

/** Makes a world; close it when done. */
export async function createWorld(options: WorldOptions = {}): Promise<World> {
  quietRuntime();
  const address = options.address ?? (await import('vitest')).inject('temporalAddress');
  const folder = await mkdtemp(join(tmpdir(), 'longshore-world-'));
  const taskQueue = `test-${randomUUID()}`;
  const scripts = new Map<string, ScriptedModel>();
  const model = await startScriptedModel((request, call) => {
    const script = scripts.get(request.model) ?? options.script;
    if (!script) throw new Error(`No script for the model ${request.model}`);
    const earlier = model.requests.slice(0, call).filter((other) => other.model === request.model);
    return script(request, scripts.has(request.model) ? earlier.length : call);
  });
  const store = createLocalStore({ folder: join(folder, 'store'), namespace: 'default' });
  const env = { ...process.env, OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: MODEL_KEY, ...options.extraEnv };
  const named = options.identity === undefined ? {} : { identity: options.identity };
  const channelArgs = { 'grpc.max_receive_message_length': 64 * 1024 * 1024 };
  const connection = await Connection.connect({ address, channelArgs });
  const client = new Client({ connection, ...named });
  const workers: WorldWorker[] = [];

  async function addWorker(more: Pick<WorldOptions, 'plugin' | 'worker'> = {}): Promise<WorldWorker> {
    const plugin = new LongshorePlugin({ store, env, log: () => {}, ...options.plugin, ...more.plugin });
    const native = await NativeConnection.connect({ address });
    const own = { ...options.worker, ...more.worker };
    const worker = await Worker.create({
      connection: native,
      namespace: 'default',
      taskQueue,
      ...(!own.workflowsPath && !own.workflowBundle && { workflowBundle: await ownBundle() }),
      plugins: [plugin],
      stickyQueueScheduleToStartTimeout: '1s',
      ...named,
      ...own,
    });
    const running = worker.run();
    // The failure is seen by whoever stops the Worker; until then it must not end the process.
    running.catch(() => {});
    let stopped: Promise<void> | undefined;
    const stop = (): Promise<void> => {
      stopped ??= (async () => {
        if (worker.getState() === 'RUNNING') worker.shutdown();
        await running;
        await native.close();
      })();
      return stopped;
    };
    workers.push({ stop });
    return { stop };
  }

  async function start(spec: Record<string, unknown>, turn: WorldTurn = {}): Promise<StartedTurn> {
    const { text, script, ...rest } = turn;
    const workflowId = rest.workflowId ?? `turn-${randomUUID()}`;
    const modelName = script ? `scripted-${workflowId}` : 'scripted';
    if (script) scripts.set(modelName, script);
    const message = text === undefined ? {} : { message: { type: 'user.message' as const, content: text } };
    const checked = specOf(withModel(spec, `openai/${modelName}`));
    const handle = await startTurn(client, { spec: checked, taskQueue, ...message, ...rest, workflowId });
    const result = (): Promise<AgentTurnResult> => handle.result();
    return {
      workflowId,
      result,
      cancel: () => handle.cancel(),
      state: () => handle.query<TurnState>(TURN_STATE_QUERY),
      ended: async () => ({
        workflowId,
        result: await result(),
        view: await readTurn(client, workflowId, store),
        history: await client.workflow.getHandle(workflowId).fetchHistory(),
        requests: model.requests.filter((request) => request.model === modelName),
      }),
    };
  }

  const worker = await addWorker();
  return {
    client,
    address,
    taskQueue,
    folder,
    store,
    model,
    env,
    worker,
    start,
    addWorker,
    async run(spec, turn = {}) {
      const asked = turn.text === undefined && turn.message === undefined ? { ...turn, text: 'Go on.' } : turn;
      return (await start(spec, asked)).ended();
    },
    async blobCount() {
      let count = 0;
      for await (const blob of store.listBlobs()) count += blob.bytes >= 0 ? 1 : 0;
      return count;
    },
    async close() {
      await Promise.all(workers.map((one) => one.stop()));
      await connection.close();
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

/** The spec on a model of that name, its params kept; a name of its own is kept too. */
function withModel(spec: Record<string, unknown>, name: string): Record<string, unknown> {
  const given = spec['model'];
  return { ...spec, model: { name, ...(typeof given === 'object' ? given : {}) } };
}

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
let installed = false;

/** Temporal's Runtime without its log on the terminal, or with a log of the test's own; once a process. */
export function quietRuntime(logger: Logger = quiet): void {
  if (installed) return;
  installed = true;
  const telemetryOptions = { logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) } };
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions });
}
