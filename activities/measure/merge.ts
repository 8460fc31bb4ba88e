// Byte-pair merging of one short piece: the pair with the lowest rank first, the leftmost of equals. Quadratic in the
// piece's length, so it serves pieces of up to `SHORT_PIECE` bytes; longer ones go to `long-piece.ts`.
// `as number`: indexes are in bounds by construction.
import { extendHash, findToken, rangeHash, type Vocabulary } from './vocabulary.ts';

/** The longest piece that is merged here, in bytes. */
export const SHORT_PIECE = 128;

const NO_RANK = 0x7fffffff;

// Scratch space, used and left within one synchronous call.
const prefixes = new Int32Array(SHORT_PIECE + 1);
const cuts = new Int32Array(SHORT_PIECE + 1);
const ranks = new Int32Array(SHORT_PIECE + 1);

/** How many tokens a piece of at most `SHORT_PIECE` bytes has. */
export function countShortPiece(words: Vocabulary, bytes: Uint8Array, from: number, to: number): number {
  const length = to - from;
  if (length <= 1) return length;
  const hash = hashPrefixes(bytes, from, length);
  if (findToken(words, bytes, from, to, hash) >= 0) return 1;
  return merge(words, bytes, from, length);
}

function hashPrefixes(bytes: Uint8Array, from: number, length: number): number {
  let hash = 0;
  for (let i = 0; i < length; i++) {
    hash = extendHash(hash, bytes[from + i] as number);
    prefixes[i + 1] = hash;
  }
  return hash;
}

/** Merges until no pair is a token; gives how many parts are left. */
function merge(words: Vocabulary, bytes: Uint8Array, from: number, length: number): number {
  let count = length;
  for (let i = 0; i <= length; i++) cuts[i] = i;
  for (let i = 0; i + 1 < length; i++) ranks[i] = pairRank(words, bytes, from, i);
  ranks[length - 1] = NO_RANK;
  for (;;) {
    let best = 0;
    for (let i = 1; i + 1 < count; i++) if ((ranks[i] as number) < (ranks[best] as number)) best = i;
    if (ranks[best] === NO_RANK) return count;
    cuts.copyWithin(best + 1, best + 2, count + 1);
    ranks.copyWithin(best, best + 1, count);
    count--;
    if (best + 1 < count) ranks[best] = pairRank(words, bytes, from, best);
    if (best > 0) ranks[best - 1] = pairRank(words, bytes, from, best - 1);
  }
}

/** The rank of parts `i` and `i + 1` taken together. */
function pairRank(words: Vocabulary, bytes: Uint8Array, from: number, i: number): number {
  const start = cuts[i] as number;
  const end = cuts[i + 2] as number;
  const rank = findToken(words, bytes, from + start, from + end, rangeHash(prefixes, start, end));
  return rank < 0 ? NO_RANK : rank;
}
