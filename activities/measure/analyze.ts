// What is found out about a payload beside its hash: tokens, media type, shape and preview. Runs in a thread, and on the event
// loop for tiny payloads; it takes bounded time, because of a large payload it gets both ends only.
import { isUtf8 } from 'node:buffer';
import { bytesThatProve, countUpTo, estimateTokens, sequenceStart, type TokenCount } from './count.ts';
import { mediaTypeOf, readMediaType, signatureOf, type GivenType } from './media-type.ts';
import { previewOf } from './preview.ts';
import { shapeOfText } from './shape.ts';
import type { Measurement } from '../../shared/facts.ts';

/** A payload or both its ends, and what is asked of it. */
export interface AnalysisInput {
  /** The whole payload, or its beginning. */
  readonly head: Uint8Array;
  /** The payload's end; empty where `head` is the whole. */
  readonly tail: Uint8Array;
  /** Bytes of the whole payload. */
  readonly total: number;
  readonly mediaType: string | undefined;
  readonly exactUpToTokens: number;
  readonly previewCharacters: number;
}

/** All of a measurement that the hash is not. */
export type Analysis = Omit<Measurement, 'bytes' | 'sha256'>;

/**
 * Analyses a payload. Text is what is valid UTF-8 (and holds no NUL beside a known file signature), or is called text by
 * its media type: then bytes that are not UTF-8 count and show as U+FFFD. Everything else is binary, and its tokens are
 * those of its base64, the only form in which it could stand in a context.
 */
export function analyze(input: AnalysisInput): Analysis {
  const given = readMediaType(input.mediaType);
  const text = asText(input, given);
  return text ? analyzeText(input, text, given) : analyzeBinary(input, given);
}

interface TextEnds {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

function asText(input: AnalysisInput, given: GivenType | null): TextEnds | null {
  const isWhole = input.head.length === input.total;
  const head = isWhole ? input.head : input.head.subarray(0, sequenceStart(input.head, input.head.length - 3));
  const tail = isWhole ? head : input.tail.subarray(continuationBytes(input.tail));
  if (isUtf8(head) && isUtf8(tail)) {
    const isDisguised = !given?.isText && head.subarray(0, 1024).includes(0) && signatureOf(head) !== null;
    return isDisguised ? null : { head, tail };
  }
  return given?.isText && signatureOf(head) === null ? { head: mended(head), tail: mended(tail) } : null;
}

function analyzeText(input: AnalysisInput, { head, tail }: TextEnds, given: GivenType | null): Analysis {
  const isWhole = input.head.length === input.total;
  const shape = shapeOfText({ bytes: head, isWhole, given });
  const total = isWhole ? head.length : input.total;
  return {
    ...tokensOf(isWhole ? [head] : [head, tail], total, input.exactUpToTokens),
    mediaType: mediaTypeOf(given, null, shape),
    shape,
    preview: previewOf({ head, tail, isWhole, characters: input.previewCharacters }),
  };
}

function analyzeBinary(input: AnalysisInput, given: GivenType | null): Analysis {
  const signature = signatureOf(input.head);
  const shape = { kind: 'binary', ...(signature ? { signature: signature.name } : {}) } as const;
  const enough = Math.ceil(bytesThatProve(input.exactUpToTokens) / 4) * 3;
  const isWhole = input.head.length === input.total && input.total <= enough;
  const shown = isWhole ? input.head : input.head.subarray(0, Math.floor(Math.min(enough, input.head.length) / 3) * 3);
  const base64 = new TextEncoder().encode(Buffer.from(shown).toString('base64'));
  return {
    ...tokensOf([base64], Math.ceil(input.total / 3) * 4, input.exactUpToTokens),
    mediaType: mediaTypeOf(given, signature?.mediaType ?? null, shape),
    shape,
    preview: { head: '', tail: '' },
  };
}

/** Tokens of a text of `total` bytes, from the whole of it or from its parts, the beginning first. */
function tokensOf(
  parts: readonly Uint8Array[],
  total: number,
  limit: number,
): Pick<Measurement, 'tokens' | 'tokensAreExact'> {
  const bytes = parts[0] ?? new Uint8Array();
  const count: TokenCount = countUpTo({ bytes, isWhole: bytes.length === total, limit });
  if (count.exact) return { tokens: count.tokens, tokensAreExact: true };
  return { tokens: Math.max(count.tokens, estimateTokens(parts, total)), tokensAreExact: false };
}

function continuationBytes(bytes: Uint8Array): number {
  let count = 0;
  while (count < 3 && ((bytes[count] ?? 0) & 0xc0) === 0x80) count++;
  return count;
}

function mended(bytes: Uint8Array): Uint8Array {
  return new TextEncoder().encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
}
