// Tells when the Temporal SDK fails because no server answers, whichever part of it notices, and says so with the address.
// Looks at names and codes alone, so that a command without Temporal need not load the SDK.
import { setTimeout as delay } from 'node:timers/promises';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import { isObject } from '../shared/json.ts';
import type { TemporalServer } from '../worker/dev-server.ts';

/** gRPC's codes for a server that is not there, or does not answer in time. */
const UNREACHABLE_CODES: readonly unknown[] = [4, 14];
/** How deep causes are looked at. */
const MOST_CAUSES = 8;
/** How long the keeper of an embedded server may take to say that it has ended, in milliseconds. */
const KEEPER_SAYS_MS = 2_000;
/** How long a server that is started again is waited for, and how often it is looked for, in milliseconds. */
const RESTART_MS = 10_000;
const ASK_AGAIN_MS = 250;

/** Whether an error of the SDK (native connection, Worker, client call) or one of its causes is a lost connection. */
export function isUnreachable(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; depth < MOST_CAUSES && error instanceof Error; depth += 1) {
    if (error.name === 'TransportError') return true;
    const { code, details } = error as { readonly code?: unknown; readonly details?: unknown };
    // Node's own errors have texts as codes, and no `details`.
    if (typeof details === 'string' && UNREACHABLE_CODES.includes(code)) return true;
    if (error.message.startsWith('Failed to connect before the deadline')) return true;
    error = error.cause;
  }
  return false;
}

/** The error for it; `server` where it is known, `ended` where it is known why that one ended. */
export function temporalUnavailable(thrown: unknown, server?: TemporalServer, ended?: string): LongshoreError {
  const where =
    server === undefined ? '' : ` at ${server.connectionOptions.address}, namespace \`${server.namespace}\`,`;
  const mend =
    server?.embedded === null
      ? 'See that it runs and has that namespace, or name another one with TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.'
      : 'Run the command again: nothing that was recorded is lost.';
  return new LongshoreError(
    'TemporalUnavailable',
    `The Temporal server${where} cannot be reached or has ended: ${reasonOf(thrown)}${ended === undefined ? '' : ` (${ended})`}`,
    mend,
    { cause: thrown },
  );
}

/** Whether the server has no such namespace. */
export function isNamespaceMissing(thrown: unknown): boolean {
  let error = thrown;
  for (let depth = 0; depth < MOST_CAUSES && error instanceof Error; depth += 1) {
    if (error.name === 'NamespaceNotFoundError' || /^(\d+ NOT_FOUND: )?Namespace .*not found/i.test(error.message))
      return true;
    error = error.cause;
  }
  return false;
}

/** The error for it: a setting, not a fault. */
export function namespaceMissing(thrown: unknown): LongshoreError {
  return new LongshoreError(
    'ConfigInvalid',
    `The Temporal server has no such namespace: ${reasonOf(thrown)}`,
    'Correct TEMPORAL_NAMESPACE (or the profile, or temporal.config), or create the namespace on the server.',
    { cause: thrown },
  );
}

/**
 * Does work with a server; a lost connection becomes `TemporalUnavailable` with the server's address, and with what the keeper of an
 * embedded one says of its end.
 */
export async function reaching<T>(server: TemporalServer, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (!isUnreachable(thrown)) throw thrown;
    const ended = await Promise.race([server.embedded?.lost, delay(KEEPER_SAYS_MS)]);
    throw temporalUnavailable(thrown, server, ended?.message);
  }
}

/**
 * Does work that only connects and reads. While an embedded server that crashed is started again, it is done again: for as long as the
 * keeper does not say that the server has ended, at most ten seconds.
 */
export async function acrossRestart<T>(server: TemporalServer, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + RESTART_MS;
  for (;;) {
    try {
      return await work();
    } catch (thrown) {
      if (server.embedded === null || !isUnreachable(thrown) || Date.now() > deadline) throw thrown;
      const ended = await Promise.race([server.embedded.lost, delay(ASK_AGAIN_MS)]);
      if (ended !== undefined) throw ended;
    }
  }
}

/** The innermost message says most: the SDK wraps what gRPC says in "Failed to …". */
function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error && thrown.cause instanceof Error ? thrown.cause : thrown;
  const details: unknown = isObject(cause) ? cause['details'] : undefined;
  const text = typeof details === 'string' && details !== '' ? details : messageOf(cause);
  return text.split('\n', 1).join('').slice(0, 300);
}
