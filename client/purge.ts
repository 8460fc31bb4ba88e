// The part of a purge that is Temporal's: which turns a session has there, and the deletion of their closed executions.
import type { Client } from '@temporalio/client';
import { messageOf } from '../shared/errors.ts';

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

/** Deletes every closed run of these turns. What cannot be deleted is named, with the reason. */
export async function deleteExecutions(client: Client, workflowIds: readonly string[]): Promise<PurgedExecutions> {
  const deleted: { readonly workflowId: string; readonly runId: string }[] = [];
  const notDeleted: { readonly workflowId: string; readonly runId: string; readonly reason: string }[] = [];
  const { namespace } = client.options;
  for (const workflowId of workflowIds) {
    for (const runId of await runsOf(client, workflowId)) {
      try {
        await client.workflowService.deleteWorkflowExecution({ namespace, workflowExecution: { workflowId, runId } });
        deleted.push({ workflowId, runId });
      } catch (error) {
        notDeleted.push({ workflowId, runId, reason: messageOf(error) });
      }
    }
  }
  return { deleted, notDeleted };
}

async function runsOf(client: Client, workflowId: string): Promise<readonly string[]> {
  const query = `WorkflowId = '${workflowId.replaceAll("'", "''")}'`;
  const runs: string[] = [];
  for await (const { runId } of client.workflow.list({ query })) runs.push(runId);
  return runs;
}

function isAttributeUnknown(error: unknown): boolean {
  const text = `${messageOf(error)} ${error instanceof Error ? messageOf(error.cause) : ''}`;
  return /LongshoreSession/.test(text);
}
