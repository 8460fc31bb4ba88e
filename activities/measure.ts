// Measures payloads: size, hash, tokens, media type, shape, preview. Facts only; what follows from them is decided elsewhere.
// Counting and hashing run in threads, except for payloads so small that a thread would take longer.
import { createHash } from 'node:crypto';
import { analyze, type AnalysisInput } from './measure/analyze.ts';
import { bytesThatProve, countAll, countUpTo } from './measure/count.ts';
import { analyzeInThread, closeThreads, countInThread, hashInThread, loadSharedVocabulary } from './measure/pool.ts';
import { vocabularyIfLoaded } from './measure/vocabulary.ts';
import type { Measurement } from '../shared/facts.ts';

/** What may be asked of a measurement. */
export interface MeasureOptions {
  /** Up to this many tokens the count is exact; callers give twice the limit that applies. @default 12000 */
  readonly exactUpToTokens?: number;
  /** Characters of each end in the preview. @default 100 */
  readonly previewCharacters?: number;
}

/** A count of tokens; not exact means the larger of an estimate and a proven bound. */
export interface CountedTokens {
  readonly tokens: number;
  readonly exact: boolean;
}

/** @default of `exactUpToTokens` */
export const DEFAULT_EXACT_UP_TO_TOKENS = 12_000;
/** @default of `previewCharacters` */
const DEFAULT_PREVIEW_CHARACTERS = 100;

/** Up to this size a payload is measured on the event loop (about 1 ms at most). Bytes. */
const INLINE_BYTES = 6 * 1024;
/** Up to this size a payload is looked at whole, above it at both ends: its shape is then partial. Bytes. */
const WHOLE_BYTES = 8 * 1024 * 1024;
const HEAD_BYTES = 1024 * 1024;
const TAIL_BYTES = 64 * 1024;

/**
 * Measures a payload. The given media type wins where it makes sense; else it is found out. Tokens are those of
 * o200k_base: exact up to `exactUpToTokens` (within one unbroken piece of more than 64 KiB, within 2 %); above it
 * `tokensAreExact` is false, and `tokens` is an estimate that never stays below a proven lower bound, which is itself
 * above `exactUpToTokens`. Tokens of binary data are those of its base64. Never raises because of a payload's content.
 */
export async function measure(
  payload: Uint8Array,
  mediaType?: string,
  options: MeasureOptions = {},
): Promise<Measurement> {
  const whole: AnalysisInput = {
    head: payload,
    tail: new Uint8Array(),
    total: payload.length,
    mediaType,
    exactUpToTokens: options.exactUpToTokens ?? DEFAULT_EXACT_UP_TO_TOKENS,
    previewCharacters: options.previewCharacters ?? DEFAULT_PREVIEW_CHARACTERS,
  };
  if (payload.length <= INLINE_BYTES) return measureHere(whole);
  if (payload.length <= WHOLE_BYTES) {
    const { analysis, sha256 = '' } = await analyzeInThread(whole, true);
    return { bytes: payload.length, sha256, ...analysis };
  }
  const headBytes = Math.max(HEAD_BYTES, bytesThatProve(whole.exactUpToTokens));
  const ends = { ...whole, head: payload.subarray(0, headBytes), tail: payload.subarray(-TAIL_BYTES) };
  const [sha256, { analysis }] = await Promise.all([hashInThread(payload), analyzeInThread(ends, false)]);
  return { bytes: payload.length, sha256, ...analysis };
}

/** Counts the tokens of a text, exactly up to `exactUpToTokens`. Half surrogate pairs count as U+FFFD. */
export async function countTokens(
  text: string,
  exactUpToTokens: number = DEFAULT_EXACT_UP_TO_TOKENS,
): Promise<CountedTokens> {
  await loadSharedVocabulary();
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > INLINE_BYTES) return countInThread(bytes, exactUpToTokens);
  const count = countUpTo({ bytes, isWhole: true, limit: exactUpToTokens });
  return count.exact ? count : { tokens: countAll(bytes), exact: true };
}

/**
 * Counts the tokens of a short text at once, exactly. For up to about 4 KB: it blocks the event loop for a millisecond then,
 * and the first time for the 100 ms that loading the vocabulary takes, unless `warmUpMeasure` came before.
 */
export function countTokensSync(text: string): number {
  return countAll(new TextEncoder().encode(text));
}

/** Starts a thread and loads the vocabulary, so that the first measurement need not wait for it. */
export async function warmUpMeasure(): Promise<void> {
  await loadSharedVocabulary();
}

/** Ends the threads. Without it they end with the process, which they do not keep alive. */
export async function closeMeasure(): Promise<void> {
  await closeThreads();
}

async function measureHere(input: AnalysisInput): Promise<Measurement> {
  if (!vocabularyIfLoaded()) await loadSharedVocabulary();
  const sha256 = createHash('sha256').update(input.head).digest('hex');
  return { bytes: input.total, sha256, ...analyze(input) };
}
