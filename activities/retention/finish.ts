// The end of a sweep: journals of turns that nobody knows any more, tombstones that have stood for a year, and its own notes.
import { runAttempt } from '../attempt.ts';
import { oldTombstones } from '../store/tombstones.ts';
import { MANIFESTS_FOLDER } from '../store/manifest.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { SweepFrame, SweepPageResult } from '../../shared/sweep.ts';
import { deleteObjects, eachOf, viewOf, type SweepDependencies } from './paging.ts';
import { removeNotes } from './scratch.ts';
import type { TemporalView } from './temporal-view.ts';

/** Tombstones stand for a year. */
const TOMBSTONE_LIFE_MS = 365 * 86_400_000;

/** Makes the Activity `longshoreSweepFinish`. */
export function createSweepFinish(
  dependencies: SweepDependencies,
): (input: { readonly frame: SweepFrame }) => Promise<SweepPageResult> {
  const { store, redact } = dependencies;
  return ({ frame }) =>
    runAttempt(redact, async () => {
      const journals = await idleJournals(store, viewOf(dependencies));
      const tombstones = await oldTombstones(store, frame.nowMs - TOMBSTONE_LIFE_MS);
      if (!frame.dryRun) {
        await deleteObjects(store, journals);
        await deleteObjects(store, tombstones);
      }
      await removeNotes(store, frame.id);
      return { tally: { journalsDeleted: journals.length, tombstonesDeleted: tombstones.length } };
    });
}

/** Keys of journals of turns that have no manifest, and that Temporal does not know any more: none can be reset. */
async function idleJournals(store: FileStore, temporal: TemporalView): Promise<string[]> {
  const known = new Set<string>();
  for await (const key of store.listObjects(MANIFESTS_FOLDER)) known.add(key.slice(key.lastIndexOf('/') + 1));
  const byTurn = new Map<string, string[]>();
  for await (const key of store.listObjects('journal')) {
    const [, turn = ''] = key.split('/');
    if (known.has(turn)) continue;
    byTurn.set(turn, [...(byTurn.get(turn) ?? []), key]);
  }
  const idle = await eachOf([...byTurn], async ([turn, keys]) => ((await isGone(turn, temporal)) ? keys : []));
  return idle.flat();
}

async function isGone(segment: string, temporal: TemporalView): Promise<boolean> {
  const workflowId = decode(segment);
  if (workflowId === null) return false; // a name that was cut: whose it is cannot be told
  return (await temporal.describe(workflowId)).status === 'gone';
}

function decode(segment: string): string | null {
  try {
    return segment.includes('%%') ? null : decodeURIComponent(segment);
  } catch {
    return null; // a lone surrogate
  }
}
