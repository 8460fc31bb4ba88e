// What `longshore approvals` does: lists and shows what waits, sends decisions, and prints what came of them.
import type { Client } from '@temporalio/client';
import { getApproval, listApprovals, type Approval, type ApprovalDetails } from '../client/approvals.ts';
import { answer, approve, deny, resolveOutcome, type Decision, type OutcomeChoice } from '../client/decide.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { JsonObject } from '../shared/json.ts';
import type { TemporalServer } from '../worker/dev-server.ts';
import { approvalLines, approvalTable } from './approval-lines.ts';
import type { CommandContext } from './command.ts';
import { connectClient } from './connect-client.ts';
import { connectProject, openProject, type Project } from './project.ts';
import { parseArguments } from './prompt/dialog.ts';
import { openStore } from './store.ts';
import { takeDecision } from './take-decision.ts';
import { reaching } from './temporal-faults.ts';

/** What a decision is given on the command line. */
export interface DecisionRequest {
  readonly id: string;
  readonly reply:
    | { readonly type: 'approve'; readonly arguments?: JsonObject; readonly forSession: boolean }
    | { readonly type: 'deny' }
    | { readonly type: 'answer'; readonly text: string }
    | { readonly type: 'outcome'; readonly choice: OutcomeChoice };
  readonly options: { readonly reason?: string; readonly as?: string; readonly digest?: string };
}

/** `approvals list`. */
export async function printWaiting(
  options: { readonly turn?: string; readonly session?: string },
  context: CommandContext,
): Promise<void> {
  await withServer(context, async ({ client, store }) => {
    const { turn, session } = options;
    const found: readonly Approval[] = await listApprovals(client, {
      store,
      ...(turn !== undefined && { workflowId: turn }),
      ...(session !== undefined && { session }),
    });
    const { output } = context;
    if (output.isJson) return output.json(found);
    for (const line of approvalTable(found, Date.now())) output.line(line);
  });
}

/** `approvals show`. */
export async function printOne(id: string, context: CommandContext): Promise<void> {
  await withServer(context, async ({ client, store }) => {
    const details: ApprovalDetails = await getApproval(client, id, { store });
    const { output } = context;
    if (output.isJson) return output.json(details);
    for (const line of approvalLines(details, output.paint, Date.now())) output.line(line);
  });
}

/** `approvals approve`, `deny`, `answer`, `resolve`. */
export async function decideOn(request: DecisionRequest, context: CommandContext): Promise<void> {
  const { id, reply } = request;
  await withServer(context, async ({ client, server, project }) => {
    const needsActivities = reply.type === 'approve' && reply.arguments !== undefined;
    const requestId = crypto.randomUUID();
    const send = (timeoutMs: number): Promise<Decision> => sendDecision(client, request, { timeoutMs, requestId });
    const decided = await takeDecision({ id, needsActivities, send }, { client, server, project, context });
    const { output } = context;
    if (output.isJson) return output.json(decided);
    const again = decided.repeated ? `; the same decision stood since ${decided.decidedAt}` : '';
    output.line(`${wordOf(request)}: call ${decided.callKey} of turn ${decided.workflowId}${again}.`);
  });
}

async function sendDecision(
  client: Client,
  { id, reply, options }: DecisionRequest,
  sending: { readonly timeoutMs: number; readonly requestId: string },
): Promise<Decision> {
  const { reason, as, digest } = options;
  const common = {
    ...sending,
    ...(reason !== undefined && { reason }),
    ...(as !== undefined && { approver: as }),
    ...(digest !== undefined && { digest }),
  };
  switch (reply.type) {
    case 'approve': {
      const { arguments: changed, forSession } = reply;
      return approve(client, id, { ...common, forSession, ...(changed && { arguments: changed }) });
    }
    case 'deny':
      return deny(client, id, common);
    case 'answer':
      return answer(client, id, reply.text, common);
    case 'outcome':
      return resolveOutcome(client, id, reply.choice, common);
  }
}

function wordOf({ reply }: DecisionRequest): string {
  switch (reply.type) {
    case 'approve':
      return `Approved${reply.arguments ? ' with changed arguments' : ''}${reply.forSession ? ' for the rest of the session' : ''}`;
    case 'deny':
      return 'Denied';
    case 'answer':
      return 'Answered';
    case 'outcome':
      return { 'run-again': 'To run again', done: 'Taken as done', 'give-up': 'Given up' }[reply.choice];
  }
}

/** The arguments of `--arguments`. Raises `UsageInvalid`. */
export function requireArguments(text: string): JsonObject {
  const parsed = parseArguments(text);
  if ('arguments' in parsed) return parsed.arguments;
  throw new LongshoreError(
    'UsageInvalid',
    `--arguments cannot be used: ${parsed.problem}`,
    `Give one JSON object in quotes, as in --arguments '{"path": "notes.md"}'.`,
  );
}

/** The one choice of `approvals resolve`. Raises `UsageInvalid`. */
export function requireChoice(options: {
  readonly runAgain?: true;
  readonly done?: true;
  readonly giveUp?: true;
}): OutcomeChoice {
  const given: readonly OutcomeChoice[] = [
    ...(options.runAgain ? (['run-again'] as const) : []),
    ...(options.done ? (['done'] as const) : []),
    ...(options.giveUp ? (['give-up'] as const) : []),
  ];
  const [choice, another] = given;
  if (choice !== undefined && another === undefined) return choice;
  throw new LongshoreError(
    'UsageInvalid',
    another === undefined ? 'approvals resolve needs a choice' : `approvals resolve was given ${given.length} choices`,
    'Give one of --run-again, --done and --give-up.',
  );
}

interface Place {
  readonly client: Client;
  readonly store: FileStore;
  readonly server: TemporalServer;
  readonly project: Project;
}

async function withServer(context: CommandContext, work: (place: Place) => Promise<void>): Promise<void> {
  const project = await openProject(context);
  const server = await connectProject(project, 'read', context);
  try {
    await reaching(server, async () => {
      const client = await connectClient(server);
      try {
        await work({ client, store: openStore(project.home, context.env, project.config), server, project });
      } finally {
        await client.connection.close();
      }
    });
  } finally {
    await server.embedded?.release();
  }
}
