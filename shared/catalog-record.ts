// What the store keeps of a server's catalogs beyond turns: the last versions of all that it offered, so that a deferred server
// need not be asked what it is, and so that versions can be shown and compared. Source: architecture D12.
import type { BlobRef } from './file-store.ts';

/** One version. The blob is a `Catalog` of this server alone: all of its tools, whatever a spec selects. */
export interface CatalogVersion {
  readonly hash: string;
  readonly ref: BlobRef;
  /** When it was first seen, and last: milliseconds since 1970, by the Worker's clock. */
  readonly firstSeen: number;
  readonly lastSeen: number;
  readonly toolCount: number;
  readonly definitionTokens: number;
  /** As it reaches the model: configured, else the server's own words. */
  readonly description?: string;
}

/** The named object of one server. */
export interface CatalogRecord {
  readonly version: 1;
  readonly server: string;
  /** Newest first, at most `MOST_VERSIONS`; a version that comes back moves to the front. */
  readonly versions: readonly CatalogVersion[];
}

/** Older versions are forgotten. */
export const MOST_VERSIONS = 20;

/** Where records stand in the store. */
export const CATALOG_RECORDS = 'catalogs';
