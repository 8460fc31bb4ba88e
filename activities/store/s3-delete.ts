// Deletions of many keys in requests of a thousand. A server without that request is asked key by key, from then on.
import type { S3Connection } from './s3-client.ts';
import { s3Error, type S3Failure } from './s3-errors.ts';

/** The most that one request may name. Source: DeleteObjects in the Amazon S3 API reference. */
const MOST_KEYS = 1000;
/** Single requests at once. */
const AT_ONCE = 16;

/** Removes keys; those that are not there are a success. Raises what `s3Error` gives. */
export type DeleteKeys = (keys: readonly string[]) => Promise<void>;

/** Makes the deletion of a connection, which remembers whether the server knows the request. */
export function s3Deletion(connection: S3Connection): DeleteKeys {
  let isKnown = true;
  return async (keys) => {
    for (let at = 0; at < keys.length; at += MOST_KEYS) {
      const some = keys.slice(at, at + MOST_KEYS);
      isKnown = isKnown && (await deleteTogether(connection, some));
      if (!isKnown) await deleteSingly(connection, some);
    }
  };
}

/** False where the server does not know the request. */
async function deleteTogether(connection: S3Connection, keys: readonly string[]): Promise<boolean> {
  const Objects = keys.map((Key) => ({ Key }));
  const answer = await connection.ask(
    async (s3) => s3.deleteObjects({ Bucket: connection.bucket, Delete: { Objects, Quiet: true } }),
    isUnknown,
  );
  if ('failure' in answer) return false;
  const failed = answer.value.Errors?.find(({ Code }) => Code !== 'NoSuchKey');
  if (failed === undefined) return true;
  const { Code = 'InternalError', Message = 'it was not deleted', Key = '' } = failed;
  throw s3Error(connection.place, Object.assign(new Error(`${Key}: ${Message}`), { name: Code, ...STATUS[Code] }));
}

/** An error for one key comes without a status of its own. */
const STATUS: Readonly<Record<string, object>> = { AccessDenied: { $metadata: { httpStatusCode: 403 } } };

function isUnknown({ status, code }: S3Failure): boolean {
  return status === 405 || status === 501 || code === 'NotImplemented' || code === 'MethodNotAllowed';
}

async function deleteSingly(connection: S3Connection, keys: readonly string[]): Promise<void> {
  const left = keys.values();
  const lanes = Array.from({ length: Math.min(AT_ONCE, keys.length) }, async () => {
    for (const Key of left) await connection.send(async (s3) => s3.deleteObject({ Bucket: connection.bucket, Key }));
  });
  await Promise.all(lanes);
}
