// Sees that a decision meets a Worker: one that is attached to the embedded server, any that polls a named one, else one that this
// command brings up for as long as it takes.
import type { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { describeExecution } from '../client/executions.ts';
import { executionsOfTurn, parseApprovalId } from '../shared/approvals.ts';
import { LongshoreError } from '../shared/errors.ts';
import { AGENT_TURN_WORKFLOW } from '../shared/turn.ts';
import type { TemporalServer } from '../worker/dev-server.ts';
import { withDecider } from '../worker/decider.ts';
import { hasPollers } from './choose-worker.ts';
import type { CommandContext } from './command.ts';
import { installRuntime } from './host-worker.ts';
import { ownCommand } from './own-command.ts';
import type { Project } from './project.ts';

/** How long a decision may take with a Worker that is known, and with one that may be gone, in milliseconds. */
const KNOWN_MS = 30_000;
const UNSURE_MS = 4_000;

/** A decision to send. */
export interface DecisionToTake<T> {
  readonly id: string;
  /** Changed arguments are checked by an Activity, which only a whole Worker runs. */
  readonly needsActivities: boolean;
  readonly send: (timeoutMs: number) => Promise<T>;
}

/** Where it is sent. */
export interface DecisionPlace {
  readonly client: Client;
  readonly server: TemporalServer;
  readonly project: Project;
  readonly context: CommandContext;
}

/**
 * Sends a decision. Raises what sending raises; `WorkerMissing` where changed arguments have no Worker to check them, or a named
 * server's Workers are away.
 */
export async function takeDecision<T>(decision: DecisionToTake<T>, place: DecisionPlace): Promise<T> {
  const { client, server } = place;
  const turn = await turnOf(client, decision.id);
  // Sending says what is wrong with the id.
  if (!turn || !server.embedded) return decision.send(KNOWN_MS);
  const { taskQueue } = turn;
  const attached = await server.embedded.workers();
  if (attached.some(({ worker }) => worker?.taskQueue === taskQueue)) return decision.send(KNOWN_MS);
  // A program of the user's own may poll, but one that ended is listed for minutes too.
  if (await hasPollers(client, taskQueue)) {
    const taken = await unlessMissing(() => decision.send(UNSURE_MS));
    if (taken) return taken.value;
  }
  if (decision.needsActivities) throw workerMissing(taskQueue);
  if (turn.type !== AGENT_TURN_WORKFLOW) return decision.send(KNOWN_MS);
  return withOwnWorker(decision, taskQueue, place);
}

async function withOwnWorker<T>(decision: DecisionToTake<T>, taskQueue: string, place: DecisionPlace): Promise<T> {
  const { server, project, context } = place;
  const { output } = context;
  installRuntime(project.home, (line) => (line.includes(' ERROR ') ? output.note(line) : undefined));
  const connection = await NativeConnection.connect(server.connectionOptions);
  try {
    const { namespace } = server;
    const taken = await withDecider({ connection, namespace, taskQueue }, () => decision.send(KNOWN_MS));
    output.note(`No Worker runs on Task Queue ${taskQueue}: the turn goes on once one does, as by`);
    output.note(`  ${ownCommand()} worker --task-queue ${taskQueue}`);
    return taken;
  } finally {
    await connection.close();
  }
}

async function turnOf(
  client: Client,
  id: string,
): Promise<{ readonly taskQueue: string; readonly type: string } | null> {
  for (const execution of executionsOfTurn(parseApprovalId(id)?.workflowId ?? '')) {
    const found = execution === '' ? null : await describeExecution(client, execution);
    if (found) return found;
  }
  return null;
}

/** Null where no Worker took it. */
async function unlessMissing<T>(send: () => Promise<T>): Promise<{ readonly value: T } | null> {
  try {
    return { value: await send() };
  } catch (error) {
    if (error instanceof LongshoreError && error.type === 'WorkerMissing') return null;
    throw error;
  }
}

function workerMissing(taskQueue: string): LongshoreError {
  return new LongshoreError(
    'WorkerMissing',
    `Changed arguments are checked by a Worker, and none runs on Task Queue \`${taskQueue}\`: nothing was sent`,
    `Start one with \`${ownCommand()} worker --task-queue ${taskQueue}\` in another terminal, then decide again.`,
  );
}
