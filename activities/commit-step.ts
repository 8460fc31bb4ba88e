// The Activity `longshoreCommitStep`: commits a step when no model call follows: at a turn's end, or before it waits.
import { runAttempt } from './attempt.ts';
import { countMessages, type TurnServices } from './call-model.ts';
import { closeManifest, commitPins, withBlocks } from './commit.ts';
import { committedMessages, committedTokens, noticeTokens, retriedMessages } from './commit-messages.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { eachOf } from './retention/paging.ts';
import { openJournal } from './store/journal.ts';
import {
  decidedBy,
  decisionsOf,
  type CommitStepInput,
  type CommitStepResult,
  type PauseRecord,
  type TurnIdentity,
} from '../shared/activities.ts';
import { digestOf } from '../shared/digest.ts';
import type { FileStore } from '../shared/file-store.ts';

/** Makes the Activity. Running it again writes the same segment under the same hash; a pause writes none. */
export function createCommitStep(
  { store, redact, hooks }: ActivityDependencies,
  { transcripts, runs }: TurnServices,
): (input: CommitStepInput) => Promise<CommitStepResult> {
  return (given) =>
    runAttempt(redact, async (attempt) => {
      const input = await withBlocks(given, store);
      const { turn, frame, commit, retried, pause, ended } = input;
      const { manifest } = await commitPins(store, { ...input, ...(pause && { step: pause.step }) }, attempt, runs);
      // Only where another run of the turn was before this one can anything have been sent.
      const sentBefore = pause && manifest?.runSince !== undefined ? await sentOf(store, turn, pause) : [];
      const notices = retriedMessages(retried);
      const messages = [...committedMessages(commit), ...notices, ...input.messages];
      let { head } = input;
      if (messages.length > 0 && !pause) {
        const base = await transcripts.load(input.head);
        const added = committedTokens(commit) + (await noticeTokens(notices, retried));
        const tokens = added + (await countMessages(input.messages));
        ({ head } = await transcripts.append(base, { turn, messages, ...(frame && { frame }) }, tokens));
      }
      if (ended !== undefined) await closeManifest(store, input, head, attempt);
      const decided = decidedBy(input);
      return {
        head,
        ...(decided && { decisionsDigest: digestOf(decisionsOf(decided)) }),
        ...(pause && { hooks: hooks?.onApproval !== undefined }),
        ...(sentBefore.length > 0 && { sentBefore }),
      };
    });
}

/** The journal knows what an earlier run had sent: whoever decides now should know it too. Source: architecture D11. */
async function sentOf(store: FileStore, { workflowId }: TurnIdentity, { waiting }: PauseRecord): Promise<string[]> {
  const asked = waiting.filter(({ kind, again }) => kind === 'approval' && !again);
  const sent = await eachOf(asked, async ({ callKey, digest: argumentsDigest }) => {
    const { state } = await openJournal(store, { workflowId, callKey, generation: 0, argumentsDigest }).state();
    return state === 'none' ? [] : [callKey];
  });
  return sent.flat();
}
