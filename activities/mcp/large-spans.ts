// Where the large values of an answer stand in its bytes: texts and data of content blocks, and structured content. Only bytes
// that are valid JSON as a whole have any.
import { endOfString } from '../payload/json-strings.ts';
import {
  kindAt,
  NotJson,
  skipAndMeasure,
  skipValue,
  walkArray,
  walkObject,
  type JsonSpan,
} from '../payload/json-walk.ts';
import { skipBlanks } from '../measure/json-scan.ts';
import { MOST_LEVELS } from './depth.ts';

/** A large value: the content of a string without its quotation marks, or a JSON value. */
export interface LargeSpan extends JsonSpan {
  readonly kind: 'text' | 'json';
}

/** The values of at least so many bytes, in order; none where the message is no JSON object or has no such value. */
export function findLarge(bytes: Buffer, leastBytes: number): readonly LargeSpan[] {
  try {
    const finder = new Finder(bytes, leastBytes);
    finder.message();
    return finder.spans;
  } catch (error) {
    if (error instanceof NotJson) return [];
    throw error;
  }
}

type Visit = (name: string, at: number) => number;

class Finder {
  readonly spans: LargeSpan[] = [];
  readonly #bytes: Buffer;
  readonly #leastBytes: number;

  constructor(bytes: Buffer, leastBytes: number) {
    this.#bytes = bytes;
    this.#leastBytes = leastBytes;
  }

  message(): void {
    const end = walkObject(this.#bytes, skipBlanks(this.#bytes, 0), (name, at) =>
      name === 'result' ? this.#object(at, this.#result) : this.#skip(at),
    );
    if (skipBlanks(this.#bytes, end) < this.#bytes.length) throw new NotJson();
  }

  readonly #result: Visit = (name, at) => {
    if (name === 'structuredContent') return this.#structured(at);
    if (name !== 'content' || kindAt(this.#bytes, at) !== '[') return this.#skip(at);
    return walkArray(this.#bytes, at, (item) => this.#object(item, this.#block));
  };

  readonly #block: Visit = (name, at) => {
    if (name === 'resource') return this.#object(at, this.#resource);
    return name === 'text' || name === 'data' ? this.#text(at) : this.#skip(at);
  };

  readonly #resource: Visit = (name, at) => (name === 'text' || name === 'blob' ? this.#text(at) : this.#skip(at));

  #object(at: number, visit: Visit): number {
    return kindAt(this.#bytes, at) === '{' ? walkObject(this.#bytes, at, visit) : this.#skip(at);
  }

  #text(at: number): number {
    if (kindAt(this.#bytes, at) !== '"') return this.#skip(at);
    const to = endOfString(this.#bytes, at + 1);
    if (to === -1) throw new NotJson();
    this.#add({ kind: 'text', from: at + 1, to });
    return to + 1;
  }

  /** What is nested too deeply to be kept is left to the ordinary way, which says so; `null` means none. */
  #structured(at: number): number {
    const { end, depth } = skipAndMeasure(this.#bytes, at);
    if (depth < MOST_LEVELS && kindAt(this.#bytes, at) !== 'n') this.#add({ kind: 'json', from: at, to: end });
    return end;
  }

  #add(span: LargeSpan): void {
    if (span.to - span.from >= this.#leastBytes) this.spans.push(span);
  }

  #skip(at: number): number {
    return skipValue(this.#bytes, at);
  }
}
