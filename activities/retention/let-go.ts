// Releases the pins of turns that are closed or gone, and lets go what is past its retention: tombstones first, then the
// manifest says `deleted`, then holds are looked for once more. The bytes go later, if nothing else refers to them.
import { continuedBy } from './begin.ts';
import { giveBackHeld } from './give-back.ts';
import { deleteObjects, eachOf, runPaged, viewOf, type SweepDependencies } from './paging.ts';
import { continuedTurns, isBlocked, runningTurns, surveyOfPage, type SurveyedTurn } from './scratch.ts';
import { loadOrProblem, versionOf } from './survey.ts';
import type { TemporalView } from './temporal-view.ts';
import { listHolds } from '../store/holds.ts';
import { loadManifest, manifestKey, updateManifest } from '../store/manifest.ts';
import { putTombstone, removeTombstone } from '../store/tombstones.ts';
import { sha256Hex } from '../../shared/digest.ts';
import { keysBelow, objectKey, type FileStore } from '../../shared/file-store.ts';
import type { Hold } from '../../shared/holds.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';
import { letGo, releaseManifest, whyLetGo, type Verdict } from '../../shared/retention-verdict.ts';
import type { SweepFrame, SweepPageInput, SweepPageResult, SweepTally } from '../../shared/sweep.ts';

/** Makes the Activity `longshoreSweepLetGo`. */
export function createSweepLetGo(dependencies: SweepDependencies): (input: SweepPageInput) => Promise<SweepPageResult> {
  const { store } = dependencies;
  return async ({ frame, page }) => {
    let context: LetGoContext | undefined;
    const load = async (): Promise<readonly [string, SurveyedTurn][]> => {
      if (await isBlocked(store, frame)) return [];
      context = await contextOf(dependencies, frame);
      const survey = await surveyOfPage(store, frame, page);
      return [...survey];
    };
    const tally = await runPaged(dependencies, load, async ([key, turn]) =>
      context === undefined ? {} : settle(key, turn, context),
    );
    return { tally };
  };
}

/** What the verdict on a turn goes by. */
export interface LetGoContext {
  readonly store: FileStore;
  readonly temporal: TemporalView;
  readonly frame: SweepFrame;
  readonly holds: readonly Hold[];
  readonly continued: ReadonlySet<string>;
  /** The same of turns that have begun since the sweep did; looked up once a page, and only where something is about to go. */
  readonly continuedSince: () => Promise<ReadonlySet<string>>;
}

/** Reads what all verdicts of a page go by. */
export async function contextOf(dependencies: SweepDependencies, frame: SweepFrame): Promise<LetGoContext> {
  const { store } = dependencies;
  const [holds, continued] = await Promise.all([listHolds(store), continuedTurns(store, frame)]);
  const temporal = viewOf(dependencies);
  let since: Promise<ReadonlySet<string>> | undefined;
  const continuedSince = async (): Promise<ReadonlySet<string>> => (since ??= continuedByNew(store, frame, temporal));
  return { store, temporal, frame, holds, continued, continuedSince };
}

/** A listing lags, so that it only keeps more: a turn that it does not show yet finds what it goes on from gone, and says so. */
async function continuedByNew(
  store: FileStore,
  frame: SweepFrame,
  temporal: TemporalView,
): Promise<ReadonlySet<string>> {
  const before = await runningTurns(store, frame);
  const running = await Array.fromAsync(temporal.running());
  return new Set(
    await continuedBy(
      running.filter(({ workflowId }) => !before.has(workflowId)),
      temporal,
    ),
  );
}

/** What is to become of a turn's manifest; null where it stays as it is. */
export function verdictOn(
  manifest: Manifest,
  turn: SurveyedTurn,
  { frame, holds, continued }: Pick<LetGoContext, 'frame' | 'holds' | 'continued'>,
): { readonly verdict: Verdict; readonly released: number } | null {
  if (turn.status === 'open' || continued.has(turn.workflowId) || versionOf(manifest) !== turn.version) return null;
  // Of a turn that is gone nobody knows the end: it counts from now, or from what was recorded.
  const endedAt = turn.endedMs ?? manifest.endedAt ?? frame.nowMs;
  const ended = turn.ended ?? turn.status;
  const released = turn.status === 'released' ? manifest : releaseManifest(manifest, { ended, endedAt });
  const count = manifest.files.filter(({ state }) => state === 'pinned' || state === 'staged').length;
  return { verdict: letGo(released, { ...frame, holds }), released: count };
}

