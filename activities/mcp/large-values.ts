// Takes the large values out of a message while it is still bytes, so that they never become strings or objects: one of 50 MB
// would stand in memory several times over. Placeholders stand in their places until the answer reaches its call.
import { isUtf8 } from 'node:buffer';
import { randomBytes, randomUUID } from 'node:crypto';

import { isObject, type JsonObject } from '../../shared/json.ts';
import type { LargeValue } from '../../shared/tool-server.ts';
import { unescapeInPlace } from '../payload/json-strings.ts';
import { LostFault } from './faults.ts';
import { findLarge } from './large-spans.ts';

/** From this size on a message is looked at. */
export const LARGE_MESSAGE_BYTES = 1024 * 1024;
/** From this size on a value is taken out: below it, a thousand blocks come to 16 MB. */
const LARGE_VALUE_BYTES = 16 * 1024;
/** An answer that nobody waits for any more is dropped after this time. */
const HELD_MS = 10_000;

const held = new Map<string, LargeValue>();
let prefix: string | undefined;

/**
 * A message as JSON text with placeholders in the places of its large values, which are held for `claimLarge`; `undefined`, and
 * the bytes as they were, where it has none, is no JSON object, or is no UTF-8. The values lie within the bytes, which then
 * belong to them.
 */
export function shrink(bytes: Buffer, leastBytes: number = LARGE_VALUE_BYTES): string | undefined {
  const spans = isUtf8(bytes) ? findLarge(bytes, leastBytes) : [];
  if (spans.length === 0) return undefined;
  const pieces: Buffer[] = [];
  const tokens: string[] = [];
  let end = 0;
  for (const { kind, from, to } of spans) {
    const value = bytes.subarray(from, to);
    const token = newToken();
    held.set(token, { kind, bytes: kind === 'text' ? unescapeInPlace(value) : value });
    tokens.push(token);
    pieces.push(bytes.subarray(end, from), Buffer.from(kind === 'text' ? token : `"${token}"`));
    end = to;
  }
  setTimeout(() => {
    for (const token of tokens) held.delete(token);
  }, HELD_MS).unref();
  return Buffer.concat([...pieces, bytes.subarray(end)]).toString('utf8');
}

/**
 * What the placeholders in a result stand for; `undefined` where it has none. To be called once a result. Raises `LostFault`
 * for what was held too long.
 */
export function claimLarge(result: JsonObject): ReadonlyMap<string, LargeValue> | undefined {
  const claimed = new Map<string, LargeValue>();
  if (prefix === undefined) return undefined;
  for (const token of placesOf(result)) {
    if (typeof token !== 'string' || !token.startsWith(prefix)) continue;
    const value = held.get(token);
    if (value === undefined) throw new LostFault('its large result was not taken in time');
    held.delete(token);
    claimed.set(token, value);
  }
  return claimed.size === 0 ? undefined : claimed;
}

/** How many values wait to be claimed. */
export function heldCount(): number {
  return held.size;
}

/** A server can neither know nor guess it. */
function newToken(): string {
  prefix ??= `longshore-large-${randomBytes(16).toString('hex')}-`;
  return `${prefix}${randomUUID()}`;
}

/** What stands where placeholders may. */
function* placesOf({ content, structuredContent }: JsonObject): Generator {
  yield structuredContent;
  for (const block of Array.isArray(content) ? (content as readonly unknown[]) : []) {
    if (!isObject(block)) continue;
    yield block['text'];
    yield block['data'];
    const { resource } = block;
    if (!isObject(resource)) continue;
    yield resource['text'];
    yield resource['blob'];
  }
}
