// Cuts a stdio server's output into lines. Linear in what arrives: the SDK's own buffer copies all that came before with
// every chunk, which took 20 s for a message of 50 MB (measured on SDK 1.32.2; this takes 0.1 s).
import { ByteStore } from './byte-store.ts';
import { MessageTooLargeFault } from './faults.ts';
import { LARGE_MESSAGE_BYTES } from './large-values.ts';

const NEWLINE = 0x0a;

/** A line without its newline: text, or from a megabyte on bytes with memory of their own. */
export type Line = string | Buffer;

/** Collects chunks until a line is whole. */
export class MessageReader {
  readonly #limitBytes: number;
  readonly #line: ByteStore;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
    this.#line = new ByteStore(limitBytes);
  }

  /** The lines that a chunk completes, without their newline; raises `MessageTooLargeFault` for one above the limit. */
  append(chunk: Buffer): Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      lines.push(this.rest());
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** What came after the last newline. */
  rest(): Line {
    return this.#line.sizeBytes > LARGE_MESSAGE_BYTES ? this.#line.take() : this.#line.takeText();
  }

  #keep(part: Buffer): void {
    if (part.length === 0) return;
    if (this.#line.sizeBytes + part.length > this.#limitBytes) {
      this.#line.clear();
      throw new MessageTooLargeFault(this.#limitBytes);
    }
    this.#line.add(part);
  }
}
