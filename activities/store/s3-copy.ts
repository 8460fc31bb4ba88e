// Puts an upload whose hash was not known before it ended in its place, by a copy on the server.
import type { CompletedPart } from '@aws-sdk/client-s3';
import type { S3Connection } from './s3-client.ts';

/** S3 copies up to 5 GiB at once; the answer to less comes well within the time-outs. */
const COPY_BYTES = 1024 ** 3;

/** A copy. */
export interface S3Copy {
  readonly from: string;
  readonly to: string;
  readonly bytes: number;
  /** @default COPY_BYTES, for tests to lower */
  readonly copyBytes?: number;
}

/** Copies one object within the bucket and gives the copy's etag. */
export async function copyOnServer(connection: S3Connection, copy: S3Copy): Promise<string> {
  const { bucket: Bucket, encryption } = connection;
  const { from, to: Key, bytes, copyBytes = COPY_BYTES } = copy;
  const source = { CopySource: `${Bucket}/${from.split('/').map(encodeURIComponent).join('/')}`, ...encryption.source };
  if (bytes <= copyBytes) {
    const { CopyObjectResult } = await connection.send(async (s3) =>
      s3.copyObject({ Bucket, Key, ...source, ...encryption.write }),
    );
    return CopyObjectResult?.ETag ?? '';
  }
  const { UploadId } = await connection.send(async (s3) =>
    s3.createMultipartUpload({ Bucket, Key, ...encryption.write }),
  );
  const target = { Bucket, Key, UploadId };
  try {
    const Parts: CompletedPart[] = [];
    for (let at = 0; at < bytes; at += copyBytes) {
      const part = {
        PartNumber: Parts.length + 1,
        CopySourceRange: `bytes=${at}-${Math.min(at + copyBytes, bytes) - 1}`,
      };
      const { CopyPartResult } = await connection.send(async (s3) =>
        s3.uploadPartCopy({ ...target, ...part, ...source, ...encryption.access }),
      );
      Parts.push({ PartNumber: part.PartNumber, ETag: CopyPartResult?.ETag });
    }
    const { ETag = '' } = await connection.send(async (s3) =>
      s3.completeMultipartUpload({ ...target, MultipartUpload: { Parts }, ...encryption.access }),
    );
    return ETag;
  } catch (error) {
    await connection.ask(
      async (s3) => s3.abortMultipartUpload(target),
      () => true, // what is left is removed by `removeAbandonedUploads`
    );
    throw error;
  }
}
