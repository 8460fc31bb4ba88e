// Counts tokens of UTF-8 text as o200k_base does, and stops as soon as the count is proven to be above a limit. Text that
// looks like a special token is plain text.
import { SHORT_PIECE, countShortPiece } from './merge.ts';
import { boundPiece, countLongPiece } from './long-piece.ts';
import { pieceEnd } from './pieces.ts';
import { vocabulary, type Vocabulary } from './vocabulary.ts';

/** How far a piece's end can depend on what follows it: the bytes of `'ll`, and of one more code point. */
const LOOKAHEAD_BYTES = 8;
/** Pieces up to this size are counted outright; for longer ones a bound is tried first. */
const OUTRIGHT_BYTES = 32 * 1024;
const SAMPLE_COUNT = 8;
const SAMPLE_BYTES = 2048;

/** Text to count, or as much of its beginning as is at hand. */
export interface CountInput {
  /** Valid UTF-8. */
  readonly bytes: Uint8Array;
  /** False when the text goes on after `bytes`. */
  readonly isWhole: boolean;
  /** Counted exactly up to this many tokens. */
  readonly limit: number;
}

/** Either the exact count, or a lower bound above the limit. */
export interface TokenCount {
  readonly tokens: number;
  readonly exact: boolean;
}

/**
 * How much of a text's beginning suffices to prove that the whole has more than `limit` tokens: no token is longer than
 * 128 bytes.
 */
export function bytesThatProve(limit: number): number {
  return (limit + 2) * 128 + 2 * LOOKAHEAD_BYTES;
}

/**
 * Counts up to the limit. The sum over complete pieces is exact for the text they cover, because the pattern cuts a text the
 * same way whatever follows them; within the piece where the limit is passed, `boundPiece` proves it. Where `isWhole` is
 * false and the beginning is shorter than `bytesThatProve(limit)`, the bound may be below the limit.
 */
export function countUpTo(input: CountInput): TokenCount {
  const { bytes, isWhole, limit } = input;
  const words = vocabulary();
  const settled = isWhole ? bytes.length : bytes.length - LOOKAHEAD_BYTES;
  let tokens = 0;
  for (let at = 0; at < bytes.length;) {
    if (tokens > limit) return { tokens, exact: false };
    const end = pieceEnd(bytes, at, bytes.length);
    const stopAt = limit - tokens + 1;
    if (end > settled) {
      return {
        tokens: tokens + (at < settled ? boundPiece(words, bytes, { from: at, to: settled, stopAt }) : 0),
        exact: false,
      };
    }
    const piece = countPiece(words, bytes, { from: at, to: end, stopAt });
    tokens += piece.tokens;
    if (!piece.exact) return { tokens, exact: false };
    at = end;
  }
  return { tokens, exact: isWhole && tokens <= limit };
}

/** Counts a whole text, whatever its size. */
export function countAll(bytes: Uint8Array): number {
  return countUpTo({ bytes, isWhole: true, limit: Number.MAX_SAFE_INTEGER }).tokens;
}

/**
 * Estimates the tokens of a text of `total` bytes from samples spread evenly over `parts`, each valid UTF-8. Not a bound.
 */
export function estimateTokens(parts: readonly Uint8Array[], total: number): number {
  const seen = parts.reduce((sum, part) => sum + part.length, 0);
  let sampledBytes = 0;
  let sampledTokens = 0;
  for (const part of parts) {
    const samples = Math.max(1, Math.round((SAMPLE_COUNT * part.length) / Math.max(1, seen)));
    for (let i = 0; i < samples; i++) {
      const sample = sampleAt(part, Math.floor((part.length * (i + 0.5)) / samples - SAMPLE_BYTES / 2));
      sampledBytes += sample.length;
      sampledTokens += countAll(sample);
    }
  }
  return sampledBytes === 0 ? 0 : Math.ceil((sampledTokens / sampledBytes) * total);
}

/** Moves an index back to the beginning of the UTF-8 sequence it lies in. */
export function sequenceStart(bytes: Uint8Array, index: number): number {
  let at = Math.min(index, bytes.length);
  for (let step = 0; step < 3 && at > 0 && ((bytes[at] ?? 0) & 0xc0) === 0x80; step++) at--;
  return at;
}

function sampleAt(part: Uint8Array, start: number): Uint8Array {
  const from = sequenceStart(part, Math.max(0, Math.min(start, part.length - SAMPLE_BYTES)));
  const to = from + SAMPLE_BYTES;
  return part.subarray(from, to < part.length ? sequenceStart(part, to) : part.length);
}

interface Piece {
  readonly from: number;
  readonly to: number;
  readonly stopAt: number;
}

function countPiece(words: Vocabulary, bytes: Uint8Array, piece: Piece): TokenCount {
  const { from, to, stopAt } = piece;
  if (to - from <= SHORT_PIECE) return { tokens: countShortPiece(words, bytes, from, to), exact: true };
  if (to - from > OUTRIGHT_BYTES && stopAt < to - from) {
    const bound = boundPiece(words, bytes, piece);
    if (bound >= stopAt) return { tokens: bound, exact: false };
  }
  return { tokens: countLongPiece(words, bytes, from, to), exact: true };
}
