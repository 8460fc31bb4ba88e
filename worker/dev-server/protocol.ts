// What a keeper and the processes attached to it say to each other: one JSON document a line over a loopback socket.
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';

import type { ErrorRecord } from '../../shared/errors.ts';

/** What an attached process is there for. */
export type AttachmentKind = 'run' | 'dev' | 'worker' | 'read';

/** A Worker that an attached process runs: its Task Queue, and what it is configured with, as a fingerprint. */
export interface WorkerAnnouncement {
  readonly taskQueue: string;
  readonly fingerprint: string;
}

/** One attached process. */
export interface Attachment {
  readonly pid: number;
  readonly kind: AttachmentKind;
  /** Its Worker, once it has announced one. */
  readonly worker: WorkerAnnouncement | null;
}

/**
 * How far a keeper is: `candidate` while it may still give way to another one, `starting`, `ready`, `stopping`,
 * `failed`.
 */
export type KeeperState =
  | { readonly name: 'candidate' | 'starting' | 'stopping' }
  | { readonly name: 'ready'; readonly address: string; readonly uiUrl: string }
  | { readonly name: 'failed'; readonly error: ErrorRecord };

/**
 * From an attached process. The first message is `hello`; `probe` only asks for the state and does not count. After
 * `leave` the keeper ends the connection: at once, or, when that was the last attachment, once the server has stopped.
 */
export type AttachmentMessage =
  | { readonly type: 'hello'; readonly token: string; readonly pid: number; readonly kind: AttachmentKind | 'probe' }
  | { readonly type: 'announce'; readonly worker: WorkerAnnouncement }
  | { readonly type: 'list' }
  | { readonly type: 'leave' };

/** From the keeper: its state at once and on every change; the other attachments when asked. */
export type KeeperMessage =
  | { readonly type: 'state'; readonly state: KeeperState }
  | { readonly type: 'attachments'; readonly attachments: readonly Attachment[] };

/** Sends one message; silently nothing when the other side is gone, which its `close` tells. */
export function send(socket: Socket, message: AttachmentMessage | KeeperMessage): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}

/** Calls `onMessage` for every line; a line that is not JSON ends the connection: whoever speaks is not one of us. */
export function receive(socket: Socket, onMessage: (message: unknown) => void): void {
  // A broken connection ends in `close` too, where it is handled.
  socket.on('error', () => {});
  const lines = createInterface({ input: socket });
  lines.on('error', () => {});
  lines.on('line', (line) => {
    try {
      onMessage(JSON.parse(line));
    } catch {
      socket.destroy();
    }
  });
}
