// Ctrl-C and SIGTERM: a command that has something to put away says so; without such a command the process ends at once.

/** Called with 1 for the first interruption, 2 for the second, and so on. */
export type InterruptHandler = (count: number) => void;

/** The interruptions of one command. */
export interface Interrupts {
  /** Takes over: from now on interruptions go to this handler, until the function that comes back is called. */
  readonly handle: (handler: InterruptHandler) => () => void;
  /** A signal that aborts at the first interruption; for commands that just stop what they do. */
  readonly asSignal: () => AbortSignal;
  /** Interrupts as a signal would: for what else means that nobody waits for the command any more. */
  readonly raise: () => void;
}

/** What the process exits with when it was interrupted. */
export const EXIT_INTERRUPTED = 130;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Raised by a command that was interrupted: exit code 130 without a message. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted');
    this.name = 'Interrupted';
  }
}

/** Starts listening. `stop` gives the signals back to the process. */
export function listenForInterrupts(): Interrupts & { readonly stop: () => void } {
  const handlers: InterruptHandler[] = [];
  let count = 0;
  const onSignal = (): void => {
    count += 1;
    const handler = handlers.at(-1);
    if (handler === undefined) process.exit(EXIT_INTERRUPTED);
    handler(count);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  const handle = (handler: InterruptHandler): (() => void) => {
    handlers.push(handler);
    return () => void handlers.splice(handlers.indexOf(handler), 1);
  };
  return {
    handle,
    raise: onSignal,
    asSignal: () => {
      const controller = new AbortController();
      handle(() => controller.abort(new Interrupted()));
      return controller.signal;
    },
    stop: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
