// What the sweep asks Temporal: whether a turn is open, closed or gone, by Describe; and which turns run, by a listing that
// is only used to keep more. If Temporal does not answer, the error is passed on and nothing is deleted.
import { Context } from '@temporalio/activity';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { executionsOfTurn } from '../../shared/approvals.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import type { AgentTurnInput } from '../../shared/turn.ts';

/** Of the SDK, as a Worker's Activities have it. */
export type TemporalClient = Context['client'];

/** How Temporal sees a turn's Workflow. */
export type TurnStanding =
  | {
      readonly status: 'open';
      /** Nothing of it is under way: no Activity, no Workflow Task. */
      readonly isIdle: boolean;
      /** Milliseconds since 1970. */
      readonly startedMs: number;
    }
  | { readonly status: 'closed'; readonly closedMs: number; readonly ended: string }
  | { readonly status: 'gone' };

/** A turn that runs, as the listing has it. */
export interface RunningTurn {
  readonly workflowId: string;
  readonly startedMs: number;
}

/** What a turn's input says of it, before it has written anything itself. */
export interface TurnOrigin {
  readonly session: string;
  /** The turn it goes on from; null for one that begins anew. */
  readonly continues: string | null;
}

/** What the sweep needs of Temporal. Raises `TemporalUnavailable` (retryable). */
export interface TemporalView {
  /** A turn in line stands as the Workflow that runs it does: it has no execution of its own. */
  describe(workflowId: string): Promise<TurnStanding>;
  /** Turns that run; lags behind. */
  running(): AsyncIterable<RunningTurn>;
  /** From the input of a turn's own Workflow; null where there is none. */
  originOf(workflowId: string): Promise<TurnOrigin | null>;
  /** The run that a Workflow's id leads to now, open or closed; null where it is gone. */
  currentRun(workflowId: string): Promise<string | null>;
}

/** The view through the Client of the Worker that runs the Activity. */
export function workerTemporalView(): TemporalView {
  return temporalView(Context.current().client);
}

/** The view through any Client. */
export function temporalView(client: TemporalClient): TemporalView {
  return {
    async describe(workflowId) {
      for (const execution of executionsOfTurn(workflowId)) {
        const standing = await asking(async () => standingOf(client, execution));
        if (standing.status !== 'gone') return standing;
      }
      return { status: 'gone' };
    },
    async *running() {
      const query = "WorkflowType = 'longshoreAgentTurn' AND ExecutionStatus = 'Running'";
      const listing = client.workflow.list({ query, pageSize: 1000 })[Symbol.asyncIterator]();
      for (;;) {
        const next = await asking(() => listing.next());
        if (next.done === true) return;
        yield { workflowId: next.value.workflowId, startedMs: next.value.startTime.getTime() };
      }
    },
    originOf: async (workflowId) => asking(async () => originOf(client, workflowId)),
    currentRun: async (workflowId) =>
      asking(async () => unlessGone(async () => (await client.workflow.getHandle(workflowId).describe()).runId)),
  };
}

/** Where runs were reset or retried, each history begins with the same input. */
async function originOf(client: TemporalClient, workflowId: string): Promise<TurnOrigin | null> {
  const { namespace, loadedDataConverter } = client.options;
  const request = { namespace, execution: { workflowId }, maximumPageSize: 1 };
  const page = await unlessGone(async () => client.workflowService.getWorkflowExecutionHistory(request));
  const payloads = page?.history?.events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  const [first] = await decodeArrayFromPayloads(loadedDataConverter, payloads);
  if (first === undefined) return null;
  // The input of the one Workflow that is asked about.
  const { session, continueFrom } = first as Pick<AgentTurnInput, 'session' | 'continueFrom'>;
  return { session: session ?? continueFrom?.session ?? workflowId, continues: continueFrom?.workflowId ?? null };
}

async function unlessGone<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (nameOf(error) === 'WorkflowNotFoundError' || isNotFoundCode(error)) return null;
    throw error;
  }
}

/** Of gRPC, as requests that go around the Client's own errors have it. */
function isNotFoundCode(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 5 && !/namespace/i.test(error.message);
}

async function standingOf(client: TemporalClient, workflowId: string): Promise<TurnStanding> {
  try {
    const { status, startTime, closeTime, raw } = await client.workflow.getHandle(workflowId).describe();
    if (status.name === 'RUNNING') {
      const isIdle = (raw.pendingActivities ?? []).length === 0 && !raw.pendingWorkflowTask;
      return { status: 'open', isIdle, startedMs: startTime.getTime() };
    }
    // Closed Workflows have a close time; without one the start is the best that is known, and keeps too little never:
    // retention counts in days, and a turn's length is less.
    return { status: 'closed', closedMs: (closeTime ?? startTime).getTime(), ended: status.name.toLowerCase() };
  } catch (error) {
    if (nameOf(error) === 'WorkflowNotFoundError') return { status: 'gone' };
    throw error;
  }
}

/** Errors of the Client, of which the one over the Worker's own connection has no firm forms, as one of the catalogue. */
async function asking<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LongshoreError) throw error;
    const isMissing = nameOf(error) === 'NamespaceNotFoundError';
    throw new LongshoreError(
      'TemporalUnavailable',
      `Temporal could not be asked about turns: ${messageOf(error)}${causeOf(error)}`,
      isMissing
        ? 'Create the namespace, or name the right one: without Temporal nothing is deleted.'
        : 'See that the Temporal server answers: without it nothing is deleted.',
      { cause: error },
    );
  }
}

function causeOf(error: unknown): string {
  return error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : '';
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}
