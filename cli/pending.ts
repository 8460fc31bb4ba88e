// Tells of Activities that failed and will be tried again, and when: history says nothing of them until they end.
import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import proto from '@temporalio/proto';
import { MODEL_UNREACHABLE_ATTEMPTS } from '../shared/activity-options.ts';

const POLL_MS = 1_000;
const STARTED = proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;
/** A next try that is sooner is not worth a word. */
const WORTH_TELLING_MS = 3_000;

/** An Activity under way, as Temporal describes it. */
export type PendingActivity = NonNullable<WorkflowExecutionDescription['raw']['pendingActivities']>[number];

/** Who hears of what. */
export interface PendingListener {
  /** Hears of every new failed attempt once. */
  readonly tell: (text: string) => void;
  /** Hears at every look what is waited for until its next try, or null. */
  readonly waitFor: (text: string | null) => void;
}

/** Polls until stopped. */
export function watchPending(client: Client, workflowId: string, listener: PendingListener): { stop(): void } {
  const told = new Set<string>();
  const poll = async (): Promise<void> => {
    const description = await client.workflow.getHandle(workflowId).describe();
    const pending = description.raw.pendingActivities ?? [];
    const nowMs = Date.now();
    for (const activity of pending) {
      const key = `${activity.activityId}:${activity.attempt ?? 1}`;
      const text = told.has(key) ? null : failureText(activity, nowMs);
      if (text === null) continue;
      told.add(key);
      listener.tell(text);
    }
    listener.waitFor(waitText(pending, nowMs));
  };
  let running = false;
  const timer = setInterval(() => {
    if (running) return;
    running = true;
    // What this cannot learn now it learns next time; the turn itself is watched by its history.
    poll().then(
      () => (running = false),
      () => (running = false),
    );
  }, POLL_MS);
  return { stop: () => clearInterval(timer) };
}

/** That an attempt failed, of how many, when the next one is and why it failed; null for one that has not. */
export function failureText(pending: PendingActivity, nowMs: number): string | null {
  const attempt = pending.attempt ?? 1;
  const message = pending.lastFailure?.message;
  if (attempt < 2 || !message) return null;
  const isUnreachable = pending.lastFailure?.applicationFailureInfo?.type === 'ModelUnreachable';
  const most = isUnreachable ? MODEL_UNREACHABLE_ATTEMPTS : pending.maximumAttempts || 'any number';
  const next = nextTryMs(pending);
  const when = next === null || next - nowMs < WORTH_TELLING_MS ? '' : `, next try ${whenText(next, nowMs)}`;
  return `${nameOf(pending)} failed and is tried again (attempt ${attempt} of ${most})${when}: ${message}`;
}

/** What waits for its next try, the soonest first named; null when something runs or nothing waits long. */
export function waitText(pending: readonly PendingActivity[], nowMs: number): string | null {
  const waits = pending.map((activity) => ({ activity, next: nextTryMs(activity) }));
  if (waits.length === 0 || waits.some(({ next }) => next === null || next <= nowMs)) return null;
  const [first] = waits.toSorted((one, other) => (one.next ?? 0) - (other.next ?? 0));
  if (!first) return null;
  return `${nameOf(first.activity)} waits for its next try ${whenText(first.next ?? nowMs, nowMs)}`;
}

/** Older servers give no time of the next attempt, but when the last one ended and what comes between. */
function nextTryMs(pending: PendingActivity): number | null {
  // Only what failed before and has not begun again waits.
  if ((pending.attempt ?? 1) < 2 || pending.state === STARTED) return null;
  const given = millisecondsOf(pending.nextAttemptScheduleTime);
  if (given !== null) return given;
  const ended = millisecondsOf(pending.lastAttemptCompleteTime);
  const interval = millisecondsOf(pending.currentRetryInterval);
  return ended === null || interval === null ? null : ended + interval;
}

function millisecondsOf(
  time: PendingActivity['nextAttemptScheduleTime'] | PendingActivity['currentRetryInterval'],
): number | null {
  // A time that is not set has no seconds.
  const seconds = Number(time?.seconds ?? 0);
  return time && seconds + (time.nanos ?? 0) > 0 ? seconds * 1_000 + (time.nanos ?? 0) / 1_000_000 : null;
}

/** "in 59 min, at 22:31:05", by the clock of this machine. */
function whenText(atMs: number, nowMs: number): string {
  const seconds = Math.max(1, Math.round((atMs - nowMs) / 1_000));
  const minutes = Math.round(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const long = minutes < 120 ? `${minutes} min` : `${hours} h ${minutes % 60} min`;
  const at = new Date(atMs);
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');
  return `in ${seconds < 120 ? `${seconds} s` : long}, at ${clock}`;
}

function nameOf(pending: PendingActivity): string {
  return (pending.activityType?.name ?? 'Activity').replace('longshore', '');
}
