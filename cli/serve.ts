// What `dev` and `worker` share: a Worker in the foreground until Ctrl-C, the Worker's failure, or the server's end.
import type { LocalServer } from '../worker/services.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { AttachmentKind } from '../worker/dev-server.ts';
import { requireQueue } from './choose-worker.ts';
import type { HostedWorker } from './host-worker.ts';
import { hostWorker } from './host-worker.ts';
import type { CommandContext } from './command.ts';
import { reaching } from './temporal-faults.ts';
import { connectProject, openProject } from './project.ts';

/** How to serve. */
export interface ServeOptions {
  readonly kind: AttachmentKind & ('dev' | 'worker');
  readonly mcp?: string;
  readonly taskQueue?: string;
}

/**
 * Serves until interrupted; a second interruption ends the process without waiting. Exit code 0 after Ctrl-C.
 * Raises `WorkerClash` beside a Worker of another configuration on the same Task Queue.
 */
export async function serve(options: ServeOptions, context: CommandContext): Promise<number> {
  const { env, output, interrupts } = context;
  // Listened for from the start: Ctrl-C while the server starts must release it too.
  const interrupted = new Promise<'interrupted'>((resolve) => {
    interrupts.handle((count) => (count === 1 ? resolve('interrupted') : process.exit(130)));
  });
  const project = await openProject(context, { ...options, writes: true });
  const { config, mcp, home, taskQueue } = project;
  const server = await connectProject(project, options.kind, context);
  let worker: HostedWorker | undefined;
  try {
    await requireQueue(project, server, context.env);
    const hosting = { server, home, taskQueue, config, mcp, env, note: output.note };
    worker = await reaching(server, async () => hostWorker(hosting));
    // `checkConfig` has proved that these came from `defineLocalServer`.
    const localServers = (config.localServers ?? []) as readonly LocalServer[];
    tellWhere(context, {
      address: server.connectionOptions.address,
      namespace: server.namespace,
      taskQueue,
      uiUrl: server.embedded?.uiUrl ?? null,
      servers: [...Object.keys(mcp.mcp.servers), ...localServers.map(({ name }) => `${name} (local)`)],
    });
    const lost = server.embedded?.lost ?? new Promise<never>(() => {});
    const end = await Promise.race([interrupted, lost, worker.run.then(() => 'ended' as const)]);
    if (end instanceof LongshoreError) throw end;
    output.note(end === 'interrupted' ? 'Stopping: Activities under way may finish.' : 'The Worker has stopped.');
    return 0;
  } finally {
    await worker?.close();
    await server.embedded?.release();
  }
}

interface Place {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly uiUrl: string | null;
  readonly servers: readonly string[];
}

function tellWhere({ output }: CommandContext, place: Place): void {
  output.line(`${output.paint('green', 'Worker ready')} on Task Queue ${place.taskQueue}.`);
  output.line(`  Temporal     ${place.address}, namespace ${place.namespace}`);
  if (place.uiUrl !== null) output.line(`  Web UI       ${output.paint('cyan', place.uiUrl)}`);
  output.line(`  MCP servers  ${place.servers.length === 0 ? 'none configured' : place.servers.join(', ')}`);
  output.line(output.paint('dim', 'Ctrl-C stops it.'));
}
