// The beginning of a sweep: asks Temporal which turns run (so that a server that is away ends it here), takes away what sweeps
// that died have left, and lists the manifests in pages.
import { Context } from '@temporalio/activity';
import { runAttempt } from '../attempt.ts';
import { MANIFESTS_FOLDER } from '../store/manifest.ts';
import { sha256Hex } from '../../shared/digest.ts';
import { objectKey, type FileStore } from '../../shared/file-store.ts';
import { earlier, type SweepBegun, type SweepBeginInput, type SweepFrame } from '../../shared/sweep.ts';
import { removeLeftovers } from './leftovers.ts';
import { eachOf, sweepTime, viewOf, type SweepDependencies } from './paging.ts';
import { PAGE_TURNS, putNote, removeNotes, SWEEPS_FOLDER } from './scratch.ts';
import type { RunningTurn, TemporalView } from './temporal-view.ts';

/** Makes the Activity `longshoreSweepBegin`. */
export function createSweepBegin(dependencies: SweepDependencies): (input: SweepBeginInput) => Promise<SweepBegun> {
  const { store, redact } = dependencies;
  return (input) =>
    runAttempt(redact, async () => {
      const temporal = viewOf(dependencies);
      const running = await Array.fromAsync(temporal.running());
      const frame: SweepFrame = { id: ownFolder(), nowMs: sweepTime(dependencies), ...input };
      await removeNotes(store, frame.id); // of an earlier attempt
      const problems = input.dryRun ? [] : await removeLeftovers(store, temporal);
      await putNote(store, frame, 'owner', { workflowId: workflowOf().workflowId });
      await putNote(
        store,
        frame,
        'running',
        running.map((turn) => turn.workflowId),
      );
      const { pages, keys } = await listInPages(store, frame, 'turns', without(running));
      const unknown = keys.unknown();
      await putNote(store, frame, 'continued/unknown', await continuedBy(unknown, temporal));
      const oldestSavedMs = unknown.reduce<number | null>((oldest, { startedMs }) => earlier(oldest, startedMs), null);
      return { frame, pages, oldestSavedMs, tally: { problems } };
    });
}

/** Writes the keys of all manifests into notes of `PAGE_TURNS` each. `seen` hears of every key. */
export async function listInPages<T extends { readonly seen: (key: string) => void }>(
  store: FileStore,
  frame: SweepFrame,
  list: string,
  keys: T,
): Promise<{ readonly pages: number; readonly keys: T }> {
  let pages = 0;
  let page: string[] = [];
  const flush = async (): Promise<void> => {
    await putNote(store, frame, `${list}/${pages}`, page);
    pages += 1;
    page = [];
  };
  for await (const key of store.listObjects(MANIFESTS_FOLDER)) {
    keys.seen(key);
    page.push(key);
    if (page.length === PAGE_TURNS) await flush();
  }
  // One page at least, where records beside the manifests are looked at too.
  if (page.length > 0 || pages === 0) await flush();
  return { pages, keys };
}

/** The last part of a manifest's key. */
export function turnSegment(workflowId: string): string {
  return objectKey(sha256Hex, workflowId);
}

/** The turns that turns which have written no manifest yet go on from, by their inputs: nothing else tells it. */
export async function continuedBy(
  turns: readonly Pick<RunningTurn, 'workflowId'>[],
  temporal: Pick<TemporalView, 'originOf'>,
): Promise<readonly string[]> {
  const origins = await eachOf(turns, async ({ workflowId }) => temporal.originOf(workflowId));
  return origins.flatMap((origin) => origin?.continues ?? []);
}

/** Turns that run and of which no manifest is listed: none of what they wrote is known yet. */
function without(running: readonly RunningTurn[]): {
  readonly seen: (key: string) => void;
  readonly unknown: () => readonly RunningTurn[];
} {
  const left = new Map(running.map((turn) => [turnSegment(turn.workflowId), turn]));
  return {
    seen: (key) => left.delete(key.slice(key.lastIndexOf('/') + 1)),
    unknown: () => [...left.values()],
  };
}

function workflowOf(): { readonly workflowId: string; readonly runId: string } {
  return Context.current().info.workflowExecution ?? { workflowId: 'none', runId: 'none' };
}

function ownFolder(): string {
  const { workflowId, runId } = workflowOf();
  return objectKey(sha256Hex, SWEEPS_FOLDER, workflowId, runId);
}
