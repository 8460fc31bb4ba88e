// Whether the input of an Update fits into what Temporal takes. Checked before anything is sent: the server hands larger ones on,
// and the Worker can then neither accept nor refuse them, so that the turn stands still for as long as they are pending.
import { LongshoreError } from '../shared/errors.ts';
import { payloadBytes, PAYLOAD_LIMIT_BYTES } from '../shared/payload-limit.ts';

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
