// Bytes of one message that come in many pieces. Up to a megabyte the pieces are kept; beyond, they are copied into one block
// of reserved memory, of which only what is written takes room: a message of 50 MB stands in memory once.
import { collectRecent } from './collect-garbage.ts';

const PIECES_BYTES = 1024 * 1024;
/** A message may outgrow its block a few times at most; what is copied then is an eighth of what it may become. */
const FIRST_BLOCK_BYTES = 8 * 1024 * 1024;
const GROWTH = 8;
/** Copied pieces of so many bytes are freed before the next ones come. */
const COLLECTED_BYTES = 4 * 1024 * 1024;

/** Collects bytes up to a limit that its user checks. */
export class ByteStore {
  readonly #limitBytes: number;
  #pieces: Buffer[] = [];
  #sizeBytes = 0;
  #block: Uint8Array<ArrayBuffer> | undefined;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Adds a piece; with it there are at most the limit's bytes. */
  add(piece: Uint8Array): void {
    const before = this.#sizeBytes;
    this.#sizeBytes += piece.length;
    if (this.#sizeBytes <= PIECES_BYTES) {
      this.#pieces.push(Buffer.from(piece.buffer, piece.byteOffset, piece.length));
      return;
    }
    const block = this.#blockOf(this.#sizeBytes);
    let at = 0;
    for (const one of this.#pieces) {
      block.set(one, at);
      at += one.length;
    }
    this.#pieces = [];
    block.set(piece, before);
    if (this.#sizeBytes % COLLECTED_BYTES < piece.length) collectRecent();
  }

  /** All bytes; the store is empty then. Those of more than a megabyte have memory of their own. */
  take(): Buffer {
    const [only] = this.#pieces;
    const pieces = this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces);
    const bytes = this.#block === undefined ? pieces : Buffer.from(this.#block.buffer, 0, this.#sizeBytes);
    this.#block = undefined;
    this.#pieces = [];
    this.#sizeBytes = 0;
    return bytes;
  }

  /** All bytes as UTF-8 text; the store is empty then. */
  takeText(): string {
    return textOnce(this.take());
  }

  clear(): void {
    free(this.take());
  }

  #blockOf(sizeBytes: number): Uint8Array<ArrayBuffer> {
    const old = this.#block;
    if (old !== undefined && old.length >= sizeBytes) return old;
    let capacity = old?.length ?? FIRST_BLOCK_BYTES / GROWTH;
    while (capacity < sizeBytes) capacity *= GROWTH;
    const block = new Uint8Array(Math.max(sizeBytes, Math.min(capacity, this.#limitBytes)));
    if (old !== undefined) {
      block.set(old);
      free(old);
    }
    this.#block = block;
    return block;
  }
}

/** Bytes that a store gave, as UTF-8 text; those with memory of their own are gone then. */
export function textOnce(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  free(bytes);
  return text;
}

/** Gives memory back at once: V8 collects lazily while its heap may grow. Smaller bytes may share theirs with others. */
function free({ buffer, length }: Uint8Array): void {
  if (length > PIECES_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
