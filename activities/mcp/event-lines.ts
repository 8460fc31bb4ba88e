// The lines of an event stream, passed on when they are whole. A message that is one large line leaves its large values
// here: the SDK would make several strings of it. Source: HTML, server-sent events, 9.2.6.
import { ByteStore } from './byte-store.ts';
import { LARGE_MESSAGE_BYTES, shrink } from './large-values.ts';

const LF = 0x0a;
const CR = 0x0d;
const DATA = Buffer.from('data:');

/** Collects an event stream's chunks until a line is whole. */
export class EventLines {
  readonly #line: ByteStore;
  /** Whether the event at hand has data already: then a line is a part of its message only. */
  #hasData = false;
  #isAfterCr = false;

  constructor(limitBytes: number) {
    this.#line = new ByteStore(limitBytes + DATA.length + 1);
  }

  /** What to pass on now: all lines that are whole, with their ends. */
  append(chunk: Uint8Array): readonly Uint8Array[] {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    const passed: Uint8Array[] = [];
    let start = 0;
    if (this.#isAfterCr && bytes[0] === LF) {
      passed.push(bytes.subarray(0, 1));
      start = 1;
    }
    if (bytes.length > 0) this.#isAfterCr = bytes.at(-1) === CR;
    for (const end of endsOf(bytes, start)) {
      passed.push(this.#whole(bytes.subarray(start, end.at)), bytes.subarray(end.at, end.next));
      start = end.next;
    }
    if (start < bytes.length) this.#line.add(bytes.subarray(start));
    return joined(passed);
  }

  #whole(rest: Buffer): Uint8Array {
    if (this.#line.sizeBytes === 0) return this.#noted(rest);
    this.#line.add(rest);
    return this.#noted(this.#line.take());
  }

  #noted(line: Buffer): Uint8Array {
    if (line.length === 0) {
      this.#hasData = false;
      return line;
    }
    if (!DATA.equals(line.subarray(0, DATA.length))) return line;
    const isFirst = !this.#hasData;
    this.#hasData = true;
    const small = isFirst && line.length > LARGE_MESSAGE_BYTES ? shrink(line.subarray(DATA.length)) : undefined;
    return small === undefined ? line : Buffer.concat([DATA, Buffer.from(small)]);
  }
}

/** Small pieces as one: each would wake the reader by itself. */
function joined(pieces: readonly Uint8Array[]): readonly Uint8Array[] {
  const filled = pieces.filter((piece) => piece.length > 0);
  const sizeBytes = filled.reduce((sum, piece) => sum + piece.length, 0);
  return filled.length > 1 && sizeBytes <= LARGE_MESSAGE_BYTES ? [Buffer.concat(filled)] : filled;
}

interface LineEnd {
  readonly at: number;
  /** Where the next line begins. */
  readonly next: number;
}

function* endsOf(bytes: Buffer, from: number): Generator<LineEnd> {
  let lf = bytes.indexOf(LF, from);
  let cr = bytes.indexOf(CR, from);
  while (lf !== -1 || cr !== -1) {
    const at = cr === -1 || (lf !== -1 && lf < cr) ? lf : cr;
    const next = at === cr && lf === at + 1 ? at + 2 : at + 1;
    yield { at, next };
    if (lf !== -1 && lf < next) lf = bytes.indexOf(LF, next);
    if (cr !== -1 && cr < next) cr = bytes.indexOf(CR, next);
  }
}
