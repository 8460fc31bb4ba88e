// What the local driver checks of a blob's content, and how it says that something is wrong with it.
import { createHash } from 'node:crypto';
import { LongshoreError } from '../../shared/errors.ts';
import type { BlobRef } from '../../shared/file-store.ts';

/** Content up to this size is hashed before anything is written, which takes less than a millisecond. */
const HASH_FIRST_BYTES = 1024 * 1024;

/** The reference of content before it is written; undefined for large content that nobody has measured. */
export function knownBefore(
  content: Uint8Array | AsyncIterable<Uint8Array>,
  expected: BlobRef | undefined,
): BlobRef | undefined {
  if (!(content instanceof Uint8Array)) return expected;
  if (content.byteLength <= HASH_FIRST_BYTES) {
    const ref = { sha256: createHash('sha256').update(content).digest('hex'), bytes: content.byteLength };
    checkExpected(ref, expected);
    return ref;
  }
  if (expected !== undefined && expected.bytes !== content.byteLength) {
    throw corrupt(expected.sha256, `is ${content.byteLength} bytes where ${expected.bytes} were expected`);
  }
  return expected;
}

/** Raises `BlobCorrupt` where content is not what its measurement said. */
export function checkExpected(found: BlobRef, expected: BlobRef | undefined): void {
  if (expected === undefined || (found.sha256 === expected.sha256 && found.bytes === expected.bytes)) return;
  throw corrupt(
    expected.sha256,
    `was to be written with ${expected.bytes} bytes, but the content has ${found.bytes} bytes and SHA-256 ${found.sha256}`,
  );
}

/** Raises `BlobCorrupt` where a blob's content does not have its hash. */
export function checkContent(sha256: string, found: string, bytes: number): void {
  if (found !== sha256) throw corrupt(sha256, `has ${bytes} bytes with SHA-256 ${found} in the store`);
}

/** Raises `BlobCorrupt` where a read ended early. */
export function checkLength(sha256: string, expected: number, found: number): void {
  if (found !== expected) throw corrupt(sha256, `gave ${found} bytes where ${expected} were to be read`);
}

/** Whether a text is 64 lower-case hexadecimal digits. */
export function isSha256(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

function corrupt(sha256: string, problem: string): LongshoreError {
  return new LongshoreError(
    'BlobCorrupt',
    `The blob of SHA-256 ${sha256} ${problem}.`,
    'Do not use what was read. Make the content again, by the call that made it, and store it anew.',
  );
}
