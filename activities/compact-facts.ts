// Keeps what a tool call records in history small: long texts and long lists of blocks go to the store, and history gets
// their references. A step of a thousand calls stays within Temporal's limits that way, and loses nothing.
import type { StagedFacts } from './staging.ts';
import type { BlockFacts } from '../shared/facts.ts';
import type { BlobRef, FileStore } from '../shared/file-store.ts';

/** An inline text above this is kept as a blob; what is staged already is there anyway. Bytes. */
const TEXT_BYTES = 16 * 1024;

/** A list of blocks above this goes by reference. Bytes of its JSON: seven blocks or so. */
const BLOCKS_BYTES = 2 * 1024;

/** The same facts, the large ones by reference. Raises the store's errors. Doing it again changes nothing. */
export async function compactFacts(facts: StagedFacts, store: FileStore): Promise<StagedFacts> {
  return compactBlocks(await compactText(facts, store), store);
}

async function compactText(facts: StagedFacts, store: FileStore): Promise<StagedFacts> {
  const { inlineText, ...rest } = facts;
  if (inlineText === undefined || Buffer.byteLength(inlineText) <= TEXT_BYTES) return facts;
  if (facts.file || facts.inlineBlob) return rest;
  return { ...rest, inlineBlob: await store.putBlob(Buffer.from(inlineText)) };
}

async function compactBlocks(facts: StagedFacts, store: FileStore): Promise<StagedFacts> {
  const text = JSON.stringify(facts.blocks);
  if (Buffer.byteLength(text) <= BLOCKS_BYTES) return facts;
  return { ...facts, blocks: [], blocksRef: await store.putBlob(Buffer.from(text)) };
}

/** The blocks that `compactFacts` put aside. Raises `BlobMissing`, `BlobCorrupt`. */
export async function readBlocks(ref: BlobRef, store: FileStore): Promise<readonly BlockFacts[]> {
  // The blob is verified by hash, and only `compactFacts` makes such references.
  return JSON.parse(Buffer.from(await store.readBlob(ref.sha256)).toString('utf8')) as readonly BlockFacts[];
}
