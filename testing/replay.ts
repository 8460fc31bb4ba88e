// The replay gate: runs the Workflow code of today over a stored history and compares every decision with the recorded one.
import type { DataConverter, LoadedDataConverter } from '@temporalio/common';
import { decodeArrayFromPayloads, loadDataConverter } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { historyFromJSON, type History } from '@temporalio/common/lib/proto-utils.js';
import type { temporal } from '@temporalio/proto';
import type { ReplayWorkerOptions } from '@temporalio/worker';
import {
  decisionsOf,
  type CallModelInput,
  type CallModelResult,
  type LongshoreActivities,
} from '../shared/activities.ts';
import { digestOf } from '../shared/digest.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import { ownBundle } from '../worker/create-worker.ts';
import { replayHistory } from './replayer.ts';

/** What to replay with. */
export interface ReplayOptions {
  /** @default Longshore's own Workflows */
  readonly workflows?: Pick<ReplayWorkerOptions, 'workflowBundle' | 'workflowsPath'>;
  /** @default the id that the history names, else `replay` */
  readonly workflowId?: string;
  /** That of the Client and the Workers that wrote the history, codecs included. @default the SDK's */
  readonly dataConverter?: DataConverter;
}

/** The Activities that are given decisions and answer with their digest. */
const COMMITTING: ReadonlySet<string> = new Set<keyof LongshoreActivities>([
  'longshoreCallModel',
  'longshoreCommitStep',
]);

/**
 * Replays a history offline: no server, no Activity, no model. Resolves when today's code makes the same commands and the
 * same decisions. Raises `DecisionMismatch` when a decision differs, in the code or in a tampered history, and the SDK's
 * error when commands do. Raises `UsageInvalid` when the data converter cannot read the history.
 * @param history a history, or its JSON as Temporal's CLI and Web UI write it
 */
export async function replayTurn(history: History | string, options: ReplayOptions = {}): Promise<void> {
  const parsed = typeof history === 'string' ? historyFromJSON(JSON.parse(history)) : history;
  const { workflows = { workflowBundle: await ownBundle() }, workflowId = idOf(parsed), dataConverter } = options;
  await checkRecordedDecisions(parsed, loadDataConverter(dataConverter));
  try {
    await replayHistory({ history: parsed, workflowId }, { ...workflows, ...(dataConverter && { dataConverter }) });
  } catch (error) {
    if (!messageOf(error).includes('DecisionMismatch')) throw error;
    throw mismatch(messageOf(error), error);
  }
}

function idOf({ events }: History): string {
  const id = events?.[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? '';
  return id === '' ? 'replay' : id;
}

/**
 * The decisions in an Activity's input against the digest in its result: the Workflow recomputes the one and compares it with
 * the other, but the SDK never looks at the recorded input.
 */
async function checkRecordedDecisions(history: History, converter: LoadedDataConverter): Promise<void> {
  const commits = new Map<string, string>();
  for (const event of history.events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled && COMMITTING.has(scheduled.activityType?.name ?? '')) {
      const input = await firstOf<CallModelInput>(scheduled.input, converter);
      if (input?.commit) commits.set(String(event.eventId), digestOf(decisionsOf(input.commit)));
    }
    const completed = event.activityTaskCompletedEventAttributes;
    const computed = completed && commits.get(String(completed.scheduledEventId));
    if (!completed || computed === undefined) continue;
    const recorded = (await firstOf<CallModelResult>(completed.result, converter))?.decisionsDigest;
    if (recorded === computed) continue;
    throw mismatch(
      `DecisionMismatch: the decisions given to the Activity of event ${String(completed.scheduledEventId)} have the digest ${computed}, but ${recorded ?? 'none'} is recorded`,
    );
  }
}

async function firstOf<T>(
  payloads: temporal.api.common.v1.IPayloads | null | undefined,
  converter: LoadedDataConverter,
): Promise<T | undefined> {
  try {
    const [first] = await decodeArrayFromPayloads(converter, payloads?.payloads ?? []);
    // Written by Longshore's own Workflow and Activities, whose types these are.
    return first as T | undefined;
  } catch (error) {
    throw new LongshoreError(
      'UsageInvalid',
      `The payloads of the history cannot be read: ${messageOf(error)}`,
      'Give `dataConverter` the one of the Client and the Workers that wrote the history, with its codecs.',
      { cause: error },
    );
  }
}

function mismatch(message: string, cause?: unknown): LongshoreError {
  return new LongshoreError(
    'DecisionMismatch',
    message,
    'Gate the change with a patch, or look at who changed the history.',
    { cause },
  );
}
