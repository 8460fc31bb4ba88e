// Byte-pair merging of long pieces, rank by rank in one sweep each, so that endless pieces cost time in proportion to their
// length; and a lower bound that needs no merging at all.
// `as number`: indexes are in bounds by construction.
import { LONGEST_TOKEN, extendHash, findToken, longestFrom, rangeHash, type Vocabulary } from './vocabulary.ts';

/**
 * Pieces are merged in parts of this many bytes, which is exact for pieces up to that size; at each border between parts
 * of a longer one the count may be a token or two too high.
 */
export const PART_BYTES = 64 * 1024;

const NO_RANK = -1;

/** A piece, and the count that is enough to know. */
export interface PieceRange {
  readonly from: number;
  readonly to: number;
  readonly stopAt: number;
}

/** How many tokens the piece has: exactly up to `PART_BYTES`, within 2 % above. */
export function countLongPiece(words: Vocabulary, bytes: Uint8Array, from: number, to: number): number {
  let count = 0;
  let partCount = 0;
  for (let at = from; at < to; at += PART_BYTES) {
    const end = Math.min(at + PART_BYTES, to);
    // One letter a million times: the parts are alike, and one is counted.
    const isRepeat = at > from && end - at === PART_BYTES && sameAsBefore(bytes, at);
    if (!isRepeat) partCount = new PieceMerge(words, bytes.subarray(at, end)).run();
    count += partCount;
  }
  return count;
}

/**
 * A number of tokens that no tokenization of the piece stays below, counted up to about `stopAt`. Whatever token begins
 * within what k tokens can reach ends within what k + 1 can: the count of jumps to the end is the bound.
 */
export function boundPiece(words: Vocabulary, bytes: Uint8Array, range: PieceRange): number {
  const { from, to, stopAt } = range;
  const coarse = Math.ceil((to - from) / longestTokenIn(words, bytes, from, to));
  if (coarse >= stopAt) return coarse;
  let count = 0;
  let reach = from;
  for (let at = from; reach < to && count < stopAt; count++) {
    let farthest = reach;
    for (; at <= reach && at < to; at++) farthest = Math.max(farthest, at + longestFrom(words, bytes, at, to));
    reach = farthest;
  }
  return Math.max(count, coarse);
}

/**
 * One merge. Ranks are taken in ascending order, and all pairs of a rank from left to right: a merge never makes a pair of
 * a lower rank than its own, because every token of the vocabulary is what merging makes of its own bytes (a test checks
 * that).
 */
class PieceMerge {
  private readonly words: Vocabulary;
  private readonly piece: Uint8Array;
  private readonly prefixes: Int32Array;
  /** By a part's start: where it ends. */
  private readonly ends: Int32Array;
  /** By a part's start: where the part before it starts. */
  private readonly before: Int32Array;
  /** By a part's start: the rank of it and the next part together. */
  private readonly ranks: Int32Array;
  /** By rank: the starts of pairs that have or had it. */
  private readonly waiting = new Map<number, number[]>();
  /** One bit a rank: whether it waits. */
  private readonly isWaiting: Uint32Array;

  constructor(words: Vocabulary, piece: Uint8Array) {
    this.words = words;
    this.piece = piece;
    this.prefixes = hashesOf(piece);
    this.ends = new Int32Array(piece.length);
    this.before = new Int32Array(piece.length);
    for (let i = 0; i < piece.length; i++) {
      this.ends[i] = i + 1;
      this.before[i] = i - 1;
    }
    this.ranks = new Int32Array(piece.length).fill(NO_RANK);
    this.isWaiting = new Uint32Array((words.hashes.length >> 5) + 1);
  }

  /** Merges all there is to merge and gives the number of parts left. */
  run(): number {
    let count = this.piece.length;
    for (let at = 0; at + 1 < this.piece.length; at++) this.enqueue(at);
    for (let rank = this.nextRank(0); rank >= 0; rank = this.nextRank(rank + 1)) {
      const starts = inOrder(this.waiting.get(rank) ?? []);
      this.waiting.delete(rank);
      for (const at of starts) {
        if (this.ranks[at] !== rank) continue;
        this.mergeAt(at);
        count--;
      }
    }
    return count;
  }

  private mergeAt(at: number): void {
    const middle = this.ends[at] as number;
    const end = this.ends[middle] as number;
    this.ends[at] = end;
    this.ranks[middle] = NO_RANK;
    this.ranks[at] = NO_RANK;
    if (end < this.piece.length) {
      this.before[end] = at;
      this.enqueue(at);
    }
    if (at > 0) this.enqueue(this.before[at] as number);
  }

  private enqueue(at: number): void {
    const middle = this.ends[at] as number;
    const end = this.ends[middle] as number;
    let rank = NO_RANK;
    if (end - at <= LONGEST_TOKEN) {
      rank = findToken(this.words, this.piece, at, end, rangeHash(this.prefixes, at, end));
    }
    this.ranks[at] = rank;
    if (rank < 0) return;
    const starts = this.waiting.get(rank);
    if (starts) {
      starts.push(at);
      return;
    }
    this.waiting.set(rank, [at]);
    this.isWaiting[rank >> 5] = (this.isWaiting[rank >> 5] as number) | (1 << (rank & 31));
  }

  private nextRank(from: number): number {
    let word = from >> 5;
    let bits = ((this.isWaiting[word] ?? 0) & (-1 << (from & 31))) >>> 0;
    while (bits === 0) {
      if (++word >= this.isWaiting.length) return -1;
      bits = this.isWaiting[word] as number;
    }
    return (word << 5) + (31 - Math.clz32(bits & -bits));
  }
}

function inOrder(starts: number[]): readonly number[] {
  for (let i = 1; i < starts.length; i++) {
    if ((starts[i] as number) < (starts[i - 1] as number)) return starts.sort((a, b) => a - b);
  }
  return starts;
}

function sameAsBefore(bytes: Uint8Array, at: number): boolean {
  return Buffer.compare(bytes.subarray(at - PART_BYTES, at), bytes.subarray(at, at + PART_BYTES)) === 0;
}

function longestTokenIn(words: Vocabulary, bytes: Uint8Array, from: number, to: number): number {
  let longest = 1;
  for (let at = from; at < to; at++) longest = Math.max(longest, words.longestByFirst[bytes[at] as number] as number);
  return longest;
}

function hashesOf(piece: Uint8Array): Int32Array {
  const prefixes = new Int32Array(piece.length + 1);
  let hash = 0;
  for (let i = 0; i < piece.length; i++) {
    hash = extendHash(hash, piece[i] as number);
    prefixes[i + 1] = hash;
  }
  return prefixes;
}
