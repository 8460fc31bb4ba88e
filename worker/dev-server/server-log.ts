// The embedded server's log: a file of bounded size, and its last lines in memory for error messages.
import { appendFileSync, renameSync, statSync } from 'node:fs';

/** The size at which the log becomes `….1`, replacing the one before, in bytes. */
const MAXIMUM_BYTES = 5 * 1024 * 1024;
/** A stack that Go prints fits. */
const LINES_IN_MEMORY = 400;

/** A bounded log. */
export class ServerLog {
  readonly path: string;
  readonly #lines: string[] = [];
  #sizeBytes: number;

  constructor(path: string) {
    this.path = path;
    this.#sizeBytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Appends one line. On a full disk the file stays behind; the lines in memory do not. */
  append(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > LINES_IN_MEMORY) this.#lines.shift();
    try {
      if (this.#sizeBytes > MAXIMUM_BYTES) {
        renameSync(this.path, `${this.path}.1`);
        this.#sizeBytes = 0;
      }
      appendFileSync(this.path, `${line}\n`, { mode: 0o600 });
      this.#sizeBytes += Buffer.byteLength(line) + 1;
    } catch {
      // A log that cannot be written must not stop the server whose trouble it would report.
    }
  }

  /** The last lines, the newest last. */
  tail(count: number): readonly string[] {
    return this.#lines.slice(-count);
  }
}
