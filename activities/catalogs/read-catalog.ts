// Catalogs as they stand in the store, read once: a turn's is looked at with every step, and a server's with every call.
import { LRUCache } from 'lru-cache';
import type { Catalog } from '../../shared/catalog.ts';
import type { BlobRef, FileStore } from '../../shared/file-store.ts';

/** Bytes of JSON kept as values: the largest catalogs known have some 7 MB. */
const CACHE_BYTES = 48 * 1024 * 1024;
const MOST_CATALOGS = 256;

/** Gives a catalog by its reference. Raises `BlobMissing`, `BlobCorrupt`, `StoreUnavailable`. */
export type ReadCatalog = (ref: BlobRef) => Promise<Catalog>;

/** A reader with a cache over one store. */
export function createCatalogReader(store: FileStore): ReadCatalog {
  const catalogs = new LRUCache<string, Promise<Catalog>>({
    max: MOST_CATALOGS,
    maxSize: CACHE_BYTES,
    sizeCalculation: () => 1,
  });
  return (ref) => {
    const cached = catalogs.get(ref.sha256);
    if (cached) return cached;
    const reading = read(store, ref);
    catalogs.set(ref.sha256, reading, { size: Math.max(1, ref.bytes) });
    reading.catch(() => catalogs.delete(ref.sha256));
    return reading;
  };
}

async function read(store: FileStore, ref: BlobRef): Promise<Catalog> {
  // The blob is verified by hash, and only Activities that list tools make catalogs.
  return JSON.parse(Buffer.from(await store.readBlob(ref.sha256)).toString('utf8')) as Catalog;
}
