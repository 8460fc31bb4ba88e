// What measuring threads do: share the vocabulary, analyse payloads, hash what comes in chunks. Started by `pool.ts` only.
import { createHash } from 'node:crypto';
import type { MessagePort } from 'node:worker_threads';
import { analyze, type Analysis, type AnalysisInput } from './analyze.ts';
import { countUpTo, estimateTokens } from './count.ts';
import { adoptVocabulary, vocabulary, type Vocabulary } from './vocabulary.ts';

/** A payload to analyse, with the vocabulary in shared memory. */
interface AnalyzeTask {
  readonly input: AnalysisInput;
  readonly vocabulary: Vocabulary;
  /** Whether `input.head` is the whole payload and is to be hashed. */
  readonly hash: boolean;
}

/** The analysis, with the hash where it was asked for. */
export interface AnalyzeAnswer {
  readonly analysis: Analysis;
  readonly sha256?: string;
}

/** A text to count. */
interface CountTask {
  readonly bytes: Uint8Array;
  readonly limit: number;
  readonly vocabulary: Vocabulary;
}

/** Chunks to hash: they come through `port`, each in one of two buffers of shared memory. */
interface HashTask {
  readonly port: MessagePort;
  readonly buffers: readonly Uint8Array[];
}

/** From the sender: a chunk in that buffer; or, with `length` 0, the end. The thread sends the buffer's number back. */
export interface HashChunk {
  readonly buffer: number;
  readonly length: number;
}

/** Loads the vocabulary and shares it. */
export function shareVocabulary(): Vocabulary {
  return vocabulary();
}

/** Analyses one payload. */
export function analyzePayload(task: AnalyzeTask): AnalyzeAnswer {
  adoptVocabulary(task.vocabulary);
  const analysis = analyze(task.input);
  return task.hash ? { analysis, sha256: createHash('sha256').update(task.input.head).digest('hex') } : { analysis };
}

/** Counts one text: exactly up to the limit, above it the larger of bound and estimate. */
export function countText({ bytes, limit, vocabulary: shared }: CountTask): {
  readonly tokens: number;
  readonly exact: boolean;
} {
  adoptVocabulary(shared);
  const count = countUpTo({ bytes, isWhole: true, limit });
  if (count.exact) return count;
  return { tokens: Math.max(count.tokens, estimateTokens([bytes], bytes.length)), exact: false };
}

/** Hashes chunks until the last one; gives the SHA-256 in hexadecimal. */
export function hashChunks({ port, buffers }: HashTask): Promise<string> {
  const hash = createHash('sha256');
  return new Promise((resolve) => {
    port.on('message', (chunk: HashChunk) => {
      if (chunk.length === 0) {
        port.close();
        resolve(hash.digest('hex'));
        return;
      }
      hash.update((buffers[chunk.buffer] ?? new Uint8Array()).subarray(0, chunk.length));
      port.postMessage(chunk.buffer);
    });
  });
}
