// Reads a Workflow's history as it grows, decoded by the Client's own data converter and codecs.
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { temporal } from '@temporalio/proto';
import { isNotFound, isStalePage, turnNotFound } from './errors.ts';

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

/** How often in a row a page's place may be refused before the refusal is raised. */
const MOST_STALE_PAGES = 5;

/**
 * The events of an execution, page by page, each once and in order; raises `TurnNotFound`. Where the server refuses the place at
 * which a page ended, the history is read from its beginning, and what was given already is left out.
 */
export async function* readHistory(client: Client, options: HistoryOptions): AsyncGenerator<readonly HistoryEvent[]> {
  let nextPageToken: Uint8Array | undefined;
  let lastGiven = 0;
  let stalePages = 0;
  for (;;) {
    const page = await readPage(client, options, nextPageToken).catch((error: unknown) => {
      if (nextPageToken === undefined || !isStalePage(error) || stalePages >= MOST_STALE_PAGES) throw error;
      return null;
    });
    if (page === null) {
      stalePages += 1;
      nextPageToken = undefined;
      continue;
    }
    const events = page.events.filter((event) => Number(event.eventId) > lastGiven);
    if (events.length > 0) stalePages = 0;
    lastGiven = Number(events.at(-1)?.eventId ?? lastGiven);
    yield events;
    ({ nextPageToken } = page);
    if (!nextPageToken || options.signal?.aborted) return;
  }
}

interface HistoryPage {
  readonly events: readonly HistoryEvent[];
  readonly nextPageToken: Uint8Array | undefined;
}

async function readPage(
  client: Client,
  { workflowId, runId, follow = false, signal }: HistoryOptions,
  nextPageToken: Uint8Array | undefined,
): Promise<HistoryPage> {
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
  try {
    const response = await (signal ? client.connection.withAbortSignal(signal, call) : call());
    const token = response.nextPageToken;
    return { events: response.history?.events ?? [], nextPageToken: token?.length ? token : undefined };
  } catch (error) {
    throw isNotFound(error) ? turnNotFound(workflowId) : error;
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
