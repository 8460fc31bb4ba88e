// What `sweep` and `setup` do.
import { registerSearchAttributes, setUpSweepSchedule } from '../client/sweep-schedule.ts';
import { runSweep } from '../client/sweep.ts';
import { sweepTimes } from '../shared/sweep-settings.ts';
import { SWEEP_SCHEDULE_ID, type KeptReason, type RetentionSweepResult } from '../shared/sweep.ts';
import { SEARCH_ATTRIBUTES } from '../worker/dev-server.ts';
import { chooseWorker } from './choose-worker.ts';
import type { CommandContext } from './command.ts';
import { hostWorker } from './host-worker.ts';
import { withProjectClient, type ConnectedProject } from './with-client.ts';

/** Options of both. */
export interface SweepOptions {
  readonly dryRun?: boolean;
  readonly mcp?: string;
  readonly taskQueue?: string;
}

/** Runs a sweep, on a Worker that is there or on one of its own. Exit code 1 where it met problems. */
export async function sweepNow(options: SweepOptions, context: CommandContext): Promise<number> {
  const { output } = context;
  const work = async (connected: ConnectedProject): Promise<number> => {
    const result = await withWorker(connected, context, async (taskQueue) => {
      const { graceMs } = sweepTimes(connected.project.config.retention);
      return runSweep(connected.client, taskQueue, { dryRun: options.dryRun ?? false, graceMs });
    });
    if (output.isJson) output.json(result);
    else for (const line of resultLines(result)) output.line(line);
    return result.problems.length > 0 ? 1 : 0;
  };
  return withProjectClient(context, work, { ...options, kind: 'run' });
}

async function withWorker<T>(
  { client, server, project }: ConnectedProject,
  { env, output }: CommandContext,
  work: (taskQueue: string) => Promise<T>,
): Promise<T> {
  const { home, config, mcp } = project;
  const { taskQueue, startOwn } = await chooseWorker({ detach: false, worker: true }, project, {
    server,
    client,
    env,
  });
  if (!startOwn) return work(taskQueue);
  const note = (line: string): void => (line.includes(' ERROR ') ? output.note(line) : undefined);
  const worker = await hostWorker({ server, home, taskQueue, config, mcp, env, note });
  try {
    const failed = worker.run.then(() => new Promise<never>(() => {}));
    return await Promise.race([work(taskQueue), failed]);
  } finally {
    await worker.close();
  }
}

/** Registers Search Attributes, creates or updates the Schedule, and says what was done. */
export async function setUp(options: SweepOptions, context: CommandContext): Promise<void> {
  const { output } = context;
  await withProjectClient(
    context,
    async ({ client, project, server }) => {
      const times = sweepTimes(project.config.retention);
      const registered = await registerSearchAttributes(client, SEARCH_ATTRIBUTES);
      const { taskQueue } = project;
      const schedule = await setUpSweepSchedule(client, { taskQueue, ...times });
      const { namespace } = server;
      if (output.isJson) {
        const attributes = { registered, all: Object.keys(SEARCH_ATTRIBUTES) };
        output.json({
          namespace,
          taskQueue,
          searchAttributes: attributes,
          schedule: { id: SWEEP_SCHEDULE_ID, done: schedule, ...times },
        });
        return;
      }
      const news = registered.length === 0 ? 'all were there' : `registered ${registered.join(', ')}`;
      output.line(`Search Attributes of namespace ${namespace}: ${news}.`);
      output.line(
        `Schedule ${SWEEP_SCHEDULE_ID}: ${schedule}; every ${times.everyMs / 60_000} min on Task Queue ${taskQueue}.`,
      );
    },
    options,
  );
}

const REASONS: { readonly [reason in KeptReason]: string } = {
  open: 'files of open turns',
  continued: 'files that an open turn goes on from',
  held: 'held',
  'not-due': 'files whose retention is not over',
  young: 'blobs younger than the grace age',
  running: 'blobs that a running turn may have written',
  busy: 'blobs in a part of the store that was busy',
};

function resultLines(result: RetentionSweepResult): readonly string[] {
  const kept = Object.entries(result.kept) as [KeptReason, number][];
  return [
    result.dryRun ? 'Dry run: nothing was changed. A sweep would have:' : 'Swept:',
    `  turns      ${result.turns}, of them open ${result.openTurns}`,
    `  released   ${result.filesReleased} files of turns that are closed or gone`,
    `  deleted    ${result.filesDeleted} files, ${result.transcriptsDeleted} transcripts; all of ${result.manifestsDeleted} turns`,
    `  freed      ${result.blobsDeleted} blobs of ${result.bytesDeleted} bytes`,
    `  kept       ${result.blobsReferenced} blobs that something refers to`,
    ...kept.map(([reason, count]) => `             ${count} ${REASONS[reason]}`),
    ...(result.stopped ? ['  No blob was deleted, since it could not be told what is referred to:'] : []),
    ...result.problems.map(({ type, message, mend }) => `  ${type}: ${message} ${mend}`),
  ];
}
