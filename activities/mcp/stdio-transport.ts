// The stdio transport of a client: a child process that speaks JSON-RPC, a line a message. The SDK's own is not used, since
// it takes quadratic time for large messages, cannot give the child a process group, and does not tell whether a
// message was written.
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';

import { textOnce } from './byte-store.ts';
import { collectAfter } from './collect-garbage.ts';
import { LostFault, NotSentFault } from './faults.ts';
import { shrink } from './large-values.ts';
import { MessageReader, type Line } from './message-reader.ts';
import { parseMessage } from './messages.ts';
import { endGroup, guardGroup, HAS_GROUPS } from './process-group.ts';

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** How to start a server and where its other output goes. */
export interface StdioOptions {
  readonly command: string;
  readonly args: readonly string[];
  /** On top of the few variables that the SDK lets a server inherit. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly maxMessageBytes: number;
  /** Gets a line of stdout that is no message. */
  readonly onNoise: (line: string) => void;
  readonly onStderr: (chunk: Buffer) => void;
}

interface ParsedLine {
  /** About, of its text: one a character. */
  readonly sizeBytes: number;
  readonly message?: JSONRPCMessage;
  readonly noise?: string;
}

/** After its process ended, a server's last words are read for this long at most: a grandchild may hold the pipe open. */
const LAST_WORDS_MS = 500;

/** A server as a child process. `onclose` is called once, when no further message can come. */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #options: StdioOptions;
  readonly #reader: MessageReader;
  #child: Child | undefined;
  #ending: Promise<void> | undefined;
  #isOver = false;
  #exit: string | undefined;

  constructor(options: StdioOptions) {
    this.#options = options;
    this.#reader = new MessageReader(options.maxMessageBytes);
  }

  /** The child's process id, which is its group's too. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** How the process ended, in words: `exit code 1`, `signal SIGKILL`; `undefined` while it runs. */
  get exit(): string | undefined {
    return this.#exit;
  }

  /** Starts the process; rejects with the system's error (`ENOENT`, `EACCES`) when that is not possible. */
  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#options;
    const child = spawn(command, args, {
      env: { ...getDefaultEnvironment(), ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: HAS_GROUPS,
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    });
    this.#child = child;
    if (child.pid !== undefined) guardGroup(child.pid);
    this.#listen(child);
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  }

  /** Resolves when the message is written. Rejects with `NotSentFault` where the process is known to be gone. */
  async send(message: JSONRPCMessage): Promise<void> {
    const input = this.#child?.stdin;
    if (input === undefined || this.#isOver || this.#exit !== undefined || !input.writable) {
      throw new NotSentFault(`its process is gone (${this.#exit ?? 'input closed'})`);
    }
    const line = serializeMessage(message);
    await new Promise<void>((resolve, reject) => {
      input.write(line, (error) => {
        if (error) reject(new LostFault(`the message could not be written whole: ${error.message}`));
        else resolve();
      });
    });
  }

  /** Ends the process and all it started: closes its input, then SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    this.#finish({ patient: true });
    await this.#ending;
  }

  #listen(child: Child): void {
    // Errors of the pipes are told by the write that met them and by the process's end.
    child.stdin.on('error', () => {});
    child.stdout.on('error', () => {});
    child.stderr.on('error', () => {});
    child.stderr.on('data', (chunk: Buffer) => this.#options.onStderr(chunk));
    child.stdout.on('data', (chunk: Buffer) => this.#take(() => this.#reader.append(chunk)));
    child.once('error', (error) => this.onerror?.(error));
    // No answer can come any more, though the process may live on. One that is about to end tells how, given the time.
    child.stdout.once('end', () => {
      this.#take(() => [this.#reader.rest()]);
      setTimeout(() => this.#finish({ patient: this.#exit === undefined }), LAST_WORDS_MS).unref();
    });
    child.once('exit', (code, signal) => {
      this.#exit = signal === null ? `exit code ${code}` : `signal ${signal}`;
      setTimeout(() => this.#finish({ patient: false }), LAST_WORDS_MS).unref();
    });
    child.once('close', () => this.#finish({ patient: false }));
  }

  #take(read: () => Line[]): void {
    if (this.#isOver) return;
    let lines: Line[];
    try {
      lines = read();
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      this.#finish({ patient: false });
      return;
    }
    while (lines.length > 0) this.#dispatch(this.#parseNext(lines));
  }

  /** A frame of its own: when it has returned, nothing holds the line's text any more. */
  #parseNext(lines: Line[]): ParsedLine {
    const next = lines.shift() ?? '';
    const line = typeof next === 'string' ? next : (shrink(next) ?? textOnce(next));
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    if (text.trim() === '') return { sizeBytes: 0 };
    const message = parseMessage(text);
    return { sizeBytes: text.length, ...(message === undefined ? { noise: text } : { message }) };
  }

  #dispatch({ message, noise, sizeBytes }: ParsedLine): void {
    if (noise !== undefined) this.#options.onNoise(noise);
    if (message === undefined) return;
    collectAfter(sizeBytes);
    try {
      this.onmessage?.(message);
    } catch (error) {
      // Nothing a server sends may end the Worker: here an exception would reach no one else.
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Tells first, ends the process afterwards: calls in flight fail at once, not after a slow end. */
  #finish(options: { readonly patient: boolean }): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const child = this.#child;
    if (child?.pid !== undefined) this.#ending = endGroup(child, child.pid, options);
    child?.stdout.resume();
    this.onclose?.();
  }
}
