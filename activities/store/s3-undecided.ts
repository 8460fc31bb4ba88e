// Writes that the server did not decide, because of another one at the same moment: sent again, a bounded number of times.
import { setTimeout as delay } from 'node:timers/promises';
import type { S3 } from '@aws-sdk/client-s3';
import type { Answer, S3Connection } from './s3-client.ts';
import { isUndecided, type S3Failure } from './s3-errors.ts';

const ATTEMPTS = 10;
const PAUSE_MS = 20;

/** As `ask` of the connection. The request may be made several times, so that its body must not be a stream. */
export async function askUntilDecided<T>(
  connection: S3Connection,
  request: (s3: S3) => Promise<T>,
  expects: (failure: S3Failure) => boolean,
): Promise<Answer<T>> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await connection.ask(
      request,
      (failure) => expects(failure) || (isUndecided(failure) && attempt < ATTEMPTS),
    );
    if ('value' in answer || expects(answer.failure)) return answer;
    await delay(PAUSE_MS * attempt * (0.5 + Math.random()));
  }
}
