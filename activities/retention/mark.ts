// What anything refers to: the manifests are listed anew, after the sweep let go, and each page's hashes go into a note.
import { runAttempt } from '../attempt.ts';
import { isReleased } from '../../shared/retention-verdict.ts';
import {
  addTally,
  EMPTY_TALLY,
  type SweepFrame,
  type SweepPageInput,
  type SweepPageResult,
} from '../../shared/sweep.ts';
import { listInPages } from './begin.ts';
import { contextOf, verdictOn, type LetGoContext } from './let-go.ts';
import { eachOf, type SweepDependencies } from './paging.ts';
import { addCatalogRecords, addManifest, noReferences, type References } from './references.ts';
import { keysOfPage, putMarks, runningTurns, surveyOfPage, type SurveyedTurn } from './scratch.ts';
import { loadOrProblem } from './survey.ts';

/**
 * Makes the Activity `longshoreSweepListMarks`. A turn that began since the first listing, and goes on from one that is let go now,
 * either stands in this listing, or finds when it looks that the other one is gone.
 */
export function createSweepListMarks({
  store,
  redact,
}: SweepDependencies): (input: { readonly frame: SweepFrame }) => Promise<{ readonly pages: number }> {
  return ({ frame }) =>
    runAttempt(redact, async () => {
      const { pages } = await listInPages(store, frame, 'marked', { seen: () => {} });
      return { pages };
    });
}

interface MarkContext extends LetGoContext {
  readonly running: ReadonlySet<string>;
  /** In a dry run: what the sweep would have let go. */
  readonly survey: ReadonlyMap<string, SurveyedTurn>;
}

/** Makes the Activity `longshoreSweepMark`. */
export function createSweepMark(dependencies: SweepDependencies): (input: SweepPageInput) => Promise<SweepPageResult> {
  const { store, redact } = dependencies;
  return ({ frame, page }) =>
    runAttempt(redact, async (attempt) => {
      const list = frame.dryRun ? 'turns' : 'marked';
      const context: MarkContext = {
        ...(await contextOf(dependencies, frame)),
        running: await runningTurns(store, frame),
        survey: frame.dryRun ? await surveyOfPage(store, frame, page) : new Map(),
      };
      const references = noReferences();
      // Once a sweep: the first page is always there.
      if (page === 0) await addCatalogRecords(references, store);
      await eachOf(await keysOfPage(store, frame, list, page), async (key) => {
        attempt.signal.throwIfAborted();
        await markTurn(references, key, context);
      });
      await putMarks(store, frame, page, references.hashes);
      const { problems, blocking } = references;
      return { tally: addTally(EMPTY_TALLY, { problems, blocking }) };
    });
}

async function markTurn(references: References, key: string, context: MarkContext): Promise<void> {
  const { store, frame, running, holds } = context;
  const stored = await loadOrProblem(store, key);
  if (stored === null) return;
  if ('type' in stored) {
    references.blocking += 1; // told by the survey, or new since
    return;
  }
  const turn = context.survey.get(key);
  const outcome = frame.dryRun && turn !== undefined ? verdictOn(stored, turn, context) : null;
  const manifest = outcome?.verdict.manifest ?? stored;
  const isOpen = !isReleased(manifest) || running.has(manifest.turn.workflowId);
  await addManifest(references, manifest, { store, holds, isOpen });
}
