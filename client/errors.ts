// Temporal's errors in the catalogue's words.
import { ServiceError, WorkflowNotFoundError, type WorkflowExecutionDescription } from '@temporalio/client';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import { isObject } from '../shared/json.ts';

/** gRPC's code for what is not there. */
const NOT_FOUND = 5;

/** Whether Temporal says that the execution does not exist. */
export function isNotFound(error: unknown): boolean {
  if (error instanceof WorkflowNotFoundError) return true;
  const cause = error instanceof ServiceError ? error.cause : error;
  return isObject(cause) && cause['code'] === NOT_FOUND;
}

/** gRPC's code for a request that the server will not take. */
const INVALID_ARGUMENT = 3;

/**
 * Whether the server no longer takes the place in a history at which a page ended: its own record of the execution has moved on
 * under the reader. Reading from the beginning works. The server has no other name for it than these words.
 */
export function isStalePage(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isObject(cause) && cause['code'] === INVALID_ARGUMENT && /branch tokens?\b/.test(messageOf(cause));
}

/** No turn of that id. */
export function turnNotFound(workflowId: string): LongshoreError {
  return new LongshoreError(
    'TurnNotFound',
    `There is no turn \`${workflowId}\` on this Temporal server and namespace`,
    'List the turns that are there with `longshore turns list`.',
  );
}

/** How an execution ended: a turn completes in Temporal however it ended, and says more where the Search Attributes are registered. */
export function endOf({
  status,
  searchAttributes,
}: Pick<WorkflowExecutionDescription, 'status' | 'searchAttributes'>): string {
  const [end] = searchAttributes?.['LongshoreStatus'] ?? [];
  return status.name === 'COMPLETED' && typeof end === 'string' ? end : status.name;
}

/** The turn has ended already. */
export function turnClosed(workflowId: string, status: string): LongshoreError {
  return new LongshoreError(
    'TurnClosed',
    `Turn \`${workflowId}\` has ended already (${status.toLowerCase()})`,
    `See how with \`longshore turns show ${workflowId}\`.`,
  );
}
