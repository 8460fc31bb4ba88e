// The blobs of the S3 driver. Small content is one request, which the server refuses where the blob is there already;
// large content goes in parts and becomes visible whole. A stream whose hash nobody knows goes to a key of its own first.
import type { BlobRef, FileStore } from '../../shared/file-store.ts';
import { checkExpected } from './blob-checks.ts';
import { relyOnBlob, type IntentObjects } from './intents.ts';
import type { BlobStore } from './local-blobs.ts';
import { s3BlobReads } from './s3-blob-reads.ts';
import type { S3Connection } from './s3-client.ts';
import { copyOnServer } from './s3-copy.ts';
import { s3Deletion } from './s3-delete.ts';
import { isConditionFailed, isUndecided } from './s3-errors.ts';
import type { S3Layout } from './s3-layout.ts';
import { listKeys } from './s3-list.ts';
import { PART_BYTES, removeAbandonedUploads, uploadParts } from './s3-multipart.ts';
import { partsOfBytes, partsOfStream, refOfBytes } from './s3-parts.ts';

/** Above this, in bytes, it is asked whether the blob is there before its content is sent. */
const ASK_FIRST_BYTES = 64 * 1024;

/** The blobs of a namespace. Errors as `FileStore` has them. */
export function s3Blobs(connection: S3Connection, layout: S3Layout, objects: IntentObjects): BlobStore {
  const deleteKeys = s3Deletion(connection);
  const { isIntact, remember, ...reads } = s3BlobReads(connection, layout);
  const isThere = async ({ sha256, bytes }: BlobRef): Promise<boolean> =>
    (await reads.statBlob(sha256))?.bytes === bytes && isIntact(sha256);
  const writer: BlobWriter = {
    connection,
    layout,
    isThere,
    isSomethingThere: async ({ sha256 }) => (await reads.statBlob(sha256)) !== null,
    mayRelyOn: async (ref) => relyOnBlob(objects, ref.sha256, async () => isThere(ref)),
    remember: ({ sha256, bytes }, etag) => {
      if (etag !== '') remember(sha256, { etag, bytes });
    },
    cleanUp: once(async () => removeAbandonedUploads(connection, layout, Date.now())),
  };
  return {
    ...reads,
    putBlob: async (content, expected) => putBlob(writer, content, expected),
    async deleteBlob(sha256) {
      const Key = layout.blob(sha256);
      await connection.send(async (s3) => s3.deleteObject({ Bucket: connection.bucket, Key }));
    },
    deleteBlobs: async (hashes) => deleteKeys(hashes.map((sha256) => layout.blob(sha256))),
    async *listBlobs(prefix) {
      for await (const { Key, bytes, modifiedMs } of listKeys(connection, layout.blobs(prefix))) {
        const sha256 = layout.sha256In(Key);
        if (sha256 !== undefined) yield { sha256, bytes, modifiedMs };
      }
    },
  };
}

interface BlobWriter {
  readonly connection: S3Connection;
  readonly layout: S3Layout;
  readonly isThere: (ref: BlobRef) => Promise<boolean>;
  readonly isSomethingThere: (ref: BlobRef) => Promise<boolean>;
  /** See `relyOnBlob`. */
  readonly mayRelyOn: (ref: BlobRef) => Promise<boolean>;
  readonly remember: (ref: BlobRef, etag: string) => void;
  /** Removes what killed writers left, once, before the first large write. */
  readonly cleanUp: () => Promise<void>;
}

async function putBlob(
  writer: BlobWriter,
  content: Parameters<FileStore['putBlob']>[0],
  expected: BlobRef | undefined,
): Promise<BlobRef> {
  if (content instanceof Uint8Array) {
    const found = await refOfBytes(content);
    checkExpected(found, expected);
    if (await isKept(writer, found)) return found;
    return content.byteLength <= PART_BYTES
      ? putWhole(writer, found, content)
      : putParts(writer, found, partsOfBytes(content), () => found);
  }
  if (expected !== undefined && (await isKept(writer, expected))) {
    return { sha256: expected.sha256, bytes: expected.bytes };
  }
  return putStream(writer, content, expected);
}

