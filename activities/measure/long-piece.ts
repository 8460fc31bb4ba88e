// Byte-pair merging of long pieces, rank by rank in one sweep each, so that endless pieces cost time in proportion to their
// length; and a lower bound that needs no merging at all.
// `as number`: indexes are in bounds by construction.
import { LONGEST_TOKEN, extendHash, findToken, longestFrom, rangeHash, type Vocabulary } from './vocabulary.ts';

/**
 * Pieces are merged in parts of this many bytes, which is exact for pieces up to that size; at each border between parts
 * of a longer one the count may be a token or two too high.
 */
const PART_BYTES = 64 * 1024;

const NO_RANK = -1;

/** Scratch space of this thread, used and left within one synchronous call. */
let pieceMerge: PieceMerge | undefined;

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
    if (!isRepeat) partCount = mergeOf(words).count(bytes.subarray(at, end));
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
 * Merges one piece at a time. Ranks are taken in ascending order, and all pairs of a rank from left to right: a merge never makes a pair of
 * a lower rank than its own, because every token of the vocabulary is what merging makes of its own bytes (a test checks
 * that).
 */
class PieceMerge {
  private readonly words: Vocabulary;
  private piece: Uint8Array = new Uint8Array();
  private readonly prefixes = new Int32Array(PART_BYTES + 1);
  /** By a part's start: where it ends. */
  private readonly ends = new Int32Array(PART_BYTES);
  /** By a part's start: where the part before it starts. */
  private readonly before = new Int32Array(PART_BYTES);
  /** By a part's start: the rank of it and the next part together. */
  private readonly ranks = new Int32Array(PART_BYTES);
  /** By rank: the starts of pairs that have or had it. */
  private readonly waiting = new Map<number, number[]>();
  /** One bit a rank: whether it waits. All clear between two counts. */
  private readonly isWaiting: Uint32Array;
  private highestWord = 0;

  constructor(words: Vocabulary) {
    this.words = words;
    this.isWaiting = new Uint32Array((words.hashes.length >> 5) + 1);
  }

  /** Merges all there is to merge in a piece of at most `PART_BYTES` and gives the number of parts left. */
  count(piece: Uint8Array): number {
    this.start(piece);
    let count = piece.length;
    for (let rank = this.takeRank(0); rank >= 0; rank = this.takeRank(rank)) {
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

  private start(piece: Uint8Array): void {
    this.piece = piece;
    this.highestWord = 0;
    let hash = 0;
    for (let at = 0; at < piece.length; at++) {
      hash = extendHash(hash, piece[at] as number);
      this.prefixes[at + 1] = hash;
      this.ends[at] = at + 1;
      this.before[at] = at - 1;
      this.ranks[at] = NO_RANK;
    }
    for (let at = 0; at + 1 < piece.length; at++) this.enqueue(at);
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
    const word = rank >> 5;
    this.isWaiting[word] = (this.isWaiting[word] as number) | (1 << (rank & 31));
    if (word > this.highestWord) this.highestWord = word;
  }

  /** Takes the lowest waiting rank, which is not below `from`; -1 when none waits. */
  private takeRank(from: number): number {
    let word = from >> 5;
    while (this.isWaiting[word] === 0) if (++word > this.highestWord) return -1;
    const bits = this.isWaiting[word] as number;
    this.isWaiting[word] = bits & (bits - 1);
    return (word << 5) + (31 - Math.clz32(bits & -bits));
  }
}

function mergeOf(words: Vocabulary): PieceMerge {
  pieceMerge ??= new PieceMerge(words);
  return pieceMerge;
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
