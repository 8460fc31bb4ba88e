// `longshore run`: one turn to its end, with what it needs brought up and put away again.
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { AskedCall } from '../client/asked-calls.ts';
import { cancelTurn, describeTurn, requireQuestion, startTurn, watchTurn } from '../client/turns.ts';
import type { TurnView } from '../client/turn-view.ts';
import type { UserMessage } from '../shared/messages.ts';
import type { TemporalServer } from '../worker/dev-server.ts';
import { chooseWorker, hasPollers } from './choose-worker.ts';
import { connectClient } from './connect-client.ts';
import { errorLines } from './failure.ts';
import { hostWorker } from './host-worker.ts';
import { EXIT_INTERRUPTED, Interrupted } from './interrupts.ts';
import { type Interruption, untilLeft } from './leave-turn.ts';
import { loadSpec, type LoadedSpec } from './load-spec.ts';
import type { Output } from './output.ts';
import { ownCommand } from './own-command.ts';
import { watchPending } from './pending.ts';
import { checkLaunch, checkServers } from './preflight.ts';
import { progressPrinter, summaryLines } from './progress.ts';
import { createAsker, createTeller, type Asker } from './prompt/ask.ts';
import { connectProject, openProject, type Project } from './project.ts';
import type { CommandContext } from './command.ts';
import { openStore } from './store.ts';
import { reaching } from './temporal-faults.ts';
import { type MessageOptions, readMessage } from './user-input.ts';
import { elsewhereLines } from './waiting-lines.ts';

/** What the command line says. */
export interface RunOptions extends MessageOptions {
  readonly mcp?: string;
  readonly continue?: string;
  readonly session?: string;
  readonly taskQueue?: string;
  readonly detach?: boolean;
  /** False for `--no-worker`. */
  readonly worker: boolean;
}

interface Run {
  readonly context: CommandContext;
  readonly options: RunOptions;
  readonly project: Project;
  readonly loaded: LoadedSpec;
  readonly message: UserMessage | null;
  /** Called once more for each interruption; set as the run goes on. */
  readonly interruption: Interruption;
}

/** Runs; gives the exit code. */
export async function runTurn(file: string, options: RunOptions, context: CommandContext): Promise<number> {
  const interruption: Interruption = { count: 0, onInterrupt: () => {} };
  const stopped = new Promise<never>((_resolve, reject) => {
    interruption.onInterrupt = () => reject(new Interrupted());
  });
  stopped.catch(() => {});
  const release = context.interrupts.handle((count) => {
    interruption.count = count;
    interruption.onInterrupt();
  });
  try {
    const loaded = await loadSpec(file, context.cwd);
    for (const { path, message } of loaded.notes) context.output.note(`note: ${path}: ${message}`);
    const message = await Promise.race([stopped, readMessage(options, context.cwd)]);
    requireQuestion(loaded.spec, message);
    const project = await openProject(context, {
      mcp: options.mcp,
      spec: file,
      taskQueue: options.taskQueue,
      writes: true,
    });
    if (options.worker && !options.detach) checkServers(loaded.spec, project);
    // Where that is cut short, the end of this process is what tells the server's keeper.
    const server = await Promise.race([stopped, connectProject(project, 'run', context)]);
    try {
      const run = { context, options, project, loaded, message, interruption };
      return await reaching(server, async () => withServer(run, server, stopped));
    } finally {
      await server.embedded?.release();
    }
  } finally {
    release();
  }
}

async function withServer(run: Run, server: TemporalServer, stopped: Promise<never>): Promise<number> {
  const { context, project, options } = run;
  const client = await connectClient(server);
  try {
    const wish = { detach: options.detach ?? false, worker: options.worker };
    const choice = await Promise.race([stopped, chooseWorker(wish, project, { server, client, env: context.env })]);
    if (wish.detach) return await startDetached(run, client, choice.taskQueue);
    if (!choice.startOwn && !options.worker && !(await hasPollers(client, choice.taskQueue))) {
      context.output.note(`No Worker polls Task Queue ${choice.taskQueue} yet: the turn waits for one.`);
    }
    const { home, config, mcp } = project;
    const { env, output } = context;
    if (choice.startOwn) await checkLaunch(run.loaded.spec, project, env);
    // Attempts that failed are told by `watchPending`; the log file has the rest.
    const note = (line: string): void => (line.includes(' ERROR ') ? output.note(line) : undefined);
    const hosting = { server, home, taskQueue: choice.taskQueue, config, mcp, env, note };
    const worker = choice.startOwn ? await hostWorker(hosting) : null;
    try {
      const failed = worker?.run.then(() => new Promise<never>(() => {})) ?? new Promise<never>(() => {});
      const lost = server.embedded?.lost.then((error) => Promise.reject(error)) ?? new Promise<never>(() => {});
      return await Promise.race([toItsEnd(run, client, { server, taskQueue: choice.taskQueue }), failed, lost]);
    } finally {
      await worker?.close();
    }
  } finally {
    await client.connection.close();
  }
}

async function startDetached(run: Run, client: Client, taskQueue: string): Promise<number> {
  const workflowId = newTurnId();
  const handle = await startTurn(client, turnOptions(run, workflowId, taskQueue));
  const { output } = run.context;
  if (output.isJson) output.json({ workflowId, runId: handle.firstExecutionRunId, status: 'running' });
  else output.line(workflowId);
  return 0;
}

