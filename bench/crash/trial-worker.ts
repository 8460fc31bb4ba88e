// The Worker of a trial: the plugin on a trapped store, a local server, the trial's servers over HTTP. It is killed at the
// boundary of its plan, by itself or by the trial; where the marker stands already, it runs through.
import fs from 'node:fs';
import { Worker, type NativeConnection, type ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { z } from 'zod';
import { createLocalStore } from '../../activities/store/local.ts';
import { WORKER_SETTINGS } from '../../worker/create-worker.ts';
import { defineLocalServer, defineLocalTool, LongshorePlugin } from '../../worker/index.ts';
import type { WorkerPlan } from './plan.ts';
import { STEP_CALLS } from './script.ts';
import { armTrap, type Trap } from './trap.ts';
import { trapCodec } from './trapped-codec.ts';
import { trapStore } from './trapped-store.ts';

/** Makes the Worker; it does not poll yet. `connection` must be closed after it. */
export async function createTrialWorker(plan: WorkerPlan, connection: NativeConnection): Promise<Worker> {
  const trap = armTrap(plan);
  const plugin = new LongshorePlugin({
    store: trapStore(createLocalStore({ folder: plan.storeFolder, namespace: 'default' }), trap),
    localServers: [deskOf(plan)],
    mcp: {
      source: 'the trial',
      servers: {
        ledger: { type: 'http', url: `${plan.effectsUrl}/ledger`, headers: {} },
        orders: { type: 'http', url: `${plan.effectsUrl}/orders`, headers: {}, honoursIdempotencyKeys: true },
      },
    },
    env: { OPENAI_BASE_URL: plan.modelUrl, OPENAI_API_KEY: 'none' },
    log: () => {},
  });
  return Worker.create({
    connection,
    namespace: 'default',
    taskQueue: plan.taskQueue,
    ...(plan.identity !== undefined && { identity: plan.identity }),
    workflowBundle: { codePath: plan.bundlePath },
    plugins: [plugin],
    dataConverter: { payloadCodecs: [trapCodec(trap, STEP_CALLS.length)] },
    interceptors: { activity: [({ info }) => ({ inbound: completionTrap(trap, info.activityType) })] },
    ...WORKER_SETTINGS,
  });
}

/** A server of one tool, which notes every execution. */
function deskOf({ deskLog }: WorkerPlan): ReturnType<typeof defineLocalServer> {
  return defineLocalServer({
    name: 'desk',
    tools: [
      defineLocalTool({
        name: 'clock',
        description: 'Reads the clock of the desk.',
        inputSchema: z.object({}),
        annotations: { readOnlyHint: true },
        run: (_args, { idempotencyKey }) => {
          fs.appendFileSync(deskLog, `${idempotencyKey}\n`, { flush: true });
          return 'the desk clock stands at noon';
        },
      }),
    ],
  });
}

function completionTrap(armed: Trap, activityType: string): ActivityInboundCallsInterceptor {
  return {
    async execute(input, next) {
      const key = (input.args[0] as { readonly callKey?: string }).callKey;
      const isTarget = activityType === 'longshoreCallTool' && key === armed.target;
      if (isTarget) armed.spring('approved-start');
      const result: unknown = await next(input);
      if (activityType === 'longshoreCallModel') armed.spring('model-completion-before');
      if (isTarget) armed.spring('tool-completion-before');
      return result;
    },
  };
}
