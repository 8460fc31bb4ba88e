// One process's attachment to a keeper: an open connection that says "I am here" until it is released or the process
// is gone, in whatever way.
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import type { ErrorRecord } from '../../shared/errors.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { Claim } from './claims.ts';
import { stateIn } from './claims.ts';
import type { Attachment, AttachmentKind, KeeperMessage, KeeperState, WorkerAnnouncement } from './protocol.ts';
import { receive, send } from './protocol.ts';

/** The longest wait for a server to stop, in milliseconds: it is killed after 10 s. */
const RELEASE_TIMEOUT_MS = 12_000;

/** A hold on the embedded server. */
export interface DevServerLease {
  /** `127.0.0.1:PORT` of the frontend. */
  readonly address: string;
  readonly uiUrl: string;
  readonly namespace: 'default';
  /** The other attached processes, in the order they came. Empty once the connection is lost. */
  workers(): Promise<readonly Attachment[]>;
  /** Tells others of the Worker this process runs; the last announcement counts. */
  announceWorker(worker: WorkerAnnouncement): void;
  /** Resolves with `TemporalUnavailable` when the server has ended under this lease; never after `release`. */
  readonly lost: Promise<LongshoreError>;
  /**
   * Lets go. The last one to do so waits until the server has stopped; only a `read` attachment does not wait, and
   * leaves the server up for a second more, for the command that may follow. May be called again.
   */
  release(): Promise<void>;
}

/** What trying to attach to one claim's keeper gave. `gone`: it refused, gave way, or stopped; look again. */
export type AttachAttempt =
  | { readonly type: 'attached'; readonly lease: DevServerLease }
  | { readonly type: 'failed'; readonly error: LongshoreError }
  | { readonly type: 'gone'; readonly hadAnswered: boolean };

/** Whose keeper to attach to, as what, and for how long to wait. */
export interface AttachToClaim {
  readonly claim: Claim;
  readonly kind: AttachmentKind;
  readonly timeoutMs: number;
  /** This process started the keeper: a failure that was there before the connection is its own. */
  readonly isOwn: boolean;
}

/** Attaches to a claim's keeper and waits until its server is ready, failed or gone. */
export async function attachToClaim({ claim, kind, timeoutMs, isOwn }: AttachToClaim): Promise<AttachAttempt> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: claim.controlPort });
    const giveUp = setTimeout(() => socket.destroy(), timeoutMs);
    const settle = (attempt: AttachAttempt): void => {
      clearTimeout(giveUp);
      if (attempt.type !== 'attached') socket.destroy();
      resolve(attempt);
    };
    let hadAnswered = false;
    const onClose = (): void => settle({ type: 'gone', hadAnswered });
    socket.on('close', onClose);
    socket.on('connect', () => send(socket, { type: 'hello', token: claim.token, pid: process.pid, kind }));
    const lease = { current: undefined as Lease | undefined };
    receive(socket, (message) => {
      if (lease.current !== undefined) return lease.current.onMessage(message as KeeperMessage);
      const state = stateIn(message);
      if (state === undefined) return onClose();
      // Somebody else's failure, still being told, says nothing of what would come of trying now.
      if (state.name === 'failed' && !isOwn && !hadAnswered) return onClose();
      hadAnswered = true;
      if (state.name === 'failed') settle({ type: 'failed', error: reviveError(state.error) });
      if (state.name !== 'ready') return undefined;
      socket.off('close', onClose);
      lease.current = new Lease(kind, socket, state);
      return settle({ type: 'attached', lease: lease.current });
    });
  });
}

/** The error that a keeper told of. */
export function reviveError(error: ErrorRecord): LongshoreError {
  // A keeper sends only types of the catalogue.
  return new LongshoreError(error.type as LongshoreError['type'], error.message, error.mend);
}

class Lease implements DevServerLease {
  readonly address: string;
  readonly uiUrl: string;
  readonly namespace = 'default';
  readonly lost: Promise<LongshoreError>;
  readonly #kind: AttachmentKind;
  readonly #socket: Socket;
  readonly #closed: Promise<void>;
  readonly #waiting: ((attachments: readonly Attachment[]) => void)[] = [];
  #isReleased = false;
  #failure: LongshoreError | undefined;

  constructor(kind: AttachmentKind, socket: Socket, state: KeeperState & { readonly name: 'ready' }) {
    this.#kind = kind;
    this.#socket = socket;
    this.address = state.address;
    this.uiUrl = state.uiUrl;
    this.#closed = new Promise((resolve) => {
      socket.on('close', () => resolve());
    });
    this.lost = new Promise((resolve) => {
      socket.on('close', () => {
        for (const answer of this.#waiting.splice(0)) answer([]);
        if (!this.#isReleased) resolve(this.#failure ?? serverGone(this.address));
      });
    });
  }

  onMessage(message: KeeperMessage): void {
    if (message.type === 'attachments') this.#waiting.shift()?.(message.attachments);
    else if (message.state.name === 'failed') {
      this.#failure = reviveError(message.state.error);
      // The keeper has nothing more to say, and waits for those whom it told.
      this.#socket.destroy();
    }
  }

  async workers(): Promise<readonly Attachment[]> {
    if (this.#socket.destroyed) return [];
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      send(this.#socket, { type: 'list' });
    });
  }

  announceWorker(worker: WorkerAnnouncement): void {
    send(this.#socket, { type: 'announce', worker });
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    if (this.#kind !== 'read') {
      send(this.#socket, { type: 'leave' });
      await Promise.race([this.#closed, delay(RELEASE_TIMEOUT_MS, undefined, { ref: false })]);
    }
    this.#socket.destroy();
    await this.#closed;
  }
}

function serverGone(address: string): LongshoreError {
  return new LongshoreError(
    'TemporalUnavailable',
    `The embedded Temporal server at ${address} has ended.`,
    'Run the command again: nothing that was recorded is lost.',
  );
}
