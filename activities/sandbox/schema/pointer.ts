// Picks the tokens of the part of a document that a JSON Pointer names (RFC 6901), as they pass by.
import type { Token } from 'stream-json/core/parser.js';

/** The segments of a JSON Pointer, unescaped; none for the whole document. */
export function pointerSegments(pointer: string): readonly string[] {
  if (pointer === '') return [];
  return pointer
    .slice(1)
    .split('/')
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

interface Frame {
  /** The member at hand: a key, or an index from 0. */
  name: string;
  /** -1 in an object. */
  index: number;
  /** Whether the way here is the pointer's. */
  readonly onPath: boolean;
}

const KEY_CHARACTERS = 1100;

/** Says of each token, keys streamed, whether it belongs to the part. Of several documents each has its part. */
export class PointerFilter {
  readonly #path: readonly string[];
  readonly #frames: Frame[] = [];
  // How deep the token at hand lies in the part; 0 outside.
  #depth = 0;
  #key: string | null = null;

  constructor(pointer: string) {
    this.#path = pointerSegments(pointer);
  }

  takes(token: Token): boolean {
    if (this.#path.length === 0) return true;
    if (this.#depth > 0) {
      this.#depth += opens(token) ? 1 : closes(token) ? -1 : 0;
      return true;
    }
    if (this.#key !== null || token.name === 'startKey') this.#readKey(token);
    else if (isValue(token)) return this.#enter(token);
    else if (token.name === 'endObject' || token.name === 'endArray') this.#frames.pop();
    return false;
  }

  #readKey(token: Token): void {
    const frame = this.#frames.at(-1);
    if (token.name === 'startKey') this.#key = '';
    else if (token.name === 'endKey') {
      if (frame) frame.name = this.#key ?? '';
      this.#key = null;
    } else if (token.name === 'stringChunk' && (this.#key ?? '').length < KEY_CHARACTERS) {
      this.#key = (this.#key ?? '') + token.value;
    }
  }

  #enter(token: Token): boolean {
    const frame = this.#frames.at(-1);
    if (frame && frame.index >= 0) frame.name = String(frame.index++);
    const level = this.#frames.length;
    const onPath = level === 0 || (frame?.onPath === true && frame.name === this.#path[level - 1]);
    if (onPath && level === this.#path.length) {
      this.#depth = opens(token) ? 1 : 0;
      return true;
    }
    if (token.name === 'startObject') this.#frames.push({ name: '', index: -1, onPath });
    if (token.name === 'startArray') this.#frames.push({ name: '', index: 0, onPath });
    return false;
  }
}

function opens({ name }: Token): boolean {
  return name.startsWith('start');
}

function closes({ name }: Token): boolean {
  return name.startsWith('end');
}

function isValue({ name }: Token): boolean {
  return (
    (name.startsWith('start') && name !== 'startKey') ||
    name === 'trueValue' ||
    name === 'falseValue' ||
    name === 'nullValue'
  );
}
