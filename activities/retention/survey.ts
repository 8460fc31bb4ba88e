// How each turn of a page stands: open, closed or gone, by Describe. Nothing is changed; what is found goes into a note.
import { runAttempt } from '../attempt.ts';
import { loadManifestAt } from '../store/manifest.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { Manifest } from '../../shared/manifest.ts';
import { isReleased, letGo } from '../../shared/retention-verdict.ts';
import {
  addTally,
  earlier,
  EMPTY_TALLY,
  type SweepFrame,
  type SweepPageInput,
  type SweepProblem,
  type SweepSurveyResult,
  type SweepTally,
} from '../../shared/sweep.ts';
import { eachOf, viewOf, type SweepDependencies } from './paging.ts';
import { keysOfPage, putBlocked, putNote, runningTurns, type SurveyedTurn } from './scratch.ts';
import type { TemporalView, TurnStanding } from './temporal-view.ts';

interface Surveyed {
  readonly key: string;
  readonly turn: SurveyedTurn | null;
  readonly oldestSavedMs: number | null;
  readonly tally: Partial<SweepTally>;
}

/** Makes the Activity `longshoreSweepSurvey`. */
export function createSweepSurvey(
  dependencies: SweepDependencies,
): (input: SweepPageInput) => Promise<SweepSurveyResult> {
  const { store, redact } = dependencies;
  return ({ frame, page }) =>
    runAttempt(redact, async () => {
      const temporal = viewOf(dependencies);
      const running = await runningTurns(store, frame);
      const keys = await keysOfPage(store, frame, 'turns', page);
      const surveyed = await eachOf(keys, async (key) => survey(key, { store, frame, temporal, running }));
      await writeSurvey(store, frame, page, surveyed);
      if (surveyed.some(({ tally }) => (tally.blocking ?? 0) > 0)) await putBlocked(store, frame);
      return {
        tally: surveyed.reduce((sum, { tally }) => addTally(sum, tally), EMPTY_TALLY),
        oldestSavedMs: surveyed.reduce<number | null>((oldest, turn) => earlier(oldest, turn.oldestSavedMs), null),
      };
    });
}

/** So that the next stage need not read its manifest again. Holds only keep more. */
function idle(manifest: Manifest, frame: SweepFrame): Pick<SurveyedTurn, 'idleFiles'> {
  const { letGo: going, transcriptLetGo, isEmpty } = letGo(manifest, { ...frame, holds: [] });
  const isTouched = manifest.letGo !== undefined || manifest.files.some(({ state }) => state === 'deleted');
  return going.length > 0 || transcriptLetGo || isEmpty || isTouched ? {} : { idleFiles: manifest.files.length };
}

interface SurveyContext {
  readonly frame: SweepFrame;
  readonly store: FileStore;
  readonly temporal: TemporalView;
  readonly running: ReadonlySet<string>;
}

async function survey(key: string, { store, frame, temporal, running }: SurveyContext): Promise<Surveyed> {
  const manifest = await loadOrProblem(store, key);
  if (manifest === null) return { key, turn: null, oldestSavedMs: null, tally: {} };
  if ('type' in manifest) {
    return { key, turn: null, oldestSavedMs: null, tally: { turns: 1, problems: [manifest], blocking: 1 } };
  }
  const { workflowId } = manifest.turn;
  // One that was reset is open again, though its manifest does not know yet.
  const isKnown = isReleased(manifest) && !running.has(workflowId);
  const standing = isKnown ? null : await temporal.describe(workflowId);
  const isOpen = standing?.status === 'open';
  return {
    key,
    turn: { ...surveyedTurn(manifest, standing), ...(isKnown && idle(manifest, frame)) },
    oldestSavedMs: isOpen && !isParked(manifest, standing) ? (manifest.savedAt ?? standing.startedMs) : null,
    tally: { turns: 1, openTurns: isOpen ? 1 : 0 },
  };
}

function surveyedTurn(manifest: Manifest, standing: TurnStanding | null): SurveyedTurn {
  const { workflowId } = manifest.turn;
  return {
    workflowId,
    status: standing?.status ?? 'released',
    version: versionOf(manifest),
    ...(standing?.status === 'closed' && { endedMs: standing.closedMs, ended: standing.ended }),
    ...(manifest.continues !== undefined && { continues: manifest.continues }),
  };
}

/** Waits for a person, with nothing under way: its manifest knows all that it refers to. */
function isParked(manifest: Manifest, standing: TurnStanding): boolean {
  return (manifest.waiting ?? []).length > 0 && standing.status === 'open' && standing.isIdle;
}

/** What changes whenever a run of the turn writes. */
export function versionOf({ run, savedAt, endedAt, files }: Manifest): string {
  return [run ?? '', savedAt ?? 0, endedAt ?? 0, files.length].join(' ');
}

/** A manifest, null where it is gone, or why it cannot be read. */
export async function loadOrProblem(store: FileStore, key: string): Promise<Manifest | SweepProblem | null> {
  try {
    return await loadManifestAt(store, key);
  } catch (error) {
    if (error instanceof LongshoreError && error.type === 'BlobCorrupt') return error.toRecord();
    throw error;
  }
}

async function writeSurvey(
  store: FileStore,
  frame: SweepFrame,
  page: number,
  surveyed: readonly Surveyed[],
): Promise<void> {
  const turns = surveyed.flatMap(({ key, turn }) => (turn === null ? [] : [[key, turn] as const]));
  await putNote(store, frame, `survey/${page}`, Object.fromEntries(turns));
  const continued = turns.flatMap(([, { status, continues }]) =>
    status === 'open' && continues !== undefined ? [continues] : [],
  );
  await putNote(store, frame, `continued/${page}`, continued);
}
