// The named objects of the S3 driver, framed as in the local one: a header with a text that is new with every write, so
// that the server's etag (often the body's MD5) is new too, and with the body's hash. Conditions are the server's own.
import { createHash, randomBytes } from 'node:crypto';
import { LongshoreError } from '../../shared/errors.ts';
import type { WriteCondition } from '../../shared/file-store.ts';
import type { ObjectStore } from './local-objects.ts';
import { frameObject, readHeader, unframeObject } from './object-frame.ts';
import { readBody } from './s3-body.ts';
import type { S3Conditions } from './s3-conditions.ts';
import type { S3Connection } from './s3-client.ts';
import { s3Deletion } from './s3-delete.ts';
import { isConditionFailed, isNotFound, type S3Failure } from './s3-errors.ts';
import type { S3Layout } from './s3-layout.ts';
import { listKeys } from './s3-list.ts';
import { askUntilDecided } from './s3-undecided.ts';

/** The named objects of a namespace. Errors as `FileStore` has them. */
export function s3Objects(connection: S3Connection, layout: S3Layout, conditions: S3Conditions): Required<ObjectStore> {
  const deleteKeys = s3Deletion(connection);
  const read = async (key: string) => readBody(connection, { Key: layout.object(key) });
  return {
    async getObject(key) {
      const stored = await read(key);
      return stored === null ? null : { body: unframeObject(key, stored.body).body, etag: stored.etag };
    },
    async putObject(key, body, condition = {}) {
      const write = { key, path: layout.object(key), nonce: randomBytes(8).toString('hex'), condition };
      if (isConditional(condition)) await conditions.ready();
      const failure = await writeObject(connection, write, frameObject(write.nonce, body));
      if ('etag' in failure) return failure;
      // The answer to an earlier sending may have been lost, and what stands there be this very write.
      const standing = await read(key);
      if (standing !== null && readHeader(standing.body)?.etag === write.nonce) return { etag: standing.etag };
      throw conflict(key, condition.ifAbsent ? 'is there already' : 'has changed since it was read');
    },
    async deleteObject(key) {
      const Key = layout.object(key);
      await connection.send(async (s3) => s3.deleteObject({ Bucket: connection.bucket, Key }));
    },
    deleteObjects: async (keys) => deleteKeys(keys.map((key) => layout.object(key))),
    async *listObjectTimes(prefix) {
      for await (const { Key, modifiedMs } of listKeys(connection, layout.objectsBelow(prefix))) {
        const key = layout.nameIn(Key);
        if (key !== undefined) yield { key, modifiedMs };
      }
    },
    async *listObjects(prefix) {
      const key = prefix.replace(/\/$/, '');
      if (key !== '' && (await read(key)) !== null) yield key;
      for await (const { Key } of listKeys(connection, layout.objectsBelow(key))) {
        const name = layout.nameIn(Key);
        if (name !== undefined) yield name;
      }
    },
  };
}

interface ObjectWrite {
  readonly key: string;
  readonly path: string;
  readonly nonce: string;
  readonly condition: WriteCondition;
}

function isConditional({ ifAbsent, ifMatch }: WriteCondition): boolean {
  return ifAbsent === true || ifMatch !== undefined;
}

async function writeObject(
  connection: S3Connection,
  { path, condition }: ObjectWrite,
  frame: Uint8Array,
): Promise<{ readonly etag: string } | S3Failure> {
  const { ifAbsent, ifMatch } = condition;
  const answer = await askUntilDecided(
    connection,
    async (s3) =>
      s3.putObject({
        Bucket: connection.bucket,
        Key: path,
        Body: frame,
        ChecksumSHA256: createHash('sha256').update(frame).digest('base64'),
        ...(ifAbsent && { IfNoneMatch: '*' }),
        ...(ifMatch !== undefined && { IfMatch: ifMatch }),
        ...connection.encryption.write,
      }),
    (failure) => isConditionFailed(failure) || (ifMatch !== undefined && isNotFound(failure)),
  );
  return 'value' in answer ? { etag: answer.value.ETag ?? '' } : answer.failure;
}

function conflict(key: string, problem: string): LongshoreError {
  return new LongshoreError(
    'StoreConflict',
    `The object \`${key}\` ${problem}.`,
    'Read it again, and decide again whether to write.',
  );
}
