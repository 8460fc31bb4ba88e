// Uploads of more than one part. Up to four parts are held at a time, whatever the size of the whole. What is not
// completed is aborted; what a killed process left is removed by `removeAbandonedUploads`.
import type { CompletedPart, S3 } from '@aws-sdk/client-s3';
import type { S3Connection } from './s3-client.ts';
import type { S3Layout } from './s3-layout.ts';
import { listKeys } from './s3-list.ts';

/** The size of a part but for the last. S3 takes 5 MiB and more, and 10,000 parts: 80 GiB. */
export const PART_BYTES = 8 * 1024 * 1024;
/** Parts on their way at the same time. */
const CONCURRENCY = 3;
const DAY_MS = 86_400_000;

/** An upload: where to, and what to do when all parts are there. */
export interface MultipartUpload {
  readonly key: string;
  /** Gets the index of a part and its bytes, which are not used again before they were sent. */
  readonly parts: AsyncIterable<Uint8Array>;
  /** Called before the whole becomes visible; false: it is not wanted any more. What it raises aborts the upload. */
  readonly mayComplete: () => Promise<boolean>;
}

/** Uploads a whole in parts and gives its etag; undefined when it was not wanted. Passes on what the source raises. */
export async function uploadParts(connection: S3Connection, upload: MultipartUpload): Promise<string | undefined> {
  const { key: Key, mayComplete } = upload;
  const to = { Bucket: connection.bucket, Key };
  const { UploadId } = await connection.send(async (s3) =>
    s3.createMultipartUpload({ ...to, ...connection.encryption.write }),
  );
  const target = { ...to, UploadId };
  try {
    const Parts = await sendParts(connection, target, upload.parts);
    if (await mayComplete()) return await complete(connection, target, Parts);
  } catch (error) {
    await abort(connection, target);
    throw error;
  }
  await abort(connection, target);
  return undefined;
}

interface UploadTarget {
  readonly Bucket: string;
  readonly Key: string;
  readonly UploadId: string | undefined;
}

async function sendParts(
  connection: S3Connection,
  target: UploadTarget,
  source: AsyncIterable<Uint8Array>,
): Promise<CompletedPart[]> {
  const parts: CompletedPart[] = [];
  const running = new Set<Promise<void>>();
  const sendPart = async (PartNumber: number, Body: Uint8Array): Promise<void> => {
    const request: Parameters<S3['uploadPart']>[0] = { ...target, PartNumber, Body, ...connection.encryption.access };
    const { ETag } = await connection.send(async (s3) => s3.uploadPart(request));
    parts.push({ PartNumber, ETag });
  };
  try {
    let number = 0;
    for await (const body of source) {
      number += 1;
      const sending = sendPart(number, body).finally(() => running.delete(sending));
      sending.catch(() => {}); // told below, where it is awaited
      running.add(sending);
      if (running.size >= CONCURRENCY) await Promise.race(running);
    }
    await Promise.all(running);
  } finally {
    await Promise.allSettled(running); // a part that comes after the abort would be kept, and paid for
  }
  return parts.sort((a, b) => (a.PartNumber ?? 0) - (b.PartNumber ?? 0));
}

async function complete(connection: S3Connection, target: UploadTarget, Parts: CompletedPart[]): Promise<string> {
  const answer = await connection.ask(
    async (s3) =>
      s3.completeMultipartUpload({ ...target, MultipartUpload: { Parts }, ...connection.encryption.access }),
    // The answer to an earlier sending may have been lost: then the upload is gone because it is complete.
    ({ code, attempts }) => code === 'NoSuchUpload' && attempts > 1,
  );
  return 'value' in answer ? (answer.value.ETag ?? '') : '';
}

/** Best effort: what cannot be aborted now is left for `removeAbandonedUploads`; the failure that led here is told. */
async function abort(connection: S3Connection, target: UploadTarget): Promise<void> {
  await connection.ask(
    async (s3) => s3.abortMultipartUpload(target),
    () => true,
  );
}

/**
 * Removes what killed writers left under a namespace: parts of uploads, uploads that were not put in place, and probes,
 * each when it is a day old. Best effort: an identity may lack the rights for it.
 */
export async function removeAbandonedUploads(connection: S3Connection, layout: S3Layout, nowMs: number): Promise<void> {
  const { bucket: Bucket } = connection;
  const uploads = await connection.ask(
    async (s3) => s3.listMultipartUploads({ Bucket, Prefix: layout.root }),
    () => true,
  );
  for (const { Key, UploadId, Initiated } of 'value' in uploads ? (uploads.value.Uploads ?? []) : []) {
    if (Key === undefined || Initiated === undefined || nowMs - Initiated.getTime() < DAY_MS) continue;
    await abort(connection, { Bucket, Key, UploadId });
  }
  for (const prefix of [layout.uploads, layout.probes]) {
    for await (const { Key, modifiedMs } of listKeys(connection, prefix)) {
      if (nowMs - modifiedMs < DAY_MS) continue;
      await connection.ask(
        async (s3) => s3.deleteObject({ Bucket, Key }),
        () => true,
      );
    }
  }
}
