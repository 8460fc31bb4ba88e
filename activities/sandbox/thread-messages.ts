// What the sandbox and its threads say to each other: the jobs, their results, and the messages that carry a file's bytes.
import type { MessagePort } from 'node:worker_threads';
import type { InferJob, InferResult } from './schema/infer.ts';
import type { SearchJob, SearchResult } from './search.ts';

/** A piece of work for a thread, by its kind. */
export type ThreadJob = ({ readonly kind: 'search' } & SearchJob) | ({ readonly kind: 'infer' } & InferJob);

/** The result of each kind of job. */
export interface ThreadResults {
  readonly search: SearchResult;
  readonly infer: InferResult;
}

/** What a thread is started with: the job, and the port over which it asks for the file's bytes. */
export interface ThreadTask {
  readonly job: ThreadJob;
  readonly port: MessagePort;
}

/**
 * From the thread: it has begun; it wants the bytes from their start; it has used a chunk. A pass is one reading of the
 * file, numbered from 1: a job may stop early and read again, and what is on its way then must not mix with the new.
 */
export type FromThread =
  | { readonly type: 'begun' }
  | { readonly type: 'open'; readonly pass: number }
  | { readonly type: 'used'; readonly pass: number };

/** To the thread: a chunk, the end of the bytes, or word that they cannot be had. */
export type ToThread =
  | { readonly type: 'chunk'; readonly pass: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly type: 'end'; readonly pass: number }
  | { readonly type: 'failed'; readonly pass: number };

/** How many chunks may be on their way, so that a slow job holds little memory. */
export const CHUNKS_IN_FLIGHT = 4;

/** The size that chunks are cut to, in bytes. */
export const CHUNK_BYTES = 64 * 1024;

/** The bytes of a file, from their start; each call reads anew. */
export type OpenBytes = () => AsyncIterable<Uint8Array>;
