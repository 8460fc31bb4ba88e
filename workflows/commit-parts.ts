// Cuts a step's commit into parts that each fit into one payload: above Temporal's limit a Workflow Task fails for ever.
// Hundreds of results may pass it together, although each alone is small.
import type { CommittedResult, StepCommit } from '../shared/activities.ts';
import { payloadBytes, PAYLOAD_LIMIT_BYTES } from '../shared/payload-limit.ts';

/** Room in the same payload for the rest of the Activity's input. */
const PART_LIMIT_BYTES = PAYLOAD_LIMIT_BYTES - 200_000;

/** The commit as parts, in call order: one in all but rare cases. A result that is too large alone is a part of its own. */
export function commitParts(commit: StepCommit, limitBytes: number = PART_LIMIT_BYTES): readonly StepCommit[] {
  const parts: CommittedResult[][] = [];
  let partBytes = Number.POSITIVE_INFINITY;
  for (const result of commit.results) {
    const bytes = payloadBytes(result) + 1;
    if (partBytes + bytes > limitBytes) {
      parts.push([]);
      partBytes = 0;
    }
    parts.at(-1)?.push(result);
    partBytes += bytes;
  }
  return parts.map((results) => ({ step: commit.step, results }));
}
