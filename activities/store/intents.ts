// How a sweep deletes blobs beside writers that find them there. A writer says what it means to rely on (an intent)
// before it looks for a sweep's mark; a sweep marks a part of the store before it looks for intents. Whoever is second
// sees the first, so that no blob goes that a writer relies on. Works over any driver's named objects. Source: D8.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';

/** A sweep deletes nothing later than this after it made its mark, whatever happened to its process meanwhile. */
export const MARK_LIFE_MS = 15_000;
/** A mark that is older is left from a sweep that died. Far above `MARK_LIFE_MS`. */
export const STALE_MARK_MS = 120_000;
/** How long a writer waits for a mark to go. */
const WAIT_MS = 60_000;
const POLL_MS = 25;

/** What the protocol needs of a store. */
export type IntentObjects = Pick<FileStore, 'getObject' | 'putObject' | 'deleteObject'>;

/** Time, for tests to give. */
export interface IntentClock {
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Milliseconds from any beginning; never goes back. */
  readonly monotonic: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

const SYSTEM_CLOCK: IntentClock = { now: () => Date.now(), monotonic: () => performance.now(), sleep: delay };

/** The part of the store that one mark covers: blobs whose hash begins with the same two digits. */
export function shardOf(sha256: string): string {
  return sha256.slice(0, 2);
}

/** Where writers say on what they mean to rely. */
export const INTENTS_FOLDER = 'intents';

/** Where the intents of a part of the store stand. */
export function intentsFolder(shard: string): string {
  return `${INTENTS_FOLDER}/${shard}`;
}

/** Where a writer says that it means to rely on a blob. */
export function intentKey(sha256: string): string {
  return `${intentsFolder(shardOf(sha256))}/${sha256}`;
}

/** Where sweeps say in which parts of the store they delete. */
export const MARKS_FOLDER = 'condemned';

/** Where a sweep says that it deletes in a part of the store. */
export function markKey(shard: string): string {
  return `${MARKS_FOLDER}/${shard}`;
}

/**
 * To be called by a driver's `putBlob` that finds something under the blob's hash, before it relies on it or writes over
 * it. Gives what `isIntact` says once no sweep can delete the blob any more: true, the blob may be relied on; false, it
 * is to be written, and may be.
 *
 * Raises `StoreUnavailable` (retryable) when a sweep's mark stands for over 60 s.
 */
export async function relyOnBlob(
  objects: IntentObjects,
  sha256: string,
  isIntact: () => Promise<boolean>,
  clock: IntentClock = SYSTEM_CLOCK,
): Promise<boolean> {
  await objects.putObject(intentKey(sha256), encode({ at: clock.now() }));
  const mark = markKey(shardOf(sha256));
  const deadline = clock.monotonic() + WAIT_MS;
  while ((await objects.getObject(mark)) !== null) {
    if (clock.monotonic() > deadline) throw stillMarked(mark);
    await clock.sleep(POLL_MS);
  }
  // Looked at only now: a sweep that was done before the mark was looked for may have deleted it.
  return isIntact();
}

/** When a writer last meant to rely on a blob, by its clock; null where none did. An unreadable intent is as of now. */
export async function readIntent(
  objects: IntentObjects,
  sha256: string,
  clock: IntentClock = SYSTEM_CLOCK,
): Promise<number | null> {
  const stored = await objects.getObject(intentKey(sha256));
  return stored === null ? null : (timeIn(stored.body) ?? clock.now());
}

/** A sweep's mark on a part of the store. */
export interface Mark {
  /** Whether deleting is still allowed: to be asked before each deletion. */
  readonly isLive: () => boolean;
  /** Takes the mark away; to be called when all deletions have settled. */
  release(): Promise<void>;
}

/**
 * Marks a part of the store, or gives null where another sweep's mark stands. A mark that is older than `STALE_MARK_MS`
 * is taken over.
 */
export async function markShard(
  objects: IntentObjects,
  shard: string,
  by: string,
  clock: IntentClock = SYSTEM_CLOCK,
): Promise<Mark | null> {
  const key = markKey(shard);
  const token = randomUUID();
  const body = encode({ at: clock.now(), by, token });
  const begunMs = clock.monotonic();
  const standing = await objects.getObject(key);
  if (standing !== null && !isStale(standing.body, by, clock)) return null;
  try {
    await objects.putObject(key, body, standing === null ? { ifAbsent: true } : { ifMatch: standing.etag });
  } catch (error) {
    if (error instanceof LongshoreError && error.type === 'StoreConflict') return null;
    throw error;
  }
  return {
    isLive: () => clock.monotonic() - begunMs < MARK_LIFE_MS,
    async release() {
      const now = await objects.getObject(key);
      // Another's by now, where this process stood still for so long that it was taken for dead.
      if (now !== null && decode(now.body).token === token) await objects.deleteObject(key);
    },
  };
}

/** Takes away a mark that a sweep left when it died; true where there was one. */
export async function removeStaleMark(
  objects: IntentObjects,
  key: string,
  clock: IntentClock = SYSTEM_CLOCK,
): Promise<boolean> {
  const standing = await objects.getObject(key);
  if (standing === null || !isStale(standing.body, undefined, clock)) return false;
  await objects.deleteObject(key);
  return true;
}

/** Writes a mark of nobody's in place of one that cannot be read: it becomes stale as any other. */
export async function putFreshMark(
  objects: IntentObjects,
  key: string,
  clock: IntentClock = SYSTEM_CLOCK,
): Promise<void> {
  await objects.putObject(key, encode({ at: clock.now(), by: 'unknown' }));
}

/** The same sweep's own mark is left from an attempt that was given up, which takes longer than a mark's life. */
function isStale(body: Uint8Array, by: string | undefined, clock: IntentClock): boolean {
  const at = timeIn(body);
  if (at === null) return true;
  if (by !== undefined && decode(body).by === by) return true;
  return Math.abs(clock.now() - at) > STALE_MARK_MS;
}

interface Note {
  readonly at?: unknown;
  readonly by?: unknown;
  readonly token?: unknown;
}

function encode(value: Note): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function decode(body: Uint8Array): Note {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {}; // not ours, or of another version: the callers say what that means
  }
}

function timeIn(body: Uint8Array): number | null {
  const { at } = decode(body);
  return typeof at === 'number' ? at : null;
}

function stillMarked(mark: string): LongshoreError {
  return new LongshoreError(
    'StoreUnavailable',
    `The mark \`${mark}\` of a sweep stands in the file store for over ${WAIT_MS / 1000} s.`,
    'Run `longshore sweep`, which takes away what a sweep that died has left; the write is tried again.',
  );
}
