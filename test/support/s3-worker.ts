// A Worker in a process of its own, as on a host of its own: its files are in S3, and its working directory is its own.
// Usage: s3-worker.ts PLAN, as JSON; credentials in the environment. Prints `ready`, then each call that its tool gets.
import { NativeConnection, Runtime, Worker, DefaultLogger } from '@temporalio/worker';
import fs from 'node:fs';
import { WORKER_SETTINGS } from '../../worker/create-worker.ts';
import { LongshorePlugin } from '../../worker/plugin.ts';
import type { S3StoreSettings } from '../../shared/store-settings.ts';
import { deskOf, reader } from './local-tools.ts';

/** What a host is told. */
export interface HostPlan {
  readonly name: string;
  readonly address: string;
  readonly taskQueue: string;
  readonly bundlePath: string;
  readonly modelUrl: string;
  readonly store: S3StoreSettings;
}

// The test that starts this process wrote the plan.
const plan = JSON.parse(process.argv[2] ?? '') as HostPlan;
const say = (line: string): void => void fs.writeSync(1, `${line}\n`);
Runtime.install({ logger: new DefaultLogger('ERROR') });
const connection = await NativeConnection.connect({ address: plan.address });
const plugin = new LongshorePlugin({
  store: plan.store,
  localServers: [
    deskOf(
      reader('report', () => {
        say(`report on ${plan.name}`);
        return Array.from({ length: 20_000 }, (_, i) => `line ${i} of the report on ${plan.name}`).join('\n');
      }),
      reader('slow', async () => {
        say(`slow on ${plan.name}`);
        if (plan.name === 'first') await new Promise(() => setInterval(() => {}, 60_000)); // until it is killed
        return `slow on ${plan.name}`;
      }),
    ),
  ],
  env: { ...process.env, OPENAI_BASE_URL: plan.modelUrl, OPENAI_API_KEY: 'none' },
  log: () => {},
});
const worker = await Worker.create({
  connection,
  namespace: 'default',
  taskQueue: plan.taskQueue,
  workflowBundle: { codePath: plan.bundlePath },
  plugins: [plugin],
  ...WORKER_SETTINGS,
});
say('ready');
await worker.run();
await connection.close();
