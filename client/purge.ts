// The part of a purge that is Temporal's: which turns a session has there, and the deletion of their closed executions.
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isNotFound } from './errors.ts';
import { executionsOfTurn } from '../shared/approvals.ts';
import { messageOf } from '../shared/errors.ts';
import { AGENT_TURN_WORKFLOW } from '../shared/turn.ts';

/** Executions of a session's turns in Temporal. */
export interface PurgedExecutions {
  readonly deleted: readonly { readonly workflowId: string; readonly runId: string }[];
  readonly notDeleted: readonly { readonly workflowId: string; readonly runId: string; readonly reason: string }[];
}

/** Turns of a session by the Search Attribute, where it is registered; none where it is not. */
export async function turnsOfSession(client: Client, session: string): Promise<readonly string[]> {
  const query = `WorkflowType = 'longshoreAgentTurn' AND LongshoreSession = '${session.replaceAll("'", "''")}'`;
  const found = new Set<string>();
  try {
    for await (const { workflowId } of client.workflow.list({ query, pageSize: 1000 })) found.add(workflowId);
  } catch (error) {
    if (!isAttributeUnknown(error)) throw error;
  }
  return [...found];
}

/** How long Temporal may take until executions are gone: it deletes behind its own queues, half a minute after it was asked. */
const GONE_MS = 90_000;
const POLL_MS = 250;

interface Run {
  readonly workflowId: string;
  readonly runId: string;
}

/** Deletes every closed run of these turns, and waits until they are gone. What is not is named, with the reason. */
export async function deleteExecutions(client: Client, workflowIds: readonly string[]): Promise<PurgedExecutions> {
  const asked: Run[] = [];
  const notDeleted: (Run & { readonly reason: string })[] = [];
  const { namespace } = client.options;
  for (const workflowId of workflowIds) {
    const runs = await runsOf(client, workflowId);
    if (runs.length === 0) notDeleted.push(...(await runsInLine(client, workflowId)));
    for (const runId of runs) {
      const workflowExecution = { workflowId, runId };
      try {
        await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
        asked.push(workflowExecution);
      } catch (error) {
        // Gone since it was listed is what was wanted.
        if (isNotFound(error)) asked.push(workflowExecution);
        else notDeleted.push({ ...workflowExecution, reason: messageOf(error) });
      }
    }
  }
  const left = await leftAfterWaiting(client, asked);
  const reason = 'Temporal took the request and is not done yet; it goes on by itself while the server runs';
  return {
    deleted: asked.filter((run) => !left.includes(run)),
    notDeleted: [...notDeleted, ...left.map((run) => ({ ...run, reason }))],
  };
}

async function leftAfterWaiting(client: Client, asked: readonly Run[]): Promise<readonly Run[]> {
  const deadline = Date.now() + GONE_MS;
  for (let left = asked; ;) {
    const isLeft = await Promise.all(left.map(async (run) => isThere(client, run)));
    left = left.filter((_, index) => isLeft[index]);
    if (left.length === 0 || Date.now() > deadline) return left;
    await delay(POLL_MS);
  }
}

async function isThere(client: Client, { workflowId, runId }: Run): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId, runId).describe();
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

async function runsOf(client: Client, workflowId: string, more?: string): Promise<readonly string[]> {
  const query = `WorkflowId = '${workflowId.replaceAll("'", "''")}'${more === undefined ? '' : ` AND ${more}`}`;
  const runs: string[] = [];
  for await (const { runId } of client.workflow.list({ query })) runs.push(runId);
  return runs;
}

/** A turn in line stands in the history of a user's own Workflow, which is not ours to delete. */
async function runsInLine(client: Client, turnId: string): Promise<PurgedExecutions['notDeleted']> {
  const [, workflowId] = executionsOfTurn(turnId);
  if (workflowId === undefined) return [];
  const reason = `A Workflow of your own, which ran turn ${turnId} in line: its history has what the turn was told. Delete it yourself`;
  const runs = await runsOf(client, workflowId, `WorkflowType != '${AGENT_TURN_WORKFLOW}'`);
  return runs.map((runId) => ({ workflowId, runId, reason }));
}

function isAttributeUnknown(error: unknown): boolean {
  const text = `${messageOf(error)} ${error instanceof Error ? messageOf(error.cause) : ''}`;
  return /LongshoreSession/.test(text);
}
