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
  /** From the first to the head. */
  readonly segments: readonly BlobRef[];
  /** Of the latest turn that has one. */
  readonly frame?: TurnFrame;
  readonly messages: readonly TranscriptMessage[];
  readonly tokens: number;
}

/** Reads and appends transcripts of one store. */
export interface TranscriptStore {
  /** Raises `TranscriptBroken` when a segment is missing, altered or none of ours. */
  load(head: BlobRef | null): Promise<Transcript>;
  /** As `load`, with every segment read from the store, whatever is in memory. */
  verify(head: BlobRef | null): Promise<Transcript>;
  append(
    base: Transcript,
    segment: Pick<Segment, 'turn' | 'frame' | 'messages'>,
    addedTokens: number,
  ): Promise<Transcript>;
}

interface ReadSegment {
  readonly ref: BlobRef;
  readonly segment: Segment;
}

/** Reads at once: enough to hide the latency of a store far away. */
const READ_AT_ONCE = 8;
/** Heads kept in memory: a Worker serves many turns, and each needs only its last head. */
const CACHED_HEADS = 512;

/** The transcripts of a store. */
export function createTranscriptStore(store: FileStore): TranscriptStore {
  const cache = new LRUCache<string, Transcript>({ max: CACHED_HEADS });

  async function read(head: BlobRef | null): Promise<{ readonly transcript: Transcript; readonly remembered: number }> {
    const newest: ReadSegment[] = [];
    let cursor = head;
    let base: Transcript = { head: null, segments: [], messages: [], tokens: 0 };
    while (cursor) {
      const cached = cache.get(cursor.sha256);
      if (cached) {
        base = cached;
        break;
      }
      const segment = await readSegment(store, cursor);
      newest.push({ ref: cursor, segment });
      cursor = segment.previous;
    }
    const loaded = join(base, newest.reverse(), head);
    if (head) cache.set(head.sha256, loaded);
    return { transcript: loaded, remembered: base.segments.length };
  }

  async function append(
    base: Transcript,
    added: Pick<Segment, 'turn' | 'frame' | 'messages'>,
    addedTokens: number,
  ): Promise<Transcript> {
    const segment: Segment = { version: 1, previous: base.head, ...added, tokens: base.tokens + addedTokens };
    const head = await store.putBlob(Buffer.from(JSON.stringify(segment)));
    const next = join(base, [{ ref: head, segment }], head);
    cache.set(head.sha256, next);
    return next;
  }

  async function verify(head: BlobRef | null): Promise<Transcript> {
    const { transcript, remembered } = await read(head);
    const queue = transcript.segments.slice(0, remembered);
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await readSegment(store, next);
    };
    await Promise.all(Array.from({ length: READ_AT_ONCE }, work));
    return transcript;
  }

  return { load: async (head) => (await read(head)).transcript, verify, append };
}

function join(base: Transcript, added: readonly ReadSegment[], head: BlobRef | null): Transcript {
  const frame = added.findLast(({ segment }) => segment.frame)?.segment.frame ?? base.frame;
  return {
    head,
    segments: [...base.segments, ...added.map(({ ref }) => ref)],
    messages: [...base.messages, ...added.flatMap(({ segment }) => segment.messages)],
    tokens: added.at(-1)?.segment.tokens ?? base.tokens,
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
