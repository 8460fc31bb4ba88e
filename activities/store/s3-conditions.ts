// Whether the server keeps conditions. Some accept `If-None-Match` and `If-Match` and write all the same; on such a one
// two Workers would both win a claim. So they are tried out once, on a key of their own, before the first is relied on.
import type { S3 } from '@aws-sdk/client-s3';
import { LongshoreError } from '../../shared/errors.ts';
import type { S3Connection } from './s3-client.ts';
import { isConditionFailed, isNotFound } from './s3-errors.ts';
import type { S3Layout } from './s3-layout.ts';
import { askUntilDecided } from './s3-undecided.ts';

/** The trial of conditions. */
export interface S3Conditions {
  /** Settles when conditions may be relied on. Raises `StoreMisconfigured` where they may not. Tried out at most once. */
  ready(): Promise<void>;
}

/** Makes the trial; nothing is sent yet. AWS itself needs none. */
export function s3Conditions(connection: S3Connection, layout: S3Layout): S3Conditions {
  let trial: Promise<void> | undefined;
  return {
    async ready() {
      if (connection.isAws) return;
      trial ??= tryConditions(connection, layout.probe()).catch((error: unknown) => {
        trial = undefined; // tried again by the next: the server may have been away
        throw error;
      });
      return trial;
    },
  };
}

/** Tries out conditions on a key of its own, which is removed again. Raises `StoreMisconfigured`. */
export async function tryConditions(connection: S3Connection, key: string): Promise<void> {
  const put = async (condition: Pick<Parameters<S3['putObject']>[0], 'IfNoneMatch' | 'IfMatch'>): Promise<boolean> => {
    const answer = await askUntilDecided(
      connection,
      async (s3) =>
        s3.putObject({
          Bucket: connection.bucket,
          Key: key,
          Body: new Uint8Array([1]),
          ...condition,
          ...connection.encryption.write,
        }),
      (failure) => isConditionFailed(failure) || isNotFound(failure),
    );
    return 'value' in answer;
  };
  try {
    await put({ IfNoneMatch: '*' }); // false only where an earlier sending was answered into the void
    if (await put({ IfNoneMatch: '*' })) throw ignored(connection.place, 'If-None-Match: *');
    if (await put({ IfMatch: '"00000000000000000000000000000000"' })) throw ignored(connection.place, 'If-Match');
  } finally {
    await connection.send(async (s3) => s3.deleteObject({ Bucket: connection.bucket, Key: key }));
  }
}

function ignored(place: string, header: string): LongshoreError {
  return new LongshoreError(
    'StoreMisconfigured',
    `The server of the file store (${place}) has no conditional writes: it wrote although \`${header}\` did not hold.`,
    'Use a server that has them: without them two Workers could both carry out one call. AWS, versitygw and newer MinIO do.',
  );
}
