// What the trials share: an embedded server on a home of its own, a scripted model, the servers of tools, the Workflow bundle.
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { startScriptedModel, type ScriptedModelServer, type ScriptedRequest } from '../../testing/scripted-model.ts';
import { ownBundle } from '../../worker/create-worker.ts';
import { attachDevServer, type DevServerLease } from '../../worker/dev-server.ts';
import { openHome, type Home } from '../../worker/home.ts';
import { startEffectServers, type EffectServers } from './effects.ts';
import { startRescuer, type Rescuer } from './process.ts';
import { answerTo } from './script.ts';

/** Told of a request of a trial's model, and of its answer once that is on its way; the answer waits for the first. */
export interface ModelHook {
  readonly before: (request: ScriptedRequest) => Promise<void>;
  readonly after: () => void;
}

/** A place for trials. */
export interface CrashWorld {
  readonly folder: string;
  readonly home: Home;
  readonly address: string;
  readonly client: Client;
  readonly bundlePath: string;
  readonly model: ScriptedModelServer;
  readonly effects: EffectServers;
  /** By the model's name. */
  readonly modelHooks: Map<string, ModelHook>;
  readonly rescuer: Rescuer;
  /** Of the client and the Workers, where histories are to be kept. */
  readonly identity: string | undefined;
  /** Releases a lease when the world closes: on a server that a trial has brought up again. */
  hold(lease: DevServerLease): void;
  close(): Promise<void>;
}

/** Where the server runs. `address`: one that runs already; else an embedded one is brought up. */
export interface CrashWorldOptions {
  readonly address?: string;
  /** Settings of the embedded server, such as `LONGSHORE_PORT`. */
  readonly env?: Readonly<Record<string, string>>;
  /** Of the client and the Workers; ids of turns then have no random part. For histories that are kept. @default the SDK's */
  readonly identity?: string;
}

/** Makes the world; close it when done. */
export async function openCrashWorld(options: CrashWorldOptions = {}): Promise<CrashWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-crash-'));
  const env = { ...process.env, ...options.env, LONGSHORE_HOME: join(folder, 'home') };
  const home = await openHome(env, folder);
  const leases: DevServerLease[] = [];
  if (options.address === undefined) leases.push(await attachDevServer(home, { kind: 'dev', env }));
  const address = options.address ?? leases[0]?.address ?? '';
  const modelHooks = new Map<string, ModelHook>();
  const model = await startScriptedModel(async (request) => {
    const hook = modelHooks.get(request.model);
    await hook?.before(request);
    // The answer is written as soon as this function has returned.
    if (hook) setTimeout(hook.after, 1);
    return answerTo(request);
  });
  const bundlePath = join(folder, 'workflows.js');
  const bundle = await ownBundle();
  if ('code' in bundle) await writeFile(bundlePath, bundle.code);
  else await copyFile(bundle.codePath, bundlePath);
  const effects = await startEffectServers();
  const rescuer = await startRescuer();
  const connection = await Connection.connect({ address });
  return {
    folder,
    home,
    address,
    client: new Client({ connection, ...(options.identity !== undefined && { identity: options.identity }) }),
    identity: options.identity,
    bundlePath,
    model,
    effects,
    modelHooks,
    rescuer,
    hold: (lease) => void leases.push(lease),
    async close() {
      await rescuer.end();
      await connection.close();
      await Promise.all([model.close(), effects.close()]);
      await Promise.all(leases.map((lease) => lease.release()));
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
    },
  };
}
