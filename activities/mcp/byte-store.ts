// Bytes of one message that come in many pieces. Up to a megabyte the pieces are kept; beyond, they are copied into one
// growing block whose pages are given back at once when it is read: a message of 50 MB would otherwise stand three times
// in memory (pieces, joined, text), until the next collection.

const PIECES_BYTES = 1024 * 1024;

/** Collects bytes up to a limit that its user checks. */
export class ByteStore {
  readonly #limitBytes: number;
  #pieces: Buffer[] = [];
  #sizeBytes = 0;
  #block: ArrayBuffer | undefined;

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
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    if (this.#sizeBytes <= PIECES_BYTES) {
      this.#pieces.push(bytes);
      return;
    }
    const added = [...this.#pieces, bytes];
    this.#pieces = [];
    this.#block ??= new ArrayBuffer(0, { maxByteLength: this.#limitBytes });
    this.#block.resize(this.#sizeBytes);
    const view = new Uint8Array(this.#block);
    let at = before - added.reduce((sum, one) => sum + one.length, 0) + bytes.length;
    for (const one of added) {
      view.set(one, at);
      at += one.length;
    }
  }

  /** All bytes as UTF-8 text; the store is empty then. */
  takeText(): string {
    const block = this.#block;
    const text = block === undefined ? this.#pieceText() : Buffer.from(block, 0, this.#sizeBytes).toString('utf8');
    this.clear();
    return text;
  }

  clear(): void {
    this.#block?.resize(0);
    this.#block = undefined;
    this.#pieces = [];
    this.#sizeBytes = 0;
  }

  #pieceText(): string {
    const [only] = this.#pieces;
    const whole = this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces, this.#sizeBytes);
    return whole.toString('utf8');
  }
}
