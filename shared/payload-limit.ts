// What may pass Temporal as one payload. It takes 2 MiB; above that an Activity's result is tried again for ever, and a
// Workflow's command fails its Workflow Task for ever. Source: architecture D14.
import { utf8ToBytes } from '@noble/hashes/utils.js';

/** Bytes of a payload's JSON, with room for what a codec adds. */
export const PAYLOAD_LIMIT_BYTES = 1_900_000;

/** Bytes of a value's JSON in UTF-8: what it weighs as a payload, before any codec. */
export function payloadBytes(value: unknown): number {
  return utf8ToBytes(JSON.stringify(value) ?? '').length;
}
