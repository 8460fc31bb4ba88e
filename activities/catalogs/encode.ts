// A catalog as bytes, and its hash. The largest known has 6 MB of definitions: it is written in parts, so that the event loop
// goes on in between.
import { createHash } from 'node:crypto';
import { setImmediate as nextLoop } from 'node:timers/promises';
import type { Catalog } from '../../shared/catalog.ts';
import { canonicalJson } from '../../shared/json.ts';

const CHUNK_TOOLS = 64;

/** What is stored, and what tells versions apart. */
export interface EncodedCatalog {
  /** The catalog's canonical JSON. */
  readonly bytes: Uint8Array;
  /** Of what a model can see of it: a deadline that is configured anew is no other version. */
  readonly hash: string;
}

/** Writes a catalog; equal catalogs, equal bytes. */
export async function encodeCatalog({ servers, tools, version }: Catalog): Promise<EncodedCatalog> {
  const words = servers.map(({ description = '', instructions = '', unavailable = '' }) => [
    description,
    instructions,
    unavailable,
  ]);
  const hash = createHash('sha256').update(canonicalJson(words));
  // In the order of canonical JSON.
  const parts = [Buffer.from(`{"servers":${canonicalJson(servers)},"tools":[`)];
  for (let from = 0; from < tools.length; from += CHUNK_TOOLS) {
    if (from > 0) await nextLoop();
    const chunk = tools.slice(from, from + CHUNK_TOOLS).map((tool) => canonicalJson(tool));
    const part = Buffer.from(`${from > 0 ? ',' : ''}${chunk.join(',')}`);
    hash.update(part);
    parts.push(part);
  }
  parts.push(Buffer.from(`],"version":${version}}`));
  return { bytes: Buffer.concat(parts), hash: hash.digest('hex') };
}
