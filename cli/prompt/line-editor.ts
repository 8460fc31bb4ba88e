// One line of typing on a terminal: Node's own line editor without its echo, so that what is typed can stand in the live line.
import { createInterface, type Interface } from 'node:readline';
import { Writable, type Readable } from 'node:stream';

/** A terminal to type at. */
export type TypingInput = Readable & { readonly isTTY?: boolean };

/** Who hears of what is typed. */
export interface TypingListener {
  /** After every key: the line so far, with a mark where the cursor stands. */
  readonly onChange: (shown: string) => void;
  readonly onLine: (line: string) => void;
  readonly onInterrupt: () => void;
  /** The input has ended, as by Ctrl-D. */
  readonly onEnd: () => void;
}

/** A line that is typed at. */
export interface LineEditor {
  /** Begins a new line with this text; what was typed before it, and what comes within `ignoreMs`, counts for nothing. */
  readonly begin: (text: string, ignoreMs: number) => void;
  /** Gives the terminal back as it was. */
  readonly close: () => void;
}

const CURSOR = '▏';

/** Takes the terminal for typing. */
export function openLineEditor(input: TypingInput, listener: TypingListener): LineEditor {
  const echo = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines: Interface = createInterface({ input, output: echo, terminal: true, historySize: 0 });
  let deafUntil = 0;
  let isClosed = false;
  const isDeaf = (): boolean => performance.now() < deafUntil;
  const clear = (): void => {
    lines.write(null, { ctrl: true, name: 'e' });
    lines.write(null, { ctrl: true, name: 'u' });
  };
  const show = (): void => {
    if (isClosed) return;
    if (isDeaf() && lines.line !== initial) {
      clear();
      lines.write(initial);
    }
    listener.onChange(`${lines.line.slice(0, lines.cursor)}${CURSOR}${lines.line.slice(lines.cursor)}`);
  };
  let initial = '';
  input.on('keypress', show);
  lines.on('line', (line) => {
    if (isDeaf()) return show();
    listener.onLine(line);
  });
  lines.on('SIGINT', listener.onInterrupt);
  lines.on('close', () => {
    if (!isClosed) listener.onEnd();
  });
  return {
    begin: (text, ignoreMs) => {
      if (isClosed) return;
      initial = text;
      deafUntil = 0;
      clear();
      if (text !== '') lines.write(text);
      deafUntil = performance.now() + ignoreMs;
      show();
    },
    close: () => {
      if (isClosed) return;
      isClosed = true;
      input.off('keypress', show);
      lines.close();
    },
  };
}
