// A server's stderr and stray stdout in the Worker's log: whole lines, secrets out, bounded in length and number, so that
// a chatty server fills neither memory nor log.
import { StringDecoder } from 'node:string_decoder';

const LONGEST_LINE = 2_000;
const MOST_LINES = 200;
const LAST_LINES = 5;

interface LineLogOptions {
  readonly redact: (text: string) => string;
  /** Gets each line; after 200 of them, once, that no more will follow. */
  readonly write: (line: string) => void;
}

/** Takes chunks, writes lines. */
export class LineLog {
  readonly #options: LineLogOptions;
  readonly #decoder = new StringDecoder('utf8');
  #partial = '';
  #count = 0;
  #last: string[] = [];

  constructor(options: LineLogOptions) {
    this.#options = options;
  }

  /** The last lines, for the message of a server that could not be started; at most five, 1,000 characters together. */
  get lastLines(): string {
    return [...this.#last, this.#options.redact(this.#partial.trim())].filter(Boolean).join(' | ').slice(-1_000);
  }

  append(chunk: Buffer): void {
    const lines = this.#decoder.write(chunk).split('\n');
    lines[0] = this.#partial + (lines[0] ?? '');
    this.#partial = (lines.pop() ?? '').slice(0, 2 * LONGEST_LINE);
    for (const line of lines) this.line(line);
  }

  line(line: string): void {
    const text = this.#options
      .redact(line.slice(0, 2 * LONGEST_LINE))
      .slice(0, LONGEST_LINE)
      .trimEnd();
    if (text === '') return;
    this.#last = [...this.#last, text].slice(-LAST_LINES);
    this.#count += 1;
    if (this.#count <= MOST_LINES) this.#options.write(text);
    if (this.#count === MOST_LINES) this.#options.write(`(${MOST_LINES} lines logged; further ones are left out)`);
  }
}
