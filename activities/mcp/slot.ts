// The place of a server's one connection: made when needed, made anew when broken, after the wait that its failures ask for.
import { LongshoreError } from '../../shared/errors.ts';
import type { Backoff } from './backoff.ts';
import type { Connection } from './connection.ts';

/** Holds the one connection. */
export interface Slot {
  /** The live connection, opened if need be; an abort ends the wait, not the start. Raises what the start raised. */
  take(signal: AbortSignal): Promise<Connection>;
  /** The connection is of no use any more: the next `take` opens another. */
  drop(connection: Connection): void;
  close(): Promise<void>;
}

/** What a slot is made of. */
export interface SlotOptions {
  readonly name: string;
  /** Opens a new connection; raises an error of the catalogue. */
  readonly open: () => Promise<Connection>;
  readonly backoff: Backoff;
}

/** Makes the place; nothing is opened before it is needed. */
export function createSlot({ name, open, backoff }: SlotOptions): Slot {
  let current: Promise<Connection> | undefined;
  let isClosed = false;
  const closing = new Set<Promise<void>>();

  function closeInBackground(connection: Connection): void {
    const done = connection
      .close()
      .catch(() => {})
      .finally(() => closing.delete(done));
    closing.add(done);
  }

  async function start(): Promise<Connection> {
    try {
      return await open();
    } catch (error) {
      current = undefined;
      // What is missing in the environment starts no process, and waiting does not mend it.
      if (!(error instanceof LongshoreError) || error.type !== 'McpServerUnavailable') throw error;
      throw backoff.failed(error);
    }
  }

  async function live(): Promise<Connection> {
    const before = current;
    const connection = await before;
    if (connection?.isOpen === true) return connection;
    if (connection !== undefined && current === before) {
      current = undefined;
      if (!connection.hasAnswered) backoff.failed(uselessError(name), connection.closedAtMs);
      closeInBackground(connection);
    }
    if (isClosed) throw closedError(name);
    if (current === undefined) backoff.check();
    current ??= start();
    return current;
  }

  return {
    take: (signal) => orAborted(live(), signal),
    drop: (connection) => {
      current = undefined;
      closeInBackground(connection);
    },
    close: async () => {
      isClosed = true;
      const connection = await current?.catch(() => undefined);
      current = undefined;
      if (connection !== undefined) closeInBackground(connection);
      await Promise.all(closing);
    },
  };
}

/** Waits for a start that others wait for too. */
async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => {});
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function uselessError(name: string): LongshoreError {
  const message = `MCP server \`${name}\` started and ended without having answered a request`;
  return new LongshoreError(
    'McpServerUnavailable',
    message,
    'Start it by hand to see why; its last words are in the log.',
  );
}

function closedError(name: string): LongshoreError {
  const message = `MCP server \`${name}\` was asked after the Worker had closed it`;
  return new LongshoreError('McpServerUnavailable', message, 'The call is made again by another Worker.');
}
