// A sweep's notes in the store, below `sweeps/<id>/`: pages of manifest keys, how turns stand, and hashes that something
// refers to. They let each page be an Activity of its own, with bounded memory, and are removed in the end.
import { isObject } from '../../shared/json.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { SweepFrame } from '../../shared/sweep.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { deleteObjects } from './paging.ts';

/** Where sweeps keep notes. */
export const SWEEPS_FOLDER = 'sweeps';
/** Turns a page. */
export const PAGE_TURNS = 500;

const HASH_BYTES = 32;

/** How a turn stood when the sweep looked. */
export interface SurveyedTurn {
  readonly workflowId: string;
  /** `released`: closed at an earlier sweep, and not asked about again until something is due. */
  readonly status: 'open' | 'closed' | 'gone' | 'released';
  readonly endedMs?: number;
  readonly ended?: string;
  /** The turn it goes on from. */
  readonly continues?: string;
  /** Of a turn released before of which nothing is due, and nothing was let go: how many files it has. */
  readonly idleFiles?: number;
  /** What a writer would have changed since. */
  readonly version: string;
}

/** Writes a JSON note. */
export async function putNote(store: FileStore, frame: SweepFrame, name: string, value: unknown): Promise<void> {
  await store.putObject(`${frame.id}/${name}`, new TextEncoder().encode(JSON.stringify(value)));
}

/** The keys of a page of manifests. */
export async function keysOfPage(store: FileStore, frame: SweepFrame, list: string, page: number): Promise<string[]> {
  const value = await readNote(store, frame, `${list}/${page}`);
  return Array.isArray(value) ? value.map(String) : [];
}

/** How the turns of a page stood, by the key of their manifest. */
export async function surveyOfPage(
  store: FileStore,
  frame: SweepFrame,
  page: number,
): Promise<ReadonlyMap<string, SurveyedTurn>> {
  const value = await readNote(store, frame, `survey/${page}`);
  // Only `putNote` of the survey writes these.
  return new Map(Object.entries(isObject(value) ? (value as unknown as Record<string, SurveyedTurn>) : {}));
}

/** The turns that open turns go on from, of all pages. */
export async function continuedTurns(store: FileStore, frame: SweepFrame): Promise<ReadonlySet<string>> {
  const continued = new Set<string>();
  for await (const key of store.listObjects(`${frame.id}/continued`)) {
    const value = await readNote(store, frame, key.slice(frame.id.length + 1));
    if (Array.isArray(value)) for (const id of value) continued.add(String(id));
  }
  return continued;
}

/** The turns that ran when the sweep began. */
export async function runningTurns(store: FileStore, frame: SweepFrame): Promise<ReadonlySet<string>> {
  const value = await readNote(store, frame, 'running');
  return new Set(Array.isArray(value) ? value.map(String) : []);
}

/** Notes that a record cannot be read: what others need is not known, and nothing is let go. */
export async function putBlocked(store: FileStore, frame: SweepFrame): Promise<void> {
  await putNote(store, frame, 'blocked', true);
}

/** Whether a page of the survey noted that. */
export async function isBlocked(store: FileStore, frame: SweepFrame): Promise<boolean> {
  return (await store.getObject(`${frame.id}/blocked`)) !== null;
}

/** Writes the hashes that a page of manifests refers to. */
export async function putMarks(
  store: FileStore,
  frame: SweepFrame,
  page: number,
  hashes: ReadonlySet<string>,
): Promise<void> {
  const bytes = Buffer.alloc(hashes.size * HASH_BYTES);
  let at = 0;
  for (const hash of hashes) at += bytes.write(hash, at, 'hex');
  await store.putObject(`${frame.id}/marks/${page}`, bytes);
}

/** The marked hashes that begin with one hexadecimal digit, of all pages. Raises `BlobMissing` where a page is gone. */
export async function marksOf(
  store: FileStore,
  frame: SweepFrame,
  pages: number,
  digit: number,
): Promise<ReadonlySet<string>> {
  const marks = new Set<string>();
  for (let page = 0; page < pages; page += 1) {
    const key = `${frame.id}/marks/${page}`;
    const stored = await store.getObject(key);
    if (stored === null) throw noteMissing(key);
    const bytes = Buffer.from(stored.body.buffer, stored.body.byteOffset, stored.body.byteLength);
    for (let at = 0; at < bytes.length; at += HASH_BYTES) {
      if ((bytes[at] ?? 0) >> 4 === digit) marks.add(bytes.toString('hex', at, at + HASH_BYTES));
    }
  }
  return marks;
}

/** Removes all notes of one sweep; whose they were goes last, so that a sweep after this one finds what is left. */
export async function removeNotes(store: FileStore, id: string): Promise<void> {
  const keys = await Array.fromAsync(store.listObjects(id));
  const owner = `${id}/owner`;
  await deleteObjects(
    store,
    keys.filter((key) => key !== owner),
  );
  if (keys.includes(owner)) await store.deleteObject(owner);
}

async function readNote(store: FileStore, frame: SweepFrame, name: string): Promise<unknown> {
  const key = `${frame.id}/${name}`;
  const stored = await store.getObject(key);
  if (stored === null) throw noteMissing(key);
  return JSON.parse(new TextDecoder().decode(stored.body));
}

/** A mark that is missing would count as "nothing refers to it": the sweep ends instead. */
function noteMissing(key: string): LongshoreError {
  return new LongshoreError(
    'BlobMissing',
    `The note \`${key}\` of this sweep is gone from the file store`,
    'Start a sweep again: this one deletes nothing more.',
  );
}
