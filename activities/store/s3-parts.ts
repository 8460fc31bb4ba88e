// Content as the parts of an upload: in buffers of their own where the source is a stream, hashed on the way.
import { createHash, type Hash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BlobRef } from '../../shared/file-store.ts';
import { PART_BYTES } from './s3-multipart.ts';

/** Hashed between two turns of the event loop: 0.4 ms. */
const SLICE_BYTES = 512 * 1024;

/** The reference of content that is at hand; gives the event loop its turns. */
export async function refOfBytes(content: Uint8Array): Promise<BlobRef> {
  const hash = createHash('sha256');
  await feed(hash, content);
  return { sha256: hash.digest('hex'), bytes: content.byteLength };
}

/** Content that is at hand, in parts. */
export async function* partsOfBytes(content: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.byteLength; at += PART_BYTES) yield content.subarray(at, at + PART_BYTES);
}

/** A stream as parts, and what it came to. */
export interface StreamParts {
  /** All of one size but for the last; none for an empty stream. The source may use its own buffers again. */
  readonly parts: AsyncGenerator<Uint8Array>;
  /** The reference of all that was read. To be asked for once, when the parts have ended. */
  readonly ref: () => BlobRef;
}

/** Cuts a stream into parts. */
export function partsOfStream(source: AsyncIterable<Uint8Array>): StreamParts {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* parts(): AsyncGenerator<Uint8Array> {
    let part = new Uint8Array(PART_BYTES);
    let filled = 0;
    for await (const chunk of source) {
      bytes += chunk.byteLength;
      for (let at = 0; at < chunk.byteLength;) {
        const piece = chunk.subarray(at, at + Math.min(SLICE_BYTES, PART_BYTES - filled));
        part.set(piece, filled);
        hash.update(piece);
        filled += piece.byteLength;
        at += piece.byteLength;
        if (filled < PART_BYTES) continue;
        yield part;
        part = new Uint8Array(PART_BYTES);
        filled = 0;
      }
    }
    if (filled > 0) yield part.subarray(0, filled);
  }
  return { parts: parts(), ref: () => ({ sha256: hash.digest('hex'), bytes }) };
}

async function feed(hash: Hash, content: Uint8Array): Promise<void> {
  for (let at = 0; at < content.byteLength; at += SLICE_BYTES) {
    if (at > 0) await nextTurn();
    hash.update(content.subarray(at, at + SLICE_BYTES));
  }
}
