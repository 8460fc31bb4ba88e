// The Activity `longshoreVerifyFiles`: a part of the comparison of pins, where a turn pins more files than the next model call's
// input can name.
import { runAttempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { verifyPins } from './resume.ts';
import type { VerifyFilesInput, VerifyFilesResult } from '../shared/activities.ts';

/** Makes the Activity. It changes nothing; it raises `PinsDiffer`. */
export function createVerifyFiles({
  store,
  redact,
}: ActivityDependencies): (input: VerifyFilesInput) => Promise<VerifyFilesResult> {
  return (input) => runAttempt(redact, (attempt) => verifyPins(store, input, attempt));
}
