// How the local driver writes a named object into a file: one header line with etag, hash and size, then the body.
import { createHash } from 'node:crypto';
import { LongshoreError } from '../../shared/errors.ts';
import type { StoredObject } from '../../shared/file-store.ts';

const MAGIC = 'longshore-object/1';
const HEADER = new RegExp(`^${MAGIC} ([0-9a-f]{16}) ([0-9a-f]{64}) ([0-9]{1,15})\\n`);

/** No header is longer. */
export const HEADER_BYTES = 128;

/** What a header says. */
export interface ObjectHeader {
  readonly etag: string;
  readonly sha256: string;
  readonly bytes: number;
  /** Where the body begins. */
  readonly bodyAt: number;
}

/** The file's content for an object. `etag`: 16 hexadecimal digits. */
export function frameObject(etag: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${MAGIC} ${etag} ${sha256Of(body)} ${body.byteLength}\n`), body]);
}

/** The header at a file's beginning, or null if there is none. */
export function readHeader(beginning: Uint8Array): ObjectHeader | null {
  const text = Buffer.from(beginning.buffer, beginning.byteOffset, Math.min(beginning.byteLength, HEADER_BYTES));
  const match = HEADER.exec(text.toString('latin1'));
  const [line = '', etag, sha256, bytes] = match ?? [];
  if (etag === undefined || sha256 === undefined) return null;
  return { etag, sha256, bytes: Number(bytes), bodyAt: line.length };
}

/** The object in a file's content, verified by size and hash. Raises `BlobCorrupt`, naming the key. */
export function unframeObject(key: string, content: Uint8Array): StoredObject {
  const header = readHeader(content);
  if (header === null) throw corrupt(key, 'does not begin as an object should');
  const body = content.subarray(header.bodyAt);
  if (body.byteLength !== header.bytes) {
    throw corrupt(key, `has ${body.byteLength} bytes where ${header.bytes} were written`);
  }
  const found = sha256Of(body);
  if (found !== header.sha256) throw corrupt(key, `has SHA-256 ${found} where ${header.sha256} was written`);
  return { body, etag: header.etag };
}

function sha256Of(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex');
}

function corrupt(key: string, problem: string): LongshoreError {
  return new LongshoreError(
    'BlobCorrupt',
    `The object \`${key}\` in the file store ${problem}.`,
    'Bring it back from a copy of the store, or delete it if nothing needs it.',
  );
}
