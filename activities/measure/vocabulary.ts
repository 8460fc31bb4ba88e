// The o200k_base vocabulary as a hash table over token bytes, in shared memory, so that one process loads it once for all
// its threads (4.6 MB). Tokens come from js-tiktoken; here they are only laid out for look-ups without allocation.
// Indexes into typed arrays are in bounds by construction, which is what every `as number` here rests on.
import { createRequire } from 'node:module';

/** Token bytes end to end, with an open-addressing table over their hashes. All arrays lie in shared memory. */
export interface Vocabulary {
  /** The bytes of all tokens, in order of rank. */
  readonly pool: Uint8Array;
  /** Where each token begins in `pool`; one more entry than there are tokens. */
  readonly starts: Int32Array;
  /** The polynomial hash of each token. */
  readonly hashes: Int32Array;
  /** Rank plus 1, or 0 where the slot is free. */
  readonly slots: Int32Array;
  /** By three-byte beginning (hashed to 16 bits): the length of the longest token that begins so. */
  readonly longest: Uint8Array;
  /** By first byte: the length of the longest token that begins with it. */
  readonly longestByFirst: Uint8Array;
}

/** The longest token of o200k_base: 128 spaces. Bytes. */
export const LONGEST_TOKEN = 128;

const SLOT_COUNT = 1 << 19;
const HASH_BASE = 0x01000193;

/** Multipliers by length: `HASH_POWERS[n]` is the base to the power of n, modulo 2^32. */
const HASH_POWERS = powersOf(2 * LONGEST_TOKEN + 1);

let loaded: Vocabulary | undefined;

/** The vocabulary of this thread, loaded on first use (about 60 ms) unless it was adopted. */
export function vocabulary(): Vocabulary {
  loaded ??= loadVocabulary();
  return loaded;
}

/** Takes the vocabulary that another thread has loaded. */
export function adoptVocabulary(shared: Vocabulary): void {
  loaded ??= shared;
}

/** The vocabulary if this thread has one. */
export function vocabularyIfLoaded(): Vocabulary | undefined {
  return loaded;
}

/** Extends a hash by one byte. */
export function extendHash(hash: number, byte: number): number {
  return (Math.imul(hash, HASH_BASE) + byte) | 0;
}

/** The hash of bytes `from` to `to`, given the hashes of all prefixes; `to - from` is at most twice `LONGEST_TOKEN`. */
export function rangeHash(prefixes: Int32Array, from: number, to: number): number {
  return ((prefixes[to] as number) - Math.imul(prefixes[from] as number, HASH_POWERS[to - from] as number)) | 0;
}

/** The rank of the token with these bytes, or -1. `hash` is theirs. */
// oxlint-disable-next-line max-params -- called once a byte and more: an object for each call would cost more than it
export function findToken(words: Vocabulary, bytes: Uint8Array, from: number, to: number, hash: number): number {
  const length = to - from;
  let slot = slotOf(hash, length);
  for (;;) {
    const rank = (words.slots[slot] as number) - 1;
    if (rank < 0) return -1;
    if (words.hashes[rank] === hash) {
      const start = words.starts[rank] as number;
      if ((words.starts[rank + 1] as number) - start === length && sameBytes(words.pool, start, bytes, from, to)) {
        return rank;
      }
    }
    slot = (slot + 1) & (SLOT_COUNT - 1);
  }
}

/** A bound on the length of the tokens that begin at `at`: never too small. */
export function longestFrom(words: Vocabulary, bytes: Uint8Array, at: number, end: number): number {
  if (end - at < 3) return end - at;
  const bound = words.longest[beginning(bytes, at)] as number;
  return Math.min(Math.max(bound, 2), end - at);
}

function loadVocabulary(): Vocabulary {
  // `require` because the first count may be a synchronous one; the module is 2.3 MB of text and takes 15 ms.
  const module = createRequire(import.meta.url)('js-tiktoken/ranks/o200k_base') as {
    default?: RanksModule;
  } & RanksModule;
  const { bpe_ranks: text } = module.default ?? module;
  return layOut(text.split('\n').filter((line) => line !== ''));
}

interface RanksModule {
  readonly bpe_ranks: string;
}

/** Lines of `! <first rank> <base64> <base64> …`, ranks counting up without a gap. */
function layOut(lines: readonly string[]): Vocabulary {
  const pool = Buffer.from(new SharedArrayBuffer(1 << 21));
  const starts: number[] = [0];
  for (const line of lines) {
    for (const token of line.split(' ').slice(2)) {
      const start = starts.at(-1) ?? 0;
      starts.push(start + pool.write(token, start, 'base64'));
    }
  }
  const words: Vocabulary = {
    pool: new Uint8Array(pool.buffer),
    starts: sharedInts(starts.length),
    hashes: sharedInts(starts.length - 1),
    slots: sharedInts(SLOT_COUNT),
    longest: new Uint8Array(new SharedArrayBuffer(1 << 16)),
    longestByFirst: new Uint8Array(new SharedArrayBuffer(256)),
  };
  words.starts.set(starts);
  for (let rank = 0; rank < words.hashes.length; rank++) insert(words, rank);
  return words;
}

function insert(words: Vocabulary, rank: number): void {
  const { pool, starts, hashes, slots, longest, longestByFirst } = words;
  const start = starts[rank] as number;
  const end = starts[rank + 1] as number;
  let hash = 0;
  for (let at = start; at < end; at++) hash = extendHash(hash, pool[at] as number);
  hashes[rank] = hash;
  let slot = slotOf(hash, end - start);
  while (slots[slot] !== 0) slot = (slot + 1) & (SLOT_COUNT - 1);
  slots[slot] = rank + 1;
  const first = pool[start] as number;
  longestByFirst[first] = Math.max(longestByFirst[first] as number, end - start);
  if (end - start < 3) return;
  const key = beginning(pool, start);
  longest[key] = Math.max(longest[key] as number, end - start);
}

function sharedInts(length: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(length * 4));
}

function beginning(bytes: Uint8Array, at: number): number {
  const three = ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number);
  return Math.imul(three, 0x9e3779b1) >>> 16;
}

function slotOf(hash: number, length: number): number {
  const mixed = Math.imul(hash ^ (hash >>> 15) ^ Math.imul(length, 0x9e3779b1), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) & (SLOT_COUNT - 1);
}

// oxlint-disable-next-line max-params -- called for every candidate of the vocabulary: an object for each call would cost more than it
function sameBytes(pool: Uint8Array, start: number, bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from, other = start; at < to; at++, other++) if (pool[other] !== bytes[at]) return false;
  return true;
}

function powersOf(count: number): Int32Array {
  const powers = new Int32Array(count);
  powers[0] = 1;
  for (let n = 1; n < count; n++) powers[n] = Math.imul(powers[n - 1] as number, HASH_BASE);
  return powers;
}
