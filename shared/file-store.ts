// The seam to where files live: content-addressed blobs, and small named objects with conditional writes.
// Drivers stand in `activities/store/`; the suite that each of them passes is `test/contract/file-store.ts`.

/** What identifies a blob: its content's SHA-256 (64 hexadecimal digits) and its size. */
export interface BlobRef {
  readonly sha256: string;
  readonly bytes: number;
}

/** A blob as a listing shows it: with the time it was last written, by the store's own clock; milliseconds since 1970. */
export interface BlobListing extends BlobRef {
  readonly modifiedMs: number;
}

/** A half-open range of bytes: `start` inclusive, `end` exclusive; an `end` past the blob's end is cut to it. */
export interface ByteRange {
  readonly start: number;
  readonly end?: number;
}

/** A small named object. `etag` is opaque and changes with every write. */
export interface StoredObject {
  readonly body: Uint8Array;
  readonly etag: string;
}

/** A named object as a listing with times shows it: when it was last written, by the store's own clock; milliseconds since 1970. */
export interface ObjectListing {
  readonly key: string;
  readonly modifiedMs: number;
}

/** The condition of a write: `ifAbsent` for a new object, `ifMatch` for the version that was read. */
export interface WriteCondition {
  readonly ifAbsent?: true;
  readonly ifMatch?: string;
}

/**
 * Where blobs and manifests live, for one namespace.
 *
 * Contract: every write is atomic and durable when its promise resolves: a reader sees the whole of it or nothing,
 * after a crash too. Writing what is already there is a success. Two processes may use one store at once.
 * Raises `StoreFull`, `StoreUnavailable` (both retryable), `BlobMissing`, `BlobCorrupt`, `StoreConflict`.
 */
export interface FileStore {
  /** The driver's name and place, for messages to people; holds no secret. */
  readonly description: string;
  /**
   * Stores content under its hash. `expected` is checked against what was written (`BlobCorrupt` if it differs); if
   * the blob is there already, nothing is written and a stream is not read. One that was damaged is replaced.
   * Whatever relies on, or writes over, a blob that is there goes through `relyOnBlob` (`activities/store/intents.ts`)
   * first, so that no sweep deletes it meanwhile. Source: architecture D7, D8.
   */
  putBlob(content: Uint8Array | AsyncIterable<Uint8Array>, expected?: BlobRef): Promise<BlobRef>;
  /** The blob's reference if it is there, else null. Does not read the content. */
  statBlob(sha256: string): Promise<BlobRef | null>;
  /** The whole content or a range of it. A whole read is verified by hash; `BlobMissing`, `BlobCorrupt`. */
  readBlob(sha256: string, range?: ByteRange): Promise<Uint8Array>;
  /** The content as a stream of chunks, verified by size and hash at its end. */
  streamBlob(sha256: string, range?: ByteRange): AsyncIterable<Uint8Array>;
  /** Removes a blob; removing what is not there is a success. */
  deleteBlob(sha256: string): Promise<void>;
  /** The same of many blobs, in fewer requests than one each. @default `deleteBlob` for each */
  deleteBlobs?(hashes: readonly string[]): Promise<void>;
  /**
   * Every blob, in no order; with `prefix`, two hexadecimal digits, those whose hash begins with it. Shows every blob
   * that is there from before the listing began until its end.
   */
  listBlobs(prefix?: string): AsyncIterable<BlobListing>;
  /** A named object, or null. Keys: see `objectKey`. */
  getObject(key: string): Promise<StoredObject | null>;
  /** Writes a named object whole. Raises `StoreConflict` when the condition does not hold. */
  putObject(key: string, body: Uint8Array, condition?: WriteCondition): Promise<{ readonly etag: string }>;
  /** Removes a named object; removing what is not there is a success. */
  deleteObject(key: string): Promise<void>;
  /** The same of many objects, in fewer requests than one each. @default `deleteObject` for each */
  deleteObjects?(keys: readonly string[]): Promise<void>;
  /** The keys below `prefix`, without one that is `prefix` itself, sorted, with times. @default none: each object is read */
  listObjectTimes?(prefix: string): AsyncIterable<ObjectListing>;
  /** The keys that begin with `prefix` (whole segments), sorted. */
  listObjects(prefix: string): AsyncIterable<string>;
}

/** The keys below a folder that is no object itself, sorted: one request less than `listObjects` where the driver can. */
export async function* keysBelow(
  store: Pick<FileStore, 'listObjects' | 'listObjectTimes'>,
  folder: string,
): AsyncGenerator<string> {
  if (!store.listObjectTimes) return yield* store.listObjects(folder);
  for await (const { key } of store.listObjectTimes(folder)) yield key;
}

/**
 * A key of slash-separated segments, each made safe: `[A-Za-z0-9_-]` and inner dots stay, the rest is percent-encoded,
 * and a segment over 120 characters keeps its beginning and ends in its hash. Distinct inputs give distinct keys.
 */
export function objectKey(hash: (text: string) => string, ...segments: readonly string[]): string {
  return segments.map((segment) => safeSegment(segment, hash)).join('/');
}

function safeSegment(segment: string, hash: (text: string) => string): string {
  const encoded = Array.from(segment, encodeCharacter)
    .join('')
    .replace(/^\.|\.$/g, '%2E');
  if (encoded.length > 0 && encoded.length <= 120) return encoded;
  return `${encoded.slice(0, 80)}%%${hash(encoded).slice(0, 32)}`;
}

/** A lone surrogate, which has no UTF-8, becomes `%uD800`: distinct inputs stay distinct. */
function encodeCharacter(character: string): string {
  if (/[A-Za-z0-9_.-]/.test(character)) return character;
  if (!character.isWellFormed()) return `%u${character.charCodeAt(0).toString(16).toUpperCase()}`;
  return encodeURIComponent(character).replace(/[!'()*~]/, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}
