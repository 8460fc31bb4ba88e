// The replay gate: runs the Workflow code of today over a stored history and compares every decision with the recorded one.
import { defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON, type History } from '@temporalio/common/lib/proto-utils.js';
import type { temporal } from '@temporalio/proto';
import { Worker, type ReplayWorkerOptions } from '@temporalio/worker';
import { decisionsOf, type CallModelInput, type CallModelResult } from '../shared/activities.ts';
import { digestOf } from '../shared/digest.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import { workflowSource } from '../worker/create-worker.ts';

/** What to replay with. */
export interface ReplayOptions {
  /** @default Longshore's own Workflows */
  readonly workflows?: Pick<ReplayWorkerOptions, 'workflowBundle' | 'workflowsPath'>;
  /** @default `replay` */
  readonly workflowId?: string;
}

/**
 * Replays a history offline: no server, no Activity, no model. Resolves when today's code makes the same commands and the
 * same decisions. Raises `DecisionMismatch` when a decision differs, in the code or in a tampered history, and the SDK's
 * error when commands do.
 * @param history a history, or its JSON as Temporal's CLI and Web UI write it
 */
export async function replayTurn(history: History | string, options: ReplayOptions = {}): Promise<void> {
  const parsed = typeof history === 'string' ? historyFromJSON(JSON.parse(history)) : history;
  checkRecordedDecisions(parsed);
  try {
    await Worker.runReplayHistory(options.workflows ?? workflowSource(), parsed, options.workflowId ?? 'replay');
  } catch (error) {
    if (!messageOf(error).includes('DecisionMismatch')) throw error;
    throw mismatch(messageOf(error), error);
  }
}

/**
 * The decisions in an Activity's input against the digest in its result: the Workflow recomputes the one and compares it with
 * the other, but the SDK never looks at the recorded input.
 */
function checkRecordedDecisions(history: History): void {
  const commits = new Map<string, string>();
  for (const event of history.events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    // Only Longshore's own Activities have a `commit` in their input.
    const input = firstOf(scheduled?.input?.payloads) as CallModelInput | null;
    if (scheduled && input?.commit) commits.set(String(event.eventId), digestOf(decisionsOf(input.commit)));
    const completed = event.activityTaskCompletedEventAttributes;
    const computed = completed && commits.get(String(completed.scheduledEventId));
    if (!completed || computed === undefined) continue;
    const recorded = (firstOf(completed.result?.payloads) as CallModelResult | null)?.decisionsDigest;
    if (recorded === computed) continue;
    throw mismatch(
      `DecisionMismatch: the decisions given to the Activity of event ${String(completed.scheduledEventId)} have the digest ${computed}, but ${recorded ?? 'none'} is recorded`,
    );
  }
}

function firstOf(payloads: readonly temporal.api.common.v1.IPayload[] | null | undefined): unknown {
  const [payload] = payloads ?? [];
  return payload ? defaultPayloadConverter.fromPayload(payload) : null;
}

function mismatch(message: string, cause?: unknown): LongshoreError {
  return new LongshoreError(
    'DecisionMismatch',
    message,
    'Gate the change with a patch, or look at who changed the history.',
    { cause },
  );
}
