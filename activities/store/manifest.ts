// Reads and writes the manifests of turns: named objects with one writer each, checked by a schema when read.
// Where a file is looked for by its path alone, all manifests are searched.
import { posix } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { TurnIdentity } from '../../shared/activities.ts';
import { sha256Hex } from '../../shared/digest.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { objectKey, type FileStore } from '../../shared/file-store.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';
import { parseManifest } from './manifest-schema.ts';

/** Where manifests stand. */
export const MANIFESTS_FOLDER = 'manifests';
const FOLDER = MANIFESTS_FOLDER;
const MAX_ATTEMPTS = 8;

/** Which turn's manifest. */
export type ManifestOwner = Pick<TurnIdentity, 'session' | 'workflowId'>;

/** A file found by its path, and the manifest that knows it. */
export interface FoundFile {
  readonly manifest: Manifest;
  readonly file: ManifestFile;
}

/** The key of a turn's manifest: `manifests/<session>/<workflowId>`. */
export function manifestKey({ session, workflowId }: ManifestOwner): string {
  return objectKey(sha256Hex, FOLDER, session, workflowId);
}

/** A turn's manifest, or null. Raises `BlobCorrupt`, naming the key, for one that cannot be read. */
export async function loadManifest(store: FileStore, owner: ManifestOwner): Promise<Manifest | null> {
  return (await readManifest(store, manifestKey(owner)))?.manifest ?? null;
}

/** The manifest under a key of `listObjects`, or null where it was removed since. Raises `BlobCorrupt`. */
export async function loadManifestAt(store: FileStore, key: string): Promise<Manifest | null> {
  return (await readManifest(store, key))?.manifest ?? null;
}

/**
 * Changes a turn's manifest and gives the one that stands then. What is absent begins empty; what does not change is
 * not written. With `from: 'remembered'` the one that was last read here is tried first: for callers who have just read it, and
 * who may be given it back where nothing changes.
 *
 * Contract: `change` is pure; it is called again on the newer manifest when another writer was faster.
 * Raises `StoreConflict` (retryable) after 8 attempts, `BlobCorrupt` for a manifest that cannot be read, and, where it must
 * exist, `ManifestMissing`.
 */
