// What every Update is sent with. The input must fit into what Temporal takes: the server hands larger ones on, and the Worker can
// then neither accept nor refuse them, so that the turn's Workflow Task fails for as long as they are pending.
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { LongshoreError } from '../shared/errors.ts';
import { isObject } from '../shared/json.ts';
import { payloadBytes, PAYLOAD_LIMIT_BYTES } from '../shared/payload-limit.ts';

/** gRPC's code for what cannot be done in the present state. */
const FAILED_PRECONDITION = 9;
const PAUSE_MS = 250;

/**
 * Sends an Update, within `timeoutMs`. While the turn's Workflow Task fails (another client's Update may be too large) the server
 * takes none and says so: then it is sent again, which is safe, since `send` gives it the same id each time.
 */
export async function sendUpdate<T>(client: Client, timeoutMs: number, send: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await client.connection.withDeadline(deadline, send);
    } catch (error) {
      if (!isTaskFailing(error) || Date.now() + PAUSE_MS > deadline) throw error;
    }
    await delay(PAUSE_MS);
  }
}

function isTaskFailing(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  if (!isObject(cause) || cause['code'] !== FAILED_PRECONDITION) return false;
  return String(cause['details']).includes('Workflow Task in failed state');
}

/** Raises `SizeLimit`. `what` names the input in the message: `The decision`. */
export function requireUpdateFits(what: string, input: object): void {
  const sizeBytes = payloadBytes(input);
  if (sizeBytes <= PAYLOAD_LIMIT_BYTES) return;
  throw new LongshoreError(
    'SizeLimit',
    `${what} has ${sizeBytes} bytes; the limit is ${PAYLOAD_LIMIT_BYTES}. Nothing was sent`,
    'Shorten its texts; put large data where a tool can read it, and name that in the arguments.',
  );
}
