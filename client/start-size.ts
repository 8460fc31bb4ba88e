// Whether a turn's input fits into what Temporal takes. Checked before anything is sent: the server refuses larger inputs only
// after the SDK has tried for most of a minute.
import { LongshoreError } from '../shared/errors.ts';
import { payloadBytes, PAYLOAD_LIMIT_BYTES } from '../shared/payload-limit.ts';
import type { AgentTurnInput } from '../shared/turn.ts';

/** A session's name stands in every command of its turns, and in a Search Attribute. UTF-8 bytes. */
const MAX_SESSION_BYTES = 1_000;

/** Raises `SizeLimit`, with what takes how much. */
export function requireStartFits(input: AgentTurnInput): void {
  const sessionBytes = Buffer.byteLength(input.session ?? '');
  if (sessionBytes > MAX_SESSION_BYTES) {
    throw new LongshoreError(
      'SizeLimit',
      `The session's name has ${sessionBytes} bytes; the limit is ${MAX_SESSION_BYTES}`,
      'Give the session a short name: it stands in every command of its turns.',
    );
  }
  const sizeBytes = payloadBytes(input);
  if (sizeBytes <= PAYLOAD_LIMIT_BYTES) return;
  const { spec, message } = input;
  const seeds = payloadBytes(spec.messages);
  const spoken = message ? `, the message ${payloadBytes(message)}` : '';
  throw new LongshoreError(
    'SizeLimit',
    `The spec has ${payloadBytes(spec)} bytes (${seeds} of them in its messages)${spoken}; ` +
      `together with the rest of the turn's input that is ${sizeBytes}, and the limit is ${PAYLOAD_LIMIT_BYTES}`,
    'Put large data where a tool can read it, and name it in the instructions or the message.',
  );
}
