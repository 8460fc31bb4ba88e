// What Temporal knows of an execution, where it knows it.
import type { Client } from '@temporalio/client';
import { isNotFound } from './errors.ts';

/** The queue and type of an execution, or null where there is none of that id. */
export async function describeExecution(
  client: Client,
  workflowId: string,
): Promise<{ readonly taskQueue: string; readonly type: string } | null> {
  try {
    return await client.workflow.getHandle(workflowId).describe();
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
