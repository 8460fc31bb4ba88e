// Reads a Workflow's history as it grows, decoded by the Client's own data converter and codecs.
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { temporal } from '@temporalio/proto';
import { isNotFound, turnNotFound } from './errors.ts';

/** One event of a history, as Temporal's API gives it. */
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;
type Payloads = temporal.api.common.v1.IPayloads;

/** Which execution to read, and whether to wait for events still to come. */
export interface HistoryOptions {
  readonly workflowId: string;
  readonly runId?: string;
  /** Goes on until the execution closes. @default false */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** One call's longest wait for a new event, in milliseconds; the server answers empty before that. */
const LONG_POLL_MS = 70_000;

/** The events of an execution, page by page; raises `TurnNotFound`. */
export async function* readHistory(client: Client, options: HistoryOptions): AsyncGenerator<readonly HistoryEvent[]> {
  const { workflowId, runId, follow = false, signal } = options;
  let nextPageToken: Uint8Array | undefined;
  for (;;) {
    const request = {
      namespace: client.options.namespace,
      execution: { workflowId, ...(runId !== undefined && { runId }) },
      ...(nextPageToken && { nextPageToken }),
      waitNewEvent: follow,
    };
    const call = (): ReturnType<typeof client.workflowService.getWorkflowExecutionHistory> =>
      client.connection.withDeadline(Date.now() + LONG_POLL_MS, () =>
        client.workflowService.getWorkflowExecutionHistory(request),
      );
    const response = await (signal ? client.connection.withAbortSignal(signal, call) : call()).catch(
      (error: unknown) => {
        throw isNotFound(error) ? turnNotFound(workflowId) : error;
      },
    );
    yield response.history?.events ?? [];
    nextPageToken = response.nextPageToken?.length ? response.nextPageToken : undefined;
    if (!nextPageToken || signal?.aborted) return;
  }
}

/** The first value of encoded payloads, as the caller's schema knows it. */
export async function decodeFirst<T>(
  client: Pick<Client, 'options'>,
  payloads: Payloads | null | undefined,
): Promise<T> {
  const [first] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads?.payloads ?? []);
  // What is decoded here was written by our own Workflow and Activities, whose types these are.
  return first as T;
}
