// SHA-256 without `node:crypto`, for short texts in Workflow code. Activities hash payloads with Node's own.
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { canonicalJson } from './json.ts';

/** SHA-256 of a text's UTF-8 bytes, as 64 lower-case hexadecimal digits. */
export function sha256Hex(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** SHA-256 of a value's canonical JSON: equal for equal values, whatever the order of their keys. */
export function digestOf(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}
