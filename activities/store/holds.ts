// Holds in the store: each an object of its own, so that the manifest keeps its one writer. One hold a target: the last
// one set stands. A hold is written before the one who sets it looks whether the files are still there, and the sweep
// looks for holds again after it let go: whoever is second sees the first.
import { z } from 'zod';
import { sha256Hex } from '../../shared/digest.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { keysBelow, objectKey, type FileStore } from '../../shared/file-store.ts';
import type { Hold, HoldTarget } from '../../shared/holds.ts';

const FOLDER = 'holds';

const holdSchema = z.looseObject({
  version: z.literal(1),
  target: z.discriminatedUnion('type', [
    z.looseObject({ type: z.literal('path'), path: z.string() }),
    z.looseObject({ type: z.literal('turn'), workflowId: z.string() }),
    z.looseObject({ type: z.literal('session'), session: z.string() }),
  ]),
  by: z.string(),
  reason: z.string().exactOptional(),
  since: z.number(),
}) satisfies z.ZodType<Hold>;

/** Sets a hold, in place of one on the same target. */
export async function putHold(store: FileStore, hold: Hold): Promise<void> {
  await store.putObject(holdKey(hold.target), new TextEncoder().encode(JSON.stringify(hold)));
}

/** Takes a hold away; false where there was none. */
export async function removeHold(store: FileStore, target: HoldTarget): Promise<boolean> {
  const key = holdKey(target);
  if ((await store.getObject(key)) === null) return false;
  await store.deleteObject(key);
  return true;
}

/**
 * Every hold. Raises `BlobCorrupt`, naming the key, for one that cannot be read: what it keeps is then unknown, so that
 * nothing may be deleted.
 */
export async function listHolds(store: FileStore): Promise<readonly Hold[]> {
  const holds: Hold[] = [];
  for await (const key of keysBelow(store, FOLDER)) {
    const stored = await store.getObject(key);
    if (stored !== null) holds.push(parseHold(store, key, stored.body)); // else taken away since it was listed
  }
  return holds;
}

function holdKey(target: HoldTarget): string {
  const name = target.type === 'path' ? target.path : target.type === 'turn' ? target.workflowId : target.session;
  return objectKey(sha256Hex, FOLDER, target.type, name);
}

function parseHold(store: FileStore, key: string, body: Uint8Array): Hold {
  try {
    return holdSchema.parse(JSON.parse(new TextDecoder().decode(body)));
  } catch (error) {
    throw new LongshoreError(
      'BlobCorrupt',
      `The hold \`${key}\` in the ${store.description} cannot be read: ${messageOf(error)}.`,
      'Bring the object back from a copy of the store, or set the hold again with `longshore files hold`.',
      { cause: error },
    );
  }
}
