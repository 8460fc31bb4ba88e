// The Activity `longshoreCommitStep`: commits a step when no model call follows: at a turn's end, or before it waits.
import { runAttempt } from './attempt.ts';
import { countMessages, type TurnServices } from './call-model.ts';
import { closeManifest, committedMessages, committedTokens, pinFiles, withBlocks } from './commit.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { decisionsOf, type CommitStepInput, type CommitStepResult } from '../shared/activities.ts';
import { digestOf } from '../shared/digest.ts';

/** Makes the Activity. Running it again writes the same segment under the same hash. */
export function createCommitStep(
  { store, redact }: ActivityDependencies,
  { transcripts }: TurnServices,
): (input: CommitStepInput) => Promise<CommitStepResult> {
  return (given) =>
    runAttempt(redact, async () => {
      const input = await withBlocks(given, store);
      await pinFiles(store, input);
      const { turn, frame, commit } = input;
      const messages = [...committedMessages(commit), ...input.messages];
      let { head } = input;
      if (messages.length > 0) {
        const base = await transcripts.load(input.head);
        const tokens = committedTokens(commit) + (await countMessages(input.messages));
        ({ head } = await transcripts.append(base, { turn, messages, ...(frame && { frame }) }, tokens));
      }
      await closeManifest(store, turn, head, input.ended);
      return { head, ...(commit && { decisionsDigest: digestOf(decisionsOf(commit)) }) };
    });
}
