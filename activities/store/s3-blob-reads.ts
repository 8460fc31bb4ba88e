// Reading blobs of the S3 driver. Whatever is read is verified: a whole read by its hash; a range by the server's own
// SHA-256 of the object where it keeps one, else by a look at the whole. What was found right is known by its etag, which
// every later request names as its condition.
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { LongshoreError } from '../../shared/errors.ts';
import type { ByteRange, FileStore } from '../../shared/file-store.ts';
import { checkContent, checkLength } from './blob-checks.ts';
import { checkedSha256, cutRange } from './key-checks.ts';
import { readBody } from './s3-body.ts';
import type { S3Connection } from './s3-client.ts';
import { isNotFound } from './s3-errors.ts';
import type { S3Layout } from './s3-layout.ts';

const REMEMBERED_BLOBS = 10_000;
/** What one request of a stream gets; two are held at once. */
const READ_BYTES = 4 * 1024 * 1024;
/** What a stream gives at once: 0.4 ms of hashing. */
const CHUNK_BYTES = 512 * 1024;

/** A version of a blob on the server. */
export interface S3Blob {
  readonly etag: string;
  readonly bytes: number;
}

/** The reads of a namespace's blobs, and what writers must know. They raise what `FileStore` says. */
export interface S3BlobReads extends Pick<FileStore, 'statBlob' | 'readBlob' | 'streamBlob'> {
  /** Whether a blob is there as it should be, which may take a look at the whole. */
  readonly isIntact: (sha256: string) => Promise<boolean>;
  /** Says that this version was found right, or written here. */
  readonly remember: (sha256: string, blob: S3Blob) => void;
}

/** Makes the reads. */
export function s3BlobReads(connection: S3Connection, layout: S3Layout): S3BlobReads {
  const reader = new BlobReader(connection, layout);
  return {
    statBlob: async (sha256) => {
      const found = await reader.head(checkedSha256(sha256));
      return found === null ? null : { sha256, bytes: found.bytes };
    },
    readBlob: async (sha256, range) =>
      range === undefined ? reader.whole(checkedSha256(sha256)) : reader.part(checkedSha256(sha256), range),
    streamBlob: (sha256, range) => reader.stream(sha256, range),
    isIntact: async (sha256) => {
      try {
        await reader.verify(sha256);
        return true;
      } catch (error) {
        if (error instanceof LongshoreError && WRONG.has(error.type)) return false;
        throw error;
      }
    },
    remember: (sha256, blob) => reader.remember(sha256, blob),
  };
}

const WRONG: ReadonlySet<string> = new Set(['BlobMissing', 'BlobCorrupt']);

class BlobReader {
  /** Found right, by hash: its version. */
  private readonly right = new LRUCache<string, S3Blob>({ max: REMEMBERED_BLOBS });
  /** Found wrong, by hash: its etag. Whatever the server's checksum says, it is looked at as a whole. */
  private readonly wrong = new LRUCache<string, string>({ max: REMEMBERED_BLOBS });
  private readonly connection: S3Connection;
  private readonly layout: S3Layout;
  private bucket: Promise<unknown> | undefined;

  constructor(connection: S3Connection, layout: S3Layout) {
    this.connection = connection;
    this.layout = layout;
  }

  remember(sha256: string, { etag, bytes }: S3Blob): void {
    this.right.set(sha256, { etag, bytes });
    this.wrong.delete(sha256);
  }

  /** What the server says of a blob, with its own SHA-256 in base64 if it keeps one of the whole; null if not there. */
  async head(sha256: string): Promise<(S3Blob & { readonly checksum: string | undefined }) | null> {
    const { bucket, encryption } = this.connection;
    const request = { Bucket: bucket, Key: this.layout.blob(sha256), ChecksumMode: 'ENABLED', ...encryption.access };
    const answer = await this.connection.ask(
      async (s3) => s3.headObject({ ...request, ChecksumMode: 'ENABLED' }),
      isNotFound,
    );
    if ('failure' in answer) {
      // The answer to HEAD does not tell a missing object from a missing bucket.
      this.bucket ??= this.connection.send(async (s3) => s3.headBucket({ Bucket: bucket }));
      await this.bucket.catch((error: unknown) => {
        this.bucket = undefined;
        throw error;
      });
      return null;
    }
    const { ETag = '', ContentLength = 0, ChecksumSHA256 } = answer.value;
    return { etag: ETag, bytes: ContentLength, checksum: ChecksumSHA256 };
  }