async function settle(key: string, turn: SurveyedTurn, context: LetGoContext): Promise<Partial<SweepTally>> {
  const { store, temporal, frame } = context;
  if (turn.idleFiles !== undefined && !context.continued.has(turn.workflowId))
    return { kept: { 'not-due': turn.idleFiles } };
  const loaded = await loadOrProblem(store, key);
  if (loaded === null || 'type' in loaded) return {}; // told by the survey
  const mayGiveBack = turn.status !== 'open' && !frame.dryRun;
  const manifest = mayGiveBack ? await giveBackHeld(store, loaded, context.holds) : loaded;
  const live = manifest.files.filter((file) => file.state !== 'deleted').length;
  if (turn.status === 'open') return { kept: { open: live } };
  if (context.continued.has(turn.workflowId)) return { kept: { continued: live } };
  const outcome = verdictOn(manifest, turn, context);
  if (outcome === null) return { kept: { open: live } };
  const { verdict, released } = outcome;
  const goes = verdict.letGo.length > 0 || verdict.transcriptLetGo || verdict.isEmpty;
  // Asked again when something is about to go: it may have been reset since.
  const standing = goes ? (await temporal.describe(turn.workflowId)).status : 'closed';
  if (standing === 'open') return { kept: { open: live } };
  if (goes && (await context.continuedSince()).has(turn.workflowId)) return { kept: { continued: live } };
  if (!frame.dryRun && !(await carryOut(verdict, { manifest, turn, context }))) return { kept: { held: live } };
  const journals = verdict.isEmpty ? await removeTurn(manifest, standing, context) : null;
  return {
    filesReleased: released,
    filesDeleted: verdict.letGo.length,
    transcriptsDeleted: verdict.transcriptLetGo ? 1 : 0,
    manifestsDeleted: journals === null ? 0 : 1,
    journalsDeleted: journals ?? 0,
    kept: { held: verdict.held, 'not-due': verdict.notDue },
  };
}

interface Settled {
  readonly manifest: Manifest;
  readonly turn: SurveyedTurn;
  readonly context: LetGoContext;
}

/** False where a hold was set meanwhile, and all is as before. */
async function carryOut(verdict: Verdict, { manifest, turn, context }: Settled): Promise<boolean> {
  const { store, frame } = context;
  await eachOf(verdict.letGo, async (file) => putTombstone(store, tombstoneOf(verdict.manifest, file, frame)));
  const isUnchanged = (current: Manifest): boolean => versionOf(current) === turn.version;
  const written = await updateManifest(
    store,
    manifest.turn,
    (current) => (isUnchanged(current) ? (verdictOn(current, turn, context)?.verdict.manifest ?? current) : current),
    { from: 'remembered' }, // read a moment ago
  );
  if (verdict.letGo.length === 0 && !verdict.transcriptLetGo) return true;
  const again = verdictOn(manifest, turn, { ...context, holds: await listHolds(store) });
  const stays = verdict.letGo.filter((file) => again?.verdict.letGo.every((other) => other.path !== file.path));
  if (stays.length === 0 && again?.verdict.transcriptLetGo === verdict.transcriptLetGo) return true;
  const before = again?.verdict.manifest ?? manifest;
  await updateManifest(store, manifest.turn, (current) =>
    versionOf(current) === versionOf(written) ? before : current,
  );
  await eachOf(stays, async (file) => removeTombstone(store, tombstoneOf(before, file, frame)));
  return false;
}

function tombstoneOf(
  manifest: Manifest,
  file: ManifestFile,
  { nowMs }: SweepFrame,
): Parameters<typeof putTombstone>[1] {
  const { path, sha256, bytes, mediaType, callKey, server, tool, origin } = file;
  const { workflowId, session } = manifest.turn;
  const made = { path, sha256, bytes, mediaType, callKey, server, tool, origin };
  return { version: 1, ...made, workflowId, session, deletedAt: nowMs, why: whyLetGo(manifest, file) };
}

/**
 * The journal and the manifest of a turn of which nothing is left; gives how many entries of the journal went. Null where they
 * stay: as long as Temporal can reset the turn, its journal is what keeps its writes from being sent again.
 */
async function removeTurn(
  { turn }: Manifest,
  standing: 'closed' | 'gone',
  { store, frame }: LetGoContext,
): Promise<number | null> {
  const journal = await Array.fromAsync(keysBelow(store, objectKey(sha256Hex, 'journal', turn.workflowId)));
  if (standing === 'closed' && journal.length > 0) return null;
  if (frame.dryRun) return journal.length;
  const manifest = await loadManifest(store, turn);
  const isLeft = manifest?.files.some((file) => file.state !== 'deleted') || manifest?.head !== null;
  if (manifest === null || isLeft) return null;
  await deleteObjects(store, journal);
  await store.deleteObject(manifestKey(turn));
  return journal.length;
}
