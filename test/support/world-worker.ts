// A Worker of a world in a process of its own, to be killed: `world-worker.ts PLAN`, as JSON; it prints `ready`.
import { writeSync } from 'node:fs';
import { NativeConnection, Runtime, Worker, DefaultLogger } from '@temporalio/worker';
import { createLocalStore } from '../../activities/store/local.ts';
import { LongshorePlugin } from '../../worker/plugin.ts';

/** What it is told. */
export interface WorldWorkerPlan {
  readonly address: string;
  readonly taskQueue: string;
  readonly bundlePath: string;
  /** Of the world's store. */
  readonly storeFolder: string;
  readonly mcpServers: Readonly<Record<string, object>>;
}

// The test that starts this process wrote the plan; the way to the model is in the environment.
const plan = JSON.parse(process.argv[2] ?? '') as WorldWorkerPlan;
Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address: plan.address });
const worker = await Worker.create({
  connection,
  namespace: 'default',
  taskQueue: plan.taskQueue,
  workflowBundle: { codePath: plan.bundlePath },
  plugins: [
    new LongshorePlugin({
      store: createLocalStore({ folder: plan.storeFolder, namespace: 'default' }),
      mcp: { mcpServers: plan.mcpServers },
      env: process.env,
      log: () => {},
    }),
  ],
  stickyQueueScheduleToStartTimeout: '1s',
});
writeSync(1, 'ready\n');
await worker.run();
await connection.close();
