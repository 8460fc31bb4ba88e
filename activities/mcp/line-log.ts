// A server's stderr and stray stdout in the Worker's log: whole lines, secrets out, bounded in length and in lines a minute,
// so that a chatty server fills neither memory nor log, and one that runs for weeks is still heard.
import { StringDecoder } from 'node:string_decoder';

const LONGEST_LINE = 2_000;
/** As much of a line is looked at; what a secret that begins in it has beyond comes on top. */
const LOOKED_AT = 2 * LONGEST_LINE;
const MOST_LINES = 200;
const WINDOW_MS = 60_000;
const LAST_LINES = 5;

interface LineLogOptions {
  readonly redact: (text: string) => string;
  /** The length of the longest text that `redact` takes out, in characters. */
  readonly longestSecret: () => number;
  /** Gets each line, at most 200 a minute; where lines are left out, that they are, and later how many. */
  readonly write: (line: string) => void;
  /** A clock in milliseconds that never goes back. @default performance.now */
  readonly now?: () => number;
}

/** Takes chunks, writes lines. */
export class LineLog {
  readonly #options: LineLogOptions;
  readonly #decoder = new StringDecoder('utf8');
  #partial = '';
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #count = 0;
  #last: string[] = [];

  constructor(options: LineLogOptions) {
    this.#options = options;
  }

  /** The last lines, for the message of a server that could not be started; at most five, 1,000 characters together. */
  get lastLines(): string {
    const lines = [...this.#last, this.#partial].map((line) => this.#clean(line));
    return lines.filter(Boolean).join(' | ').slice(-1_000);
  }

  append(chunk: Buffer): void {
    const lines = this.#decoder.write(chunk).split('\n');
    lines[0] = this.#partial + (lines[0] ?? '');
    this.#partial = this.#bounded(lines.pop() ?? '');
    for (const line of lines) this.line(line);
  }

  line(line: string): void {
    const raw = this.#bounded(line);
    if (raw.trim() === '') return;
    this.#last.push(raw);
    if (this.#last.length > LAST_LINES) this.#last.shift();
    this.#openWindow();
    this.#count += 1;
    if (this.#count <= MOST_LINES) this.#options.write(this.#clean(raw));
    if (this.#count === MOST_LINES) {
      this.#options.write(`(${MOST_LINES} lines logged within a minute; further ones are left out until it is over)`);
    }
  }

  #openWindow(): void {
    const nowMs = (this.#options.now ?? (() => performance.now()))();
    if (nowMs - this.#windowStartMs < WINDOW_MS) return;
    const leftOut = this.#count - MOST_LINES;
    if (leftOut > 0) this.#options.write(`(${leftOut} lines were left out)`);
    this.#windowStartMs = nowMs;
    this.#count = 0;
  }

  #bounded(line: string): string {
    return line.slice(0, LOOKED_AT + this.#options.longestSecret());
  }

  /**
   * Redacted before it is shortened. Where a line was cut already, a secret may have been cut with it: its beginning, which nobody
   * finds, is the end of what is left, and goes too.
   */
  #clean(line: string): string {
    const longest = this.#options.longestSecret();
    const clean = this.#options.redact(line);
    const whole = line.length < LOOKED_AT + longest ? clean : clean.slice(0, Math.max(0, clean.length - longest));
    return whole.slice(0, LONGEST_LINE).trimEnd();
  }
}
