// Writes content to a temporary file, whole and durable, hashed on the way; what becomes of it is the caller's.
// Small content is written by synchronous calls (microseconds), large content in chunks: one is written by the
// thread pool while it is hashed here, so the event loop is held for a chunk's hash and no longer.
import { createHash, randomBytes, type Hash } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LongshoreError } from '../../shared/errors.ts';
import { io } from './io-errors.ts';
import { livenessOf, ownIdentity } from './process-identity.ts';

const fsync = promisify(fs.fsync);

const CHUNK_BYTES = 512 * 1024; // 0.4 ms of hashing
const GATHER_BYTES = 256 * 1024;
const SYNC_BYTES = 64 * 1024;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A temporary file: complete, of the size it should have, and flushed to disk. */
export interface TempFile {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * Writes a new file of mode 0600 in `folder`. On any failure, of the source too, the file is removed.
 * Raises `StoreFull`, `StoreUnavailable`; passes on what the source throws.
 */
export async function writeTemp(folder: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<TempFile> {
  const path = join(folder, `${ownIdentity()}-${randomBytes(8).toString('hex')}`);
  const file = io(folder, () => fs.openSync(path, 'wx', 0o600));
  try {
    io(folder, () => fs.fchmodSync(file, 0o600)); // the umask may have taken bits away
    const written = await writeContent(file, folder, content);
    await io(folder, () => fsync(file));
    fs.closeSync(file);
    return { path, ...written };
  } catch (error) {
    closeQuietly(file);
    removeTemp(path);
    throw error;
  }
}

/** Removes a temporary file, best effort: what cannot be removed now is left for `removeAbandonedTemps`. */
export function removeTemp(path: string): void {
  try {
    fs.rmSync(path, { force: true });
  } catch {
    // The failure that led here is the one to tell.
  }
}

/** Removes what killed writers left: older than an hour and the writer dead, or a day where that cannot be known. */
export function removeAbandonedTemps(folder: string, nowMs: number): void {
  for (const name of fs.readdirSync(folder)) {
    const path = join(folder, name);
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() !== true) continue;
    const ageMs = nowMs - stat.mtimeMs;
    if (ageMs <= HOUR_MS) continue;
    const liveness = livenessOf(name);
    if (liveness === 'dead' || (liveness === 'unknown' && ageMs > DAY_MS)) fs.rmSync(path, { force: true });
  }
}

async function writeContent(
  file: number,
  folder: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  if (content instanceof Uint8Array) {
    for (; bytes < content.byteLength; bytes += CHUNK_BYTES) {
      await writeChunk(file, folder, content.subarray(bytes, bytes + CHUNK_BYTES), { hash, at: bytes });
    }
    bytes = content.byteLength;
  } else {
    for await (const chunk of gathered(content)) {
      await writeChunk(file, folder, chunk, { hash, at: bytes });
      bytes += chunk.byteLength;
    }
  }
  checkSize(file, folder, bytes);
  return { sha256: hash.digest('hex'), bytes };
}

interface ChunkPlace {
  readonly hash: Hash;
  readonly at: number;
}

async function writeChunk(file: number, folder: string, chunk: Uint8Array, { hash, at }: ChunkPlace): Promise<void> {
  if (chunk.byteLength <= SYNC_BYTES) {
    io(folder, () => writeAllSync(file, chunk, at));
    hash.update(chunk);
    return;
  }
  const writing = io(folder, () => writeAll(file, chunk, at));
  hash.update(chunk);
  await writing;
}

function writeAllSync(file: number, chunk: Uint8Array, at: number): void {
  for (let done = 0; done < chunk.byteLength;) {
    done += advanced(fs.writeSync(file, chunk, done, chunk.byteLength - done, at + done));
  }
}

async function writeAll(file: number, chunk: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < chunk.byteLength;) {
    const rest = chunk.subarray(done);
    const count = await new Promise<number>((resolve, reject) => {
      fs.write(file, rest, 0, rest.byteLength, at + done, (error, n) => (error === null ? resolve(n) : reject(error)));
    });
    done += advanced(count);
  }
}

/** A write may take less than it was given, and the next call says why; one that takes nothing would never end. */
function advanced(count: number): number {
  if (count > 0) return count;
  throw Object.assign(new Error('a write took no bytes'), { code: 'EIO' });
}

function checkSize(file: number, folder: string, bytes: number): void {
  const { size } = io(folder, () => fs.fstatSync(file));
  if (size === bytes) return;
  throw new LongshoreError(
    'StoreUnavailable',
    `A write to the file store in ${folder} came out short: ${size} of ${bytes} bytes are there.`,
    `Look after the file system that holds ${folder}, then try again.`,
  );
}

/** The same bytes in chunks of a quarter to half a megabyte, but for the last; the source may reuse its buffers. */
async function* gathered(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(GATHER_BYTES);
  let filled = 0;
  for await (const chunk of source) {
    if (filled + chunk.byteLength > GATHER_BYTES && filled > 0) {
      yield buffer.subarray(0, filled);
      filled = 0;
    }
    if (chunk.byteLength > GATHER_BYTES) {
      for (let at = 0; at < chunk.byteLength; at += CHUNK_BYTES) yield chunk.subarray(at, at + CHUNK_BYTES);
    } else {
      buffer.set(chunk, filled);
      filled += chunk.byteLength;
    }
  }
  if (filled > 0) yield buffer.subarray(0, filled);
}

function closeQuietly(file: number): void {
  try {
    fs.closeSync(file);
  } catch {
    // Closed already; the failure that led here is the one to tell.
  }
}
