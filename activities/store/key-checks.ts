// What every driver refuses before it looks anything up: keys that `objectKey` cannot have made, and what is no hash.
import { LongshoreError } from '../../shared/errors.ts';
import type { ByteRange } from '../../shared/file-store.ts';
import { isSha256 } from './blob-checks.ts';

const SEGMENT = /^(?!\.)[\w%.-]{1,200}(?<!\.)$/;

/** Whether a name can be a segment of a key. */
export function isSegment(name: string): boolean {
  return SEGMENT.test(name);
}

/** The segments of a key. Raises `Internal` for what `objectKey` cannot have made. */
export function segmentsOf(key: string): readonly string[] {
  const segments = key.split('/');
  if (segments.every(isSegment)) return segments;
  throw new LongshoreError(
    'Internal',
    `${JSON.stringify(key.slice(0, 200))} is no key of the file store.`,
    'Make keys with objectKey.',
  );
}

/** The hash as it is. Raises `Internal` for what is no SHA-256. */
export function checkedSha256(sha256: string): string {
  if (isSha256(sha256)) return sha256;
  throw new LongshoreError(
    'Internal',
    `${JSON.stringify(sha256.slice(0, 100))} is no SHA-256.`,
    'Name blobs by 64 lower-case hexadecimal digits.',
  );
}

/** A range cut to a blob's size. Raises `Internal` for what is no range. */
export function cutRange(range: ByteRange | undefined, size: number): { readonly start: number; readonly end: number } {
  const { start, end = Math.max(size, start) }: ByteRange = range ?? { start: 0 };
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && end >= start) {
    return { start: Math.min(start, size), end: Math.min(end, size) };
  }
  throw new LongshoreError(
    'Internal',
    `${start} to ${end} is no range of bytes.`,
    'Ask for whole numbers with 0 ≤ start ≤ end.',
  );
}
