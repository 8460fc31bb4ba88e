// Tells of Activities that failed and will be tried again: history says nothing of them until they end.
import type { Client } from '@temporalio/client';
import { MODEL_UNREACHABLE_ATTEMPTS } from '../shared/activity-options.ts';

const POLL_MS = 1_000;

/** Polls until stopped; `tell` hears of every new failed attempt once. */
export function watchPending(client: Client, workflowId: string, tell: (text: string) => void): { stop(): void } {
  const told = new Set<string>();
  const poll = async (): Promise<void> => {
    const description = await client.workflow.getHandle(workflowId).describe();
    for (const pending of description.raw.pendingActivities ?? []) {
      const attempt = pending.attempt ?? 1;
      const message = pending.lastFailure?.message;
      const key = `${pending.activityId}:${attempt}`;
      if (attempt < 2 || !message || told.has(key)) continue;
      told.add(key);
      const isUnreachable = pending.lastFailure?.applicationFailureInfo?.type === 'ModelUnreachable';
      const most = isUnreachable ? MODEL_UNREACHABLE_ATTEMPTS : pending.maximumAttempts || 'any number';
      const name = (pending.activityType?.name ?? 'Activity').replace('longshore', '');
      tell(`${name} failed and is tried again (attempt ${attempt} of ${most}): ${message}`);
    }
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