  /** The version of a blob that was found right. Raises `BlobMissing`, `BlobCorrupt`. */
  async verify(sha256: string): Promise<S3Blob> {
    const found = await this.head(sha256);
    if (found === null) throw this.missing(sha256);
    if (this.right.get(sha256)?.etag === found.etag) return found;
    const isVouched = found.checksum === Buffer.from(sha256, 'hex').toString('base64');
    if (!isVouched || this.wrong.get(sha256) === found.etag) {
      for await (const chunk of this.hashed(sha256, found)) void chunk;
    }
    this.remember(sha256, found);
    return found;
  }

  async whole(sha256: string): Promise<Uint8Array> {
    let hash = createHash('sha256');
    const read = await readBody(
      this.connection,
      { Key: this.layout.blob(sha256) },
      () => (hash = createHash('sha256')),
    );
    if (read === null) throw this.missing(sha256);
    this.judge(sha256, hash.digest('hex'), { etag: read.etag, bytes: read.body.byteLength });
    return read.body;
  }

  async part(sha256: string, range: ByteRange): Promise<Uint8Array> {
    cutRange(range, 0);
    const known = this.right.get(sha256);
    const first = known && (await this.get(sha256, known, cutRange(range, known.bytes)));
    if (first) return first;
    const found = await this.verify(sha256);
    const part = await this.get(sha256, found, cutRange(range, found.bytes));
    if (part === null) throw this.changed(sha256);
    return part;
  }

  async *stream(sha256: string, range?: ByteRange): AsyncGenerator<Uint8Array> {
    checkedSha256(sha256);
    if (range === undefined) {
      const found = await this.head(sha256);
      if (found === null) throw this.missing(sha256);
      yield* this.hashed(sha256, found);
      return;
    }
    cutRange(range, 0);
    const found = await this.verify(sha256);
    yield* this.chunks(sha256, found, cutRange(range, found.bytes));
  }

  /** The whole of a version, judged at its end. */
  private async *hashed(sha256: string, blob: S3Blob): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    for await (const chunk of this.chunks(sha256, blob, { start: 0, end: blob.bytes })) {
      hash.update(chunk);
      yield chunk;
    }
    this.judge(sha256, hash.digest('hex'), blob);
  }

  /** A part of a version, in requests of 4 MiB, of which the next one runs ahead: a slow reader holds none open. */
  private async *chunks(
    sha256: string,
    blob: S3Blob,
    { start, end }: { readonly start: number; readonly end: number },
  ): AsyncGenerator<Uint8Array> {
    const fetch = async (at: number): Promise<Uint8Array | null> => {
      const next = this.get(sha256, blob, { start: at, end: Math.min(at + READ_BYTES, end) });
      next.catch(() => {}); // told when it is awaited, which a reader that leaves never does
      return next;
    };
    let next = fetch(start);
    for (let at = start; at < end; at += READ_BYTES) {
      const piece = await next;
      if (piece === null) throw this.changed(sha256);
      if (at + READ_BYTES < end) next = fetch(at + READ_BYTES);
      for (let from = 0; from < piece.byteLength; from += CHUNK_BYTES) yield piece.subarray(from, from + CHUNK_BYTES);
    }
  }

  /** A part of a version; null when the server has that version no more. */
  private async get(
    sha256: string,
    { etag }: S3Blob,
    { start, end }: { readonly start: number; readonly end: number },
  ): Promise<Uint8Array | null> {
    if (start >= end) return new Uint8Array(0);
    const get = { Key: this.layout.blob(sha256), Range: `bytes=${start}-${end - 1}`, IfMatch: etag };
    const read = await readBody(this.connection, get);
    if (read === null) return null;
    checkLength(sha256, end - start, read.body.byteLength);
    return read.body;
  }

  private judge(sha256: string, found: string, blob: S3Blob): void {
    try {
      checkContent(sha256, found, blob.bytes);
    } catch (error) {
      this.right.delete(sha256);
      this.wrong.set(sha256, blob.etag);
      throw error;
    }
    this.remember(sha256, blob);
  }

  private missing(sha256: string): LongshoreError {
    return new LongshoreError(
      'BlobMissing',
      `The file store (${this.connection.place}) has no blob of SHA-256 ${sha256}.`,
      'It was deleted, or never written here. Make it again by the call that made it.',
    );
  }

  private changed(sha256: string): LongshoreError {
    return new LongshoreError(
      'StoreUnavailable',
      `The blob of SHA-256 ${sha256} was written anew or deleted while it was read (${this.connection.place}).`,
      'Read it again.',
    );
  }
}
