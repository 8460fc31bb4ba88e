// Reads the body of one answer, whole. A body that breaks off is asked for again, which the SDK does not do by itself.
import type { GetObjectCommandInput, GetObjectCommandOutput } from '@aws-sdk/client-s3';
import type { Hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LongshoreError } from '../../shared/errors.ts';
import type { S3Connection } from './s3-client.ts';
import { isConditionFailed, isNotFound } from './s3-errors.ts';

const BODY_ATTEMPTS = 3;
/** Taken in between two turns of the event loop: under a millisecond, hashing included. */
const TURN_BYTES = 512 * 1024;

/** Content as the server gave it. */
export interface S3Body {
  readonly body: Uint8Array;
  readonly etag: string;
}

/** What to get: the key, and a range or condition. */
export type S3Get = Pick<GetObjectCommandInput, 'Key' | 'Range' | 'IfMatch'>;

/**
 * The content of a key; null where there is none, or none that `IfMatch` names. `makeHash` gives the hash to feed, anew
 * for each try.
 */
export async function readBody(connection: S3Connection, get: S3Get, makeHash?: () => Hash): Promise<S3Body | null> {
  for (let attempt = 1; ; attempt += 1) {
    let hasBegun = false;
    try {
      const answer = await connection.ask(
        async (s3) => {
          const output = await s3.getObject({ Bucket: connection.bucket, ...get, ...connection.encryption.access });
          hasBegun = true;
          return { body: await collect(output, makeHash?.()), etag: output.ETag ?? '' };
        },
        (failure) => isNotFound(failure) || (get.IfMatch !== undefined && isConditionFailed(failure)),
      );
      return 'value' in answer ? answer.value : null;
    } catch (error) {
      const isBroken = hasBegun && error instanceof LongshoreError && error.type === 'StoreUnavailable';
      if (!isBroken || attempt >= BODY_ATTEMPTS) throw error;
    }
  }
}

async function collect({ Body, ContentLength = 0 }: GetObjectCommandOutput, hash?: Hash): Promise<Uint8Array> {
  const content = new Uint8Array(ContentLength);
  let filled = 0;
  let turnAt = TURN_BYTES;
  // In Node a body is a readable stream of buffers.
  for await (const chunk of (Body ?? []) as AsyncIterable<Uint8Array>) {
    if (filled + chunk.byteLength > ContentLength) throw new Error('the body is longer than its header says');
    content.set(chunk, filled);
    filled += chunk.byteLength;
    hash?.update(chunk);
    if (filled < turnAt) continue;
    turnAt = filled + TURN_BYTES;
    await nextTurn();
  }
  if (filled < ContentLength) throw new Error(`the body ended after ${filled} of ${ContentLength} bytes`);
  return content;
}