async function toItsEnd(
  run: Run,
  client: Client,
  place: { readonly server: TemporalServer; readonly taskQueue: string },
): Promise<number> {
  const { context, interruption, project } = run;
  const { output } = context;
  if (interruption.count > 0) throw new Interrupted();
  const workflowId = newTurnId();
  const watching = new AbortController();
  // There is no turn to cancel yet: what comes now counts once there is one.
  interruption.onInterrupt = () => {};
  output.live('starting the turn');
  await startTurn(client, turnOptions(run, workflowId, place.taskQueue));
  output.line(`${output.paint('bold', 'turn')} ${workflowId}  ${output.paint('dim', `Task Queue ${place.taskQueue}`)}`);
  const left = untilLeft(interruption, {
    cancel: async () => cancelTurn(client, workflowId),
    note: output.note,
    hints: leavingHints(run, workflowId, place.taskQueue),
  });
  const live = liveLine(output);
  const asking = openAsking(run, client, { server: place.server, prompt: live.prompt });
  const print = progressPrinter({ ...output, live: live.show });
  const pending = watchPending(client, workflowId, {
    tell: (text) => output.line(`  ${output.paint('yellow', text)}`),
    waitFor: live.waitFor,
  });
  try {
    const record = await Promise.race([
      watchTurn(client, workflowId, {
        onNews: (news, now) => {
          print(news, now);
          asking.sync(now.asked.waiting());
        },
        signal: watching.signal,
      }),
      left,
    ]);
    interruption.onInterrupt = () => {};
    output.endLive();
    const view = await describeTurn(client, record, openStore(project.home, context.env, project.config));
    if (output.isJson) output.json(view);
    else tellEnd(view, output, linksOf(place.server, workflowId, view.runId));
    if (interruption.count > 0) return EXIT_INTERRUPTED;
    return view.status === 'completed' ? 0 : 1;
  } finally {
    watching.abort();
    pending.stop();
    asking.close();
    output.endLive();
  }
}

/** Asks in the terminal where there is one to type at; else says how to decide from elsewhere. */
function openAsking(
  { context, project }: Run,
  client: Client,
  place: { readonly server: TemporalServer; readonly prompt: (text: string | null) => void },
): Asker {
  const { output, interrupts, env } = context;
  const { connectionOptions, namespace } = place.server;
  const server = { address: connectionOptions.address, namespace };
  const tell = (calls: readonly AskedCall[]): void => {
    for (const line of elsewhereLines(calls, server)) output.line(`  ${line}`);
  };
  if (!output.isTerminal || !process.stdin.isTTY) return createTeller(tell);
  const store = openStore(project.home, env, project.config);
  const { prompt } = place;
  return createAsker({
    client,
    store,
    input: process.stdin,
    output,
    prompt,
    onInterrupt: interrupts.raise,
    onLater: tell,
  });
}

/** The live lines have three voices: what the turn does, or in its stead what waits for its next try, and below it a prompt. */
function liveLine(output: Output): {
  readonly show: (text: string) => void;
  readonly waitFor: (text: string | null) => void;
  readonly prompt: (text: string | null) => void;
} {
  let shown = '';
  let waiting: string | null = null;
  let prompt: string | null = null;
  const draw = (): void => output.live([waiting ?? shown, ...(prompt === null ? [] : [prompt])].join('\n'));
  return {
    show: (text) => {
      shown = text;
      draw();
    },
    waitFor: (text) => {
      if (text === null && waiting === null) return;
      waiting = text;
      draw();
    },
    prompt: (text) => {
      if (text === null && prompt === null) return;
      prompt = text;
      draw();
    },
  };
}

/** The summary, and what made the turn fail in the one form of all errors. */
function tellEnd(view: TurnView, output: Output, links: Parameters<typeof summaryLines>[2]): void {
  for (const line of summaryLines({ ...view, error: null }, output.paint, links)) output.line(line);
  if (view.error && view.status !== 'cancelled') for (const line of errorLines(view.error)) output.note(line);
}

/** How to find a turn again that was left. */
function leavingHints({ project }: Run, workflowId: string, taskQueue: string): readonly string[] {
  const { source } = project.mcp.mcp;
  const mcpFile = source.endsWith('.json') ? ` --mcp ${source}` : '';
  return [
    `Left running: turn ${workflowId}. It goes on when a Worker runs again, and hears then that it is to cancel:`,
    `  ${ownCommand()} worker --task-queue ${taskQueue}${mcpFile}`,
    `  ${ownCommand()} turns show ${workflowId}`,
  ];
}

function turnOptions(run: Run, workflowId: string, taskQueue: string): Parameters<typeof startTurn>[1] {
  const { options, loaded, message } = run;
  return {
    workflowId,
    taskQueue,
    spec: loaded.spec,
    ...(message && { message }),
    ...(options.session !== undefined && { session: options.session }),
    ...(options.continue !== undefined && { continueFrom: options.continue }),
  };
}

function newTurnId(): string {
  return `turn-${randomUUID().slice(0, 13)}`;
}

function linksOf(server: TemporalServer, workflowId: string, runId: string): Parameters<typeof summaryLines>[2] {
  const ui = server.embedded?.uiUrl;
  const path = `namespaces/${server.namespace}/workflows/${workflowId}/${runId}/history`;
  return {
    uiUrl: ui === undefined ? null : `${ui.replace(/\/$/, '')}/${path}`,
    command: `${ownCommand()} turns show ${workflowId}`,
  };
}
