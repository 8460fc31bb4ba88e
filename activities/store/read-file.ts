// Reads from open files: small pieces by synchronous calls (5 microseconds; the thread pool takes 200), larger ones
// in chunks by the thread pool.
import { createHash, type Hash } from 'node:crypto';
import fs from 'node:fs';
import { io } from './io-errors.ts';

const CHUNK_BYTES = 512 * 1024; // 0.4 ms of hashing
const SYNC_BYTES = 64 * 1024;

/** A half-open range of an open file, cut to what the file holds. */
export interface FilePart {
  readonly start: number;
  readonly end: number;
}

/** The bytes of a part, fewer where the file ends before it; `hash` is fed with them on the way. */
export async function readPart(file: number, { start, end }: FilePart, hash?: Hash): Promise<Uint8Array> {
  const content = new Uint8Array(end - start);
  let done = 0;
  while (done < content.byteLength) {
    const count = await readInto(file, content.subarray(done, done + CHUNK_BYTES), start + done);
    if (count === 0) return content.subarray(0, done);
    hash?.update(content.subarray(done, done + count));
    done += count;
  }
  return content;
}

/** The chunks of a part, each in a buffer of its own. Raises `StoreUnavailable`, naming `place`. */
export async function* readChunks(place: string, file: number, { start, end }: FilePart): AsyncGenerator<Uint8Array> {
  for (let at = start; at < end;) {
    const part = { start: at, end: Math.min(at + CHUNK_BYTES, end) };
    const chunk = await io(place, () => readPart(file, part));
    if (chunk.byteLength === 0) return;
    yield chunk;
    at += chunk.byteLength;
  }
}

/** The SHA-256 of an open file's content. */
export async function hashOfFile(file: number): Promise<string> {
  const hash = createHash('sha256');
  const buffer = new Uint8Array(CHUNK_BYTES);
  for (let at = 0; ;) {
    const count = await readInto(file, buffer, at);
    if (count === 0) return hash.digest('hex');
    hash.update(buffer.subarray(0, count));
    at += count;
  }
}

async function readInto(file: number, target: Uint8Array, at: number): Promise<number> {
  if (target.byteLength <= SYNC_BYTES) return fs.readSync(file, target, 0, target.byteLength, at);
  return new Promise((resolve, reject) => {
    fs.read(file, target, 0, target.byteLength, at, (error, count) =>
      error === null ? resolve(count) : reject(error),
    );
  });
}