export async function updateManifest(
  store: FileStore,
  turn: TurnIdentity,
  change: (current: Manifest) => Manifest,
  { mustExist = false, from = 'read' }: { readonly mustExist?: boolean; readonly from?: 'read' | 'remembered' } = {},
): Promise<Manifest> {
  const key = manifestKey(turn);
  for (let attempt = 1; ; attempt += 1) {
    const known = attempt === 1 && from === 'remembered' ? parsed.get(store)?.get(key) : undefined;
    const current = known ?? (await readManifest(store, key));
    if (current === null && mustExist) throw manifestMissing(turn, key);
    const before = current?.manifest ?? { version: 1 as const, turn, head: null, files: [] };
    const next = change(before);
    const text = JSON.stringify(next);
    if (text === current?.text || next === before) return next;
    try {
      const condition = current === null ? { ifAbsent: true as const } : { ifMatch: current.etag };
      const { etag } = await store.putObject(key, new TextEncoder().encode(text), condition);
      return remember(store, key, { manifest: next, etag, text }).manifest;
    } catch (error) {
      const isConflict = error instanceof LongshoreError && error.type === 'StoreConflict';
      if (!isConflict || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}

function manifestMissing({ workflowId }: TurnIdentity, key: string): LongshoreError {
  return new LongshoreError(
    'ManifestMissing',
    `History has committed steps of turn ${workflowId}, and its manifest \`${key}\` is not in the file store`,
    'It is made again from history. Remove no files below `manifests` while a turn runs; `longshore files purge` deletes a session.',
  );
}

/** Which manifests, and who hears of those that cannot be read. */
export interface ListManifestsOptions {
  /** One turn's alone. @default every turn's */
  readonly workflowId?: string;
  /** Gets the `BlobCorrupt` of each one that cannot be read; the others are still given. @default it is raised */
  readonly onUnreadable?: (error: LongshoreError) => void;
}

/** Every manifest, in the order of their keys. Raises `BlobCorrupt` at one that cannot be read, unless `onUnreadable` is given. */
export async function* listManifests(store: FileStore, options: ListManifestsOptions = {}): AsyncGenerator<Manifest> {
  const { workflowId, onUnreadable } = options;
  for await (const key of store.listObjects(FOLDER)) {
    if (workflowId !== undefined && !isOfWorkflow(key, workflowId)) continue;
    const stored = await readManifest(store, key).catch((error: unknown) => {
      if (onUnreadable === undefined || !isCorrupt(error)) throw error;
      onUnreadable(error);
      return null;
    });
    if (stored !== null) yield stored.manifest; // else unreadable, or removed since it was listed
  }
}

/**
 * What is known of a file by its path, in all manifests or in one turn's: first from the turn that made it, then from
 * turns that keep it. Empty when nothing is known.
 * Raises `BlobCorrupt` when nothing was found and a manifest could not be read.
 */
export async function findFile(
  store: FileStore,
  path: string,
  options: { readonly workflowId?: string } = {},
): Promise<readonly FoundFile[]> {
  const found: FoundFile[] = [];
  let unreadable: unknown;
  for await (const key of store.listObjects(FOLDER)) {
    if (options.workflowId !== undefined && !isOfWorkflow(key, options.workflowId)) continue;
    try {
      const manifest = (await readManifest(store, key))?.manifest;
      const file = manifest === undefined ? null : resolvePath(manifest, path);
      if (manifest !== undefined && file !== null) found.push({ manifest, file });
    } catch (error) {
      if (!isCorrupt(error)) throw error;
      unreadable ??= error; // one bad manifest does not hide what the others know
    }
  }
  if (found.length === 0 && unreadable !== undefined) throw unreadable;
  return [...found.filter(isOwn), ...found.filter((entry) => !isOwn(entry))];
}

/** The file that a path names in a turn, or null: its last entry, whatever its state. See `normalizePath`. */
export function resolvePath(manifest: Manifest, path: string): ManifestFile | null {
  const wanted = normalizePath(path);
  if (wanted === null) return null;
  return manifest.files.findLast((file) => file.path === wanted) ?? null;
}

/** A path below `/sandbox` without `.`, `..` and doubled slashes; null where it leads out. Relative ones begin there. */
export function normalizePath(path: string): string | null {
  const normal = posix.resolve('/sandbox', path);
  return normal.startsWith('/sandbox/') && !normal.includes('\0') ? normal : null;
}

function isCorrupt(error: unknown): error is LongshoreError {
  return error instanceof LongshoreError && error.type === 'BlobCorrupt';
}

function isOwn({ manifest, file }: FoundFile): boolean {
  return file.origin === manifest.turn.workflowId;
}

function isOfWorkflow(key: string, workflowId: string): boolean {
  return key.slice(key.lastIndexOf('/') + 1) === objectKey(sha256Hex, workflowId);
}

interface ReadManifest {
  readonly manifest: Manifest;
  readonly etag: string;
  readonly text: string;
}

/** Manifests by key, good as long as the store's etag is theirs: parsing one of 1,000 files takes 3 ms. */
const parsed = new WeakMap<FileStore, LRUCache<string, ReadManifest>>();
const REMEMBERED_MANIFESTS = 32;

function remember(store: FileStore, key: string, read: ReadManifest): ReadManifest {
  const manifests = parsed.get(store) ?? new LRUCache<string, ReadManifest>({ max: REMEMBERED_MANIFESTS });
  manifests.set(key, read);
  parsed.set(store, manifests);
  return read;
}

async function readManifest(store: FileStore, key: string): Promise<ReadManifest | null> {
  const stored = await store.getObject(key);
  if (stored === null) return null;
  const known = parsed.get(store)?.get(key);
  if (known?.etag === stored.etag) return known;
  const text = new TextDecoder().decode(stored.body);
  try {
    const manifest = parseManifest(text);
    if (manifestKey(manifest.turn) !== key) throw new Error(`it is the one of turn ${manifest.turn.workflowId}`);
    return remember(store, key, { manifest, etag: stored.etag, text });
  } catch (error) {
    throw new LongshoreError(
      'BlobCorrupt',
      `The manifest \`${key}\` in the ${store.description} cannot be read: ${messageOf(error)}.`,
      'Use the Longshore version that wrote it, or bring the object back from a copy of the store.',
      { cause: error },
    );
  }
}
