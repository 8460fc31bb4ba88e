// What a command prints. For people: lines on standard output, remarks on standard error, colours and a live line only
// on a terminal. With `--json`: one document on standard output, everything else on standard error.
import type { Writable } from 'node:stream';
import { styleText } from 'node:util';

import { createLogUpdate } from 'log-update';

/** A style for `paint`. */
export type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan';

/** The ways to print. */
export interface Output {
  /** Whether the command was given `--json`. */
  readonly isJson: boolean;
  /** Whether a person watches the terminal that `line` goes to. */
  readonly isTerminal: boolean;
  /** Prints a lasting line: on standard output, with `--json` on standard error. */
  readonly line: (text: string) => void;
  /** Prints a remark on standard error. */
  readonly note: (text: string) => void;
  /** Prints the one document of `--json`. Call it once. */
  readonly json: (document: unknown) => void;
  /** Shows a line that the next one replaces; without a terminal it is not shown. */
  readonly live: (text: string) => void;
  /** Takes the live line away. */
  readonly endLive: () => void;
  /** Styles text for `line`; without a terminal, or with NO_COLOR, the text comes back as it is. */
  readonly paint: (style: Style, text: string) => string;
  /** Writes bytes to standard output as they are, and resolves when they are taken. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

/** A standard stream, which may be a terminal. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

/** Makes the output of one command. */
export function createOutput(stdout: OutputStream, stderr: OutputStream, isJson: boolean): Output {
  const forPeople = isJson ? stderr : stdout;
  const isTerminal = forPeople.isTTY === true;
  const live = isTerminal ? createLogUpdate(withKnownSize(forPeople)) : undefined;
  let liveText = '';
  const printAround = (stream: OutputStream, text: string): void => {
    if (live !== undefined && liveText !== '') live.clear();
    stream.write(`${text}\n`);
    if (live !== undefined && liveText !== '') live(liveText);
  };
  return {
    isJson,
    isTerminal,
    line: (text) => printAround(forPeople, text),
    note: (text) => printAround(stderr, text),
    json: (document) => void stdout.write(`${JSON.stringify(document, null, stdout.isTTY === true ? 2 : 0)}\n`),
    live: (text) => {
      liveText = text;
      live?.(text);
    },
    endLive: () => {
      if (liveText !== '') live?.clear();
      liveText = '';
    },
    paint: (style, text) => styleText(style, text, { stream: forPeople, validateStream: true }),
    write: async (bytes) =>
      new Promise((resolve) => {
        // What cannot be written ends the process by the stream's own `error`, where every command's output comes by.
        stdout.write(bytes, (error) => (error ? undefined : resolve()));
      }),
  };
}

/** A terminal that says it has no rows or columns, as a new pseudo-terminal does, counts as one of unknown size, not as one without room. */
function withKnownSize(stream: OutputStream): OutputStream {
  return new Proxy(stream, {
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      if (key === 'columns' || key === 'rows') return value === 0 ? undefined : value;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** A column is padded no further: one long name would push all other rows apart. Characters. */
const WIDEST_CELL = 80;

/** A table for people: columns padded to their widest cell, two spaces apart. A cell that is wider moves the rest of its row. */
export function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) {
      widths[index] = Math.max(widths[index] ?? 0, Math.min(cell.length, WIDEST_CELL));
    }
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
