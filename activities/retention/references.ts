// What a turn refers to: files, the chain of its transcript, and every blob named in what those hold. References are found by
// their form, `{sha256, bytes}`, wherever they stand: a form that a later version adds is kept too.
import { CATALOG_RECORDS } from '../../shared/catalog-record.ts';
import { sha256Hex } from '../../shared/digest.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { objectKey, type BlobRef, type FileStore } from '../../shared/file-store.ts';
import { isHeldBy, type Hold } from '../../shared/holds.ts';
import type { Manifest } from '../../shared/manifest.ts';
import type { SweepProblem } from '../../shared/sweep.ts';

/** Larger blobs are content, and no list of references. */
const LIST_BYTES = 4 * 1024 * 1024;

/** A collection of hashes, with what went wrong on the way. */
export interface References {
  readonly hashes: Set<string>;
  /** Transcript segments whose chain was followed already. */
  readonly walked: Set<string>;
  readonly problems: SweepProblem[];
  /** Problems after which it is not known what an open turn refers to. */
  blocking: number;
}

/** An empty collection. */
export function noReferences(): References {
  return { hashes: new Set(), walked: new Set(), problems: [], blocking: 0 };
}

/** What a manifest is asked with. */
export interface ReferenceContext {
  readonly store: FileStore;
  readonly holds: readonly Hold[];
  /** Journals and lists are read too, and a broken transcript stops the sweep. */
  readonly isOpen: boolean;
}

/** Adds all that a turn refers to. Raises `StoreFull`, `StoreUnavailable`. */
export async function addManifest(into: References, manifest: Manifest, context: ReferenceContext): Promise<void> {
  const { session, workflowId } = manifest.turn;
  for (const file of manifest.files) {
    const isHeld = context.holds.some((hold) => isHeldBy(hold, { session, workflowId, path: file.path }));
    // A superseded path answers with the newer file's bytes: its own are needed by nobody.
    if (file.state !== 'deleted' && (file.state !== 'superseded' || isHeld)) into.hashes.add(file.sha256);
  }
  await addChain(into, manifest.head, context);
  for (const ref of manifest.refs ?? []) {
    into.hashes.add(ref.sha256);
    if (context.isOpen) await addListed(into, ref, context.store);
  }
  if (context.isOpen) await addJournals(into, workflowId, context.store);
}

/**
 * Adds the catalogs that records of tool servers name. One that cannot be read stops the sweep: what it names is not known.
 * Raises `StoreUnavailable`.
 */
export async function addCatalogRecords(into: References, store: FileStore): Promise<void> {
  for await (const key of store.listObjects(CATALOG_RECORDS)) {
    const stored = await store.getObject(key);
    if (stored === null) continue;
    const record = parseJson(stored.body);
    if (record === null) unreadableRecord(into, key);
    for (const { sha256 } of refsIn(record)) into.hashes.add(sha256);
  }
}

function unreadableRecord(into: References, key: string): void {
  into.blocking += 1;
  into.problems.push({
    type: 'BlobCorrupt',
    message: `The record of a tool server's catalogs \`${key}\` is no JSON: what it refers to is not known`,
    mend: 'The next listing of that server begins it anew; or delete the object.',
  });
}

async function addChain(into: References, head: BlobRef | null, context: ReferenceContext): Promise<void> {
  for (let cursor = head; cursor !== null;) {
    if (into.walked.has(cursor.sha256)) return;
    into.walked.add(cursor.sha256);
    into.hashes.add(cursor.sha256);
    const ref = cursor;
    const segment = await readJson(context.store, ref.sha256).catch((error: unknown) => {
      brokenChain(into, ref, context, error);
      return null;
    });
    for (const { sha256 } of refsIn(segment)) into.hashes.add(sha256);
    cursor = previousOf(segment);
  }
}

/** What a call's answer refers to, of which the Workflow may not have heard yet. */
async function addJournals(into: References, workflowId: string, store: FileStore): Promise<void> {
  for await (const key of store.listObjects(objectKey(sha256Hex, 'journal', workflowId))) {
    if (!key.endsWith('/answered')) continue;
    const stored = await store.getObject(key);
    if (stored === null) continue;
    const refs = refsIn(parseJson(stored.body));
    for (const ref of refs) {
      into.hashes.add(ref.sha256);
      await addListed(into, ref, store);
    }
  }
}

/** Some references lead to lists of further ones. */
async function addListed(into: References, ref: BlobRef, store: FileStore): Promise<void> {
  if (ref.bytes > LIST_BYTES) return;
  try {
    for (const listed of refsIn(await readJson(store, ref.sha256))) into.hashes.add(listed.sha256);
  } catch (error) {
    if (error instanceof LongshoreError && error.retryable) throw error;
    // Gone or damaged: whoever reads it is told; it keeps nothing else.
  }
}

/** Every `{sha256, bytes}` in a value, at any depth. */
export function* refsIn(value: unknown): Generator<BlobRef> {
  const stack: unknown[] = [value];
  while (stack.length > 0) {
    const item = stack.pop();
    if (typeof item !== 'object' || item === null) continue;
    const { sha256, bytes } = item as { readonly sha256?: unknown; readonly bytes?: unknown };
    if (typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)) {
      yield { sha256, bytes: typeof bytes === 'number' ? bytes : 0 };
    }
    for (const inner of Object.values(item)) stack.push(inner);
  }
}

async function readJson(store: FileStore, sha256: string): Promise<unknown> {
  return parseJson(await store.readBlob(sha256));
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'));
  } catch {
    return null; // no JSON: no list of references
  }
}

function previousOf(segment: unknown): BlobRef | null {
  if (typeof segment !== 'object' || segment === null || !('previous' in segment)) return null;
  const [ref] = refsIn(segment.previous);
  return ref ?? null;
}

/** Of an open turn the rest of the chain is unknown, and might be deleted: nothing is, until somebody has mended it. */
function brokenChain(into: References, ref: BlobRef, { isOpen }: ReferenceContext, error: unknown): void {
  if (!(error instanceof LongshoreError) || error.retryable) throw error;
  if (isOpen) into.blocking += 1;
  into.problems.push({
    type: 'TranscriptBroken',
    message: `The transcript segment ${ref.sha256} of ${isOpen ? 'an open' : 'a closed'} turn cannot be read: ${error.message}`,
    mend: 'Restore the blob of that hash in the file store, or cancel the turn.',
  });
}
