// What the Activities of a sweep share: a bounded number of items under way, progress in heartbeat details, and a next attempt
// that goes on where the one before stopped.
import { Context } from '@temporalio/activity';
import { runAttempt, type Attempt } from '../attempt.ts';
import type { ActivityDependencies, RetentionDependencies } from '../dependencies.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { isObject } from '../../shared/json.ts';
import { addTally, EMPTY_TALLY, type SweepTally } from '../../shared/sweep.ts';
import { workerTemporalView, type TemporalView } from './temporal-view.ts';

/** Requests to Temporal and the store that are under way at once. */
const CONCURRENCY = 16;
/** After so many items the progress moves on. */
const CHUNK_ITEMS = 64;

/** What the Activities of a sweep work with. */
export type SweepDependencies = Pick<ActivityDependencies, 'store' | 'redact' | 'retention'>;

/** How an Activity asks Temporal. */
export function viewOf({ retention }: { readonly retention?: RetentionDependencies }): TemporalView {
  return (retention?.temporal ?? workerTemporalView)();
}

/** The time to judge by: a clock that runs ahead deletes too early, so that the one which is behind counts. */
export function sweepTime({ retention }: SweepDependencies): number {
  if (retention?.now) return retention.now();
  return Math.min(Date.now(), Context.current().info.currentAttemptScheduledTimestampMs);
}

/**
 * Does one item after another and adds up what they counted. An attempt after one that died goes on after the last chunk that
 * was done. Raises `CancelledFailure` between chunks when the Activity is cancelled.
 */
export async function runPaged<T>(
  { redact }: SweepDependencies,
  load: (attempt: Attempt) => Promise<readonly T[]>,
  work: (item: T) => Promise<Partial<SweepTally>>,
): Promise<SweepTally> {
  let progress = progressOf(Context.current().info.heartbeatDetails);
  return runAttempt(
    redact,
    async (attempt) => {
      const items = await load(attempt);
      while (progress.done < items.length) {
        attempt.signal.throwIfAborted();
        const chunk = items.slice(progress.done, progress.done + CHUNK_ITEMS);
        const tallies = await eachOf(chunk, work);
        progress = { done: progress.done + chunk.length, tally: tallies.reduce<SweepTally>(addTally, progress.tally) };
      }
      return progress.tally;
    },
    () => progress,
  );
}

/** Results of work on each item, in their order; at most 16 are under way. The first failure is passed on. */
export async function eachOf<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const entries = items.entries();
  const lanes = Array.from({ length: Math.min(CONCURRENCY, items.length) }, async () => {
    for (const [index, item] of entries) results[index] = await work(item);
  });
  await Promise.all(lanes);
  return results;
}

/** Removes objects. */
export async function deleteObjects(store: FileStore, keys: readonly string[]): Promise<number> {
  if (store.deleteObjects && keys.length > 1) await store.deleteObjects(keys);
  else await eachOf(keys, async (key) => store.deleteObject(key));
  return keys.length;
}

interface Progress {
  readonly done: number;
  readonly tally: SweepTally;
}

/** Details of heartbeats are only written here. */
function progressOf(details: unknown): Progress {
  if (isObject(details) && typeof details['done'] === 'number') return details as unknown as Progress;
  return { done: 0, tally: EMPTY_TALLY };
}
