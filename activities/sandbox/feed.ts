// Gives a job in another thread or process the bytes of its file, a few chunks ahead of what it has used.
import { CHUNK_BYTES, CHUNKS_IN_FLIGHT, type FromThread, type OpenBytes, type ToThread } from './thread-messages.ts';

/** The way to a job: a port to a thread, or the channel to a process. */
export interface Wire {
  send(message: ToThread): void;
  onMessage(handler: (message: FromThread) => void): void;
  close(): void;
}

/** Sends a file's bytes over a wire as they are used, and keeps the reason when they cannot be had. */
export class Feed {
  /** Why the bytes could not be had. */
  failure: { readonly reason: unknown } | null = null;
  /** Called when the job was taken. */
  onBegun: () => void = () => {};
  readonly #wire: Wire;
  readonly #open: OpenBytes;
  #inFlight = 0;
  // The reading that is under way; -1 once closed.
  #pass = 0;
  #wake: () => void = () => {};

  constructor(wire: Wire, open: OpenBytes) {
    this.#wire = wire;
    this.#open = open;
    wire.onMessage((message) => this.#receive(message));
  }

  /** Ends the sending; what is on its way is dropped. */
  close(): void {
    this.#pass = -1;
    this.#wake();
    this.#wire.close();
  }

  #receive(message: FromThread): void {
    if (message.type === 'begun') this.onBegun();
    else if (message.type === 'open') void this.#pump(message.pass);
    else if (message.pass === this.#pass) {
      this.#inFlight -= 1;
      this.#wake();
    }
  }

  // Never rejects: what goes wrong is kept in `failure`, and the thread is told.
  async #pump(pass: number): Promise<void> {
    this.#pass = pass;
    this.#inFlight = 0;
    this.#wake();
    try {
      for await (const chunk of this.#open()) {
        for (let at = 0; at < chunk.length; at += CHUNK_BYTES) {
          while (this.#inFlight >= CHUNKS_IN_FLIGHT && this.#pass === pass) await this.#used();
          if (this.#pass !== pass) return;
          // A copy: cloning a view would send the whole buffer beneath it.
          const bytes = Uint8Array.from(chunk.subarray(at, at + CHUNK_BYTES));
          this.#inFlight += 1;
          this.#wire.send({ type: 'chunk', pass, bytes });
        }
      }
      if (this.#pass === pass) this.#wire.send({ type: 'end', pass });
    } catch (reason) {
      this.failure = { reason };
      this.#wire.send({ type: 'failed', pass });
    }
  }

  #used(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
