// The conversation as a chain of content-addressed segments; its head is a reference. A step appends one segment, so that
// writing costs what is new. Reading keeps a cache by head, so that it does too on a Worker that stays.
import { LRUCache } from 'lru-cache';
import type { TurnFrame, TurnIdentity } from '../shared/activities.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import type { BlobRef, FileStore } from '../shared/file-store.ts';
import { isObject } from '../shared/json.ts';
import type { TranscriptMessage } from '../shared/messages.ts';

/** What one append adds. */
export interface Segment {
  readonly version: 1;
  readonly previous: BlobRef | null;
  readonly turn: TurnIdentity;
  readonly frame?: TurnFrame;
  readonly messages: readonly TranscriptMessage[];
  /** Tokens of all messages up to and with this segment, by our count. */
  readonly tokens: number;
}

/** A conversation up to a head. */
export interface Transcript {
  readonly head: BlobRef | null;
  /** Of the latest turn that has one. */
  readonly frame?: TurnFrame;
  readonly messages: readonly TranscriptMessage[];
  readonly tokens: number;
}

/** Reads and appends transcripts of one store. */
export interface TranscriptStore {
  /** Raises `TranscriptBroken` when a segment is missing, altered or none of ours. */
  load(head: BlobRef | null): Promise<Transcript>;
  append(
    base: Transcript,
    segment: Pick<Segment, 'turn' | 'frame' | 'messages'>,
    addedTokens: number,
  ): Promise<Transcript>;
}

/** Heads kept in memory: a Worker serves many turns, and each needs only its last head. */
const CACHED_HEADS = 512;

/** The transcripts of a store. */
export function createTranscriptStore(store: FileStore): TranscriptStore {
  const cache = new LRUCache<string, Transcript>({ max: CACHED_HEADS });

  async function load(head: BlobRef | null): Promise<Transcript> {
    const newest: Segment[] = [];
    let cursor = head;
    let base: Transcript = { head: null, messages: [], tokens: 0 };
    while (cursor) {
      const cached = cache.get(cursor.sha256);
      if (cached) {
        base = cached;
        break;
      }
      const segment = await readSegment(store, cursor);
      newest.push(segment);
      cursor = segment.previous;
    }
    const loaded = join(base, newest.reverse(), head);
    if (head) cache.set(head.sha256, loaded);
    return loaded;
  }

  async function append(
    base: Transcript,
    added: Pick<Segment, 'turn' | 'frame' | 'messages'>,
    addedTokens: number,
  ): Promise<Transcript> {
    const segment: Segment = { version: 1, previous: base.head, ...added, tokens: base.tokens + addedTokens };
    const head = await store.putBlob(Buffer.from(JSON.stringify(segment)));
    const next = join(base, [segment], head);
    cache.set(head.sha256, next);
    return next;
  }

  return { load, append };
}

function join(base: Transcript, segments: readonly Segment[], head: BlobRef | null): Transcript {
  const frame = segments.findLast((segment) => segment.frame)?.frame ?? base.frame;
  return {
    head,
    messages: [...base.messages, ...segments.flatMap((segment) => segment.messages)],
    tokens: segments.at(-1)?.tokens ?? base.tokens,
    ...(frame && { frame }),
  };
}

async function readSegment(store: FileStore, ref: BlobRef): Promise<Segment> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(await store.readBlob(ref.sha256)).toString('utf8'));
  } catch (error) {
    if (error instanceof LongshoreError && error.retryable) throw error;
    throw broken(ref, messageOf(error));
  }
  if (!isSegment(parsed)) throw broken(ref, 'it is no transcript segment of version 1');
  return parsed;
}

/** Segments are only ever written by `append`, and their bytes are verified by hash: the tag is proof enough. */
function isSegment(value: unknown): value is Segment {
  return isObject(value) && value['version'] === 1 && Array.isArray(value['messages']);
}

function broken(ref: BlobRef, problem: string): LongshoreError {
  return new LongshoreError(
    'TranscriptBroken',
    `The transcript segment ${ref.sha256} (${ref.bytes} bytes) cannot be read: ${problem}`,
    'Restore the blob of that hash in the file store, or start a new turn.',
  );
}