async function isKept(writer: BlobWriter, ref: BlobRef): Promise<boolean> {
  return ref.bytes > ASK_FIRST_BYTES && (await writer.isThere(ref)) && writer.mayRelyOn(ref);
}

async function putStream(
  writer: BlobWriter,
  content: AsyncIterable<Uint8Array>,
  expected: BlobRef | undefined,
): Promise<BlobRef> {
  const { parts, ref } = partsOfStream(content);
  const first = await parts.next();
  const second = first.done ? first : await parts.next();
  if (second.done) {
    const found = ref();
    checkExpected(found, expected);
    return putWhole(writer, found, first.done ? new Uint8Array(0) : first.value);
  }
  const all = (async function* () {
    yield* first.done ? [] : [first.value];
    yield second.value;
    yield* parts;
  })();
  const judged = (): BlobRef => {
    const found = ref();
    checkExpected(found, expected);
    return found;
  };
  return expected === undefined ? putUnknown(writer, all, judged) : putParts(writer, expected, all, judged);
}

/** One request; only where something is there already, more. */
async function putWhole(writer: BlobWriter, ref: BlobRef, content: Uint8Array): Promise<BlobRef> {
  const { connection, layout, mayRelyOn, remember } = writer;
  const put = async (condition: { readonly IfNoneMatch?: '*' }): Promise<string | undefined> => {
    const answer = await connection.ask(
      async (s3) =>
        s3.putObject({
          Bucket: connection.bucket,
          Key: layout.blob(ref.sha256),
          Body: content,
          // Checked by the server, and kept with the object: a look at it later tells whether it is the content.
          ChecksumSHA256: Buffer.from(ref.sha256, 'hex').toString('base64'),
          ...condition,
          ...connection.encryption.write,
        }),
      (failure) => condition.IfNoneMatch !== undefined && (isConditionFailed(failure) || isUndecided(failure)),
    );
    return 'value' in answer ? (answer.value.ETag ?? '') : undefined;
  };
  let etag = await put({ IfNoneMatch: '*' });
  if (etag === undefined) {
    if (await mayRelyOn(ref)) return ref;
    etag = await put({}); // over a damaged one, or one that a sweep has deleted since
  }
  remember(ref, etag ?? '');
  return ref;
}

async function putParts(
  writer: BlobWriter,
  { sha256, bytes }: BlobRef,
  parts: AsyncIterable<Uint8Array>,
  judged: () => BlobRef,
): Promise<BlobRef> {
  const ref = { sha256, bytes };
  await writer.cleanUp();
  const etag = await uploadParts(writer.connection, {
    key: writer.layout.blob(sha256),
    parts,
    mayComplete: async () => {
      judged();
      // Something may have come under the key meanwhile: not over it under the hands of a sweep.
      return !(await writer.isSomethingThere(ref)) || !(await writer.mayRelyOn(ref));
    },
  });
  if (etag !== undefined) writer.remember(ref, etag);
  return ref;
}

/** Uploads to a key of its own, and copies to the blob's once its hash is known. */
async function putUnknown(
  writer: BlobWriter,
  parts: AsyncIterable<Uint8Array>,
  judged: () => BlobRef,
): Promise<BlobRef> {
  const { connection, layout } = writer;
  await writer.cleanUp();
  const from = layout.upload();
  await uploadParts(connection, { key: from, parts, mayComplete: async () => true });
  const ref = judged();
  try {
    if ((await writer.isSomethingThere(ref)) && (await writer.mayRelyOn(ref))) return ref;
    const etag = await copyOnServer(connection, { from, to: layout.blob(ref.sha256), bytes: ref.bytes });
    writer.remember(ref, etag);
    return ref;
  } finally {
    await connection.ask(
      async (s3) => s3.deleteObject({ Bucket: connection.bucket, Key: from }),
      () => true, // what is left is removed by `removeAbandonedUploads`
    );
  }
}

function once(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return async () => {
    // Cleaning up must not fail a write that has nothing to do with what is left.
    running ??= work().catch(() => {});
    return running;
  };
}
