// The place of a server's one connection: made when needed, made anew when broken, after the wait that its failures ask for.
// One that is dropped takes no new requests, and is closed when those under way have ended.
import { LongshoreError } from '../../shared/errors.ts';
import type { Backoff } from './backoff.ts';
import type { Connection } from './connection.ts';

/** Holds the one connection. */
export interface Slot {
  /** The live connection, opened if need be; an abort ends the wait, not the start. Raises what the start raised. */
  take(signal: AbortSignal): Promise<Connection>;
  /** Runs one request on it, which keeps it from being closed when it is dropped meanwhile. */
  use<T>(signal: AbortSignal, request: (connection: Connection) => Promise<T>): Promise<T>;
  /**
   * The connection is of no use any more: the next request opens another. Once is enough, and later ones do nothing. Of a
   * useless one the next start waits as after any failure. @default not useless
   */
  drop(connection: Connection, how?: { readonly isUseless?: boolean }): void;
  /** Whether the next request would go by this connection. */
  has(connection: Connection): boolean;
  /** Closes at once, whatever is under way. */
  close(): Promise<void>;
}

/** What a slot is made of. */
export interface SlotOptions {
  readonly name: string;
  /** Opens a new connection; raises an error of the catalogue. The signal ends a start that nobody waits for any more. */
  readonly open: (signal: AbortSignal) => Promise<Connection>;
  readonly backoff: Backoff;
}

/** Makes the place; nothing is opened before it is needed. */
export function createSlot({ name, open, backoff }: SlotOptions): Slot {
  let current: Promise<Connection> | undefined;
  let opened: Connection | undefined;
  /** Ends a start that is under way: a server may take a minute not to answer. */
  const ending = new AbortController();
  const usesOf = new Map<Connection, number>();
  const dropped = new WeakSet<Connection>();
  const closed = new WeakSet<Connection>();
  const closing = new Set<Promise<void>>();

  function closeInBackground(connection: Connection): void {
    if (closed.has(connection)) return;
    closed.add(connection);
    const done = connection
      .close()
      .catch(() => {})
      .finally(() => closing.delete(done));
    closing.add(done);
  }

  async function start(): Promise<Connection> {
    try {
      opened = await open(ending.signal);
      return opened;
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
      drop(connection, { isUseless: !connection.hasAnswered });
    }
    if (ending.signal.aborted) throw closedError(name);
    if (current === undefined) backoff.check();
    current ??= start();
    return current;
  }

  function drop(connection: Connection, { isUseless = false } = {}): void {
    if (dropped.has(connection)) return;
    dropped.add(connection);
    if (isUseless) backoff.failed(uselessError(name), connection.closedAtMs);
    // Another one may have taken its place already.
    if (opened === connection) current = undefined;
    if (!usesOf.has(connection)) closeInBackground(connection);
  }

  async function use<T>(signal: AbortSignal, request: (connection: Connection) => Promise<T>): Promise<T> {
    let connection = await orAborted(live(), signal);
    // Dropped on its way to here: what was given up takes no new requests.
    while (dropped.has(connection)) connection = await orAborted(live(), signal);
    usesOf.set(connection, (usesOf.get(connection) ?? 0) + 1);
    try {
      return await request(connection);
    } finally {
      ended(connection);
    }
  }

  function ended(connection: Connection): void {
    const left = (usesOf.get(connection) ?? 1) - 1;
    if (left > 0) usesOf.set(connection, left);
    else usesOf.delete(connection);
    if (left === 0 && dropped.has(connection)) closeInBackground(connection);
  }

  return {
    take: (signal) => orAborted(live(), signal),
    use,
    drop,
    has: (connection) => opened === connection && connection.isOpen && !dropped.has(connection),
    close: async () => {
      ending.abort(closedError(name));
      const connection = await current?.catch(() => undefined);
      current = undefined;
      if (connection !== undefined) closeInBackground(connection);
      for (const inUse of usesOf.keys()) closeInBackground(inUse);
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
