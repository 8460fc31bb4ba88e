// A whole Worker as its own process: the plugin, the Workflow bundle, MCP servers over stdio. Its plan
// is JSON in an environment variable; it says `polling` when it is ready. It takes the built package where there is one:
// sources cost a compiler in every thread.
import { fileURLToPath } from 'node:url';
import { NativeConnection, Runtime, Worker } from '@temporalio/worker';
import type * as Measure from '../../activities/measure.ts';
import type * as CreateWorker from '../../worker/create-worker.ts';
import type * as Longshore from '../../worker/index.ts';
import { WORKER_PLAN, type WholeWorkerPlan } from './worker-plan.ts';

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
Runtime.install({ logger: quiet, telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } } });
// Only the benchmark starts this program, with a plan it has made.
const plan = JSON.parse(process.env[WORKER_PLAN] ?? '') as WholeWorkerPlan;
// What the same files export, be they sources or built.
const load = (path: string): Promise<unknown> => import(new URL(`${path}.${plan.extension}`, plan.root).href);
const { WORKER_SETTINGS } = (await load('worker/create-worker')) as typeof CreateWorker;
const { LongshorePlugin } = (await load('worker/index')) as typeof Longshore;
const { warmUpMeasure } = (await load('activities/measure')) as typeof Measure;
const program = fileURLToPath(new URL('./size-server.ts', import.meta.url));
const size = { type: 'stdio', command: process.execPath, args: [program, 'stdio'], env: {} } as const;
const connection = await NativeConnection.connect({ address: plan.address });
const plugin = new LongshorePlugin({
  store: { folder: plan.storeFolder, namespace: 'default' },
  mcp: { source: 'the benchmark', servers: plan.servers ?? { size } },
  env: { OPENAI_BASE_URL: plan.modelUrl, OPENAI_API_KEY: 'none' },
  log: () => {},
});
const [worker] = await Promise.all([
  Worker.create({
    connection,
    namespace: 'default',
    taskQueue: plan.taskQueue,
    workflowBundle: { codePath: plan.bundlePath },
    plugins: [plugin],
    ...WORKER_SETTINGS,
  }),
  warmUpMeasure(),
]);
const running = worker.run();
console.log('polling');
await running;
await connection.close();
