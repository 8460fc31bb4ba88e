// A writer that finds its blob there, against a sweep that deletes it: every interleaving of their steps on the store, with time
// that the test turns. What a writer was promised is there, whoever was first.
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deleteInShard, sweepRule } from '../../activities/retention/delete-blobs.ts';
import { relyOnBlob, shardOf } from '../../activities/store/intents.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { BlobListing, FileStore, StoredObject } from '../../shared/file-store.ts';

const HOUR = 3_600_000;
const CONTENT = 'content';
const SHA = createHash('sha256').update(CONTENT).digest('hex');

/** Every step on the store waits for its turn; the order is the test's. */
interface Stage {
  readonly store: FileStore;
  readonly blobs: Map<string, BlobListing>;
  /** Lets one waiting step of an actor happen; false where none waits. */
  step(actor: string): Promise<boolean>;
  /** The same store, as one actor has it. */
  as(actor: string): FileStore;
  readonly waiting: Map<string, (() => void)[]>;
}

function createStage(now: () => number): Stage {
  const objects = new Map<string, StoredObject>();
  const blobs = new Map<string, BlobListing>();
  const waiting = new Map<string, (() => void)[]>();
  let etag = 0;
  const no = (): never => {
    throw new Error('not part of the protocol');
  };
  const plain = {
    description: 'stage',
    getObject: async (key) => objects.get(key) ?? null,
    async putObject(key, body, condition = {}) {
      const standing = objects.get(key);
      const holds = condition.ifAbsent
        ? standing === undefined
        : !condition.ifMatch || standing?.etag === condition.ifMatch;
      if (!holds) throw new LongshoreError('StoreConflict', key, '');
      objects.set(key, { body, etag: String(++etag) });
      return { etag: String(etag) };
    },
    deleteObject: async (key) => void objects.delete(key),
    async *listObjects(prefix) {
      yield* [...objects.keys()].filter((key) => key.startsWith(`${prefix}/`)).sort();
    },
    async *listBlobs(prefix = '') {
      yield* [...blobs.values()].filter((blob) => blob.sha256.startsWith(prefix));
    },
    deleteBlob: async (sha256) => void blobs.delete(sha256),
    statBlob: async (sha256) => blobs.get(sha256) ?? null,
    putBlob: async () => {
      const blob = { sha256: SHA, bytes: CONTENT.length, modifiedMs: now() };
      blobs.set(SHA, blob);
      return blob;
    },
    readBlob: no,
    streamBlob: no,
  } satisfies FileStore;
  const turn = (actor: string): Promise<void> =>
    new Promise((resolve) => waiting.set(actor, [...(waiting.get(actor) ?? []), resolve]));
  const as = (actor: string): FileStore => ({
    ...plain,
    getObject: async (...given) => turn(actor).then(() => plain.getObject(...given)),
    putObject: async (...given) => turn(actor).then(() => plain.putObject(...given)),
    deleteObject: async (...given) => turn(actor).then(() => plain.deleteObject(...given)),
    deleteBlob: async (...given) => turn(actor).then(() => plain.deleteBlob(...given)),
    statBlob: async (...given) => turn(actor).then(() => plain.statBlob(...given)),
    putBlob: async () => turn(actor).then(() => plain.putBlob()),
    async *listObjects(...given) {
      await turn(actor);
      yield* plain.listObjects(...given);
    },
    async *listBlobs(...given) {
      await turn(actor);
      yield* plain.listBlobs(...given);
    },
  });
  const step = async (actor: string): Promise<boolean> => {
    const [next, ...rest] = waiting.get(actor) ?? [];
    if (!next) return false;
    waiting.set(actor, rest);
    next();
    // What follows on the step comes to its next one.
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    return true;
  };
  return { store: plain, blobs, step, as, waiting };
}

/** What a driver's `putBlob` does, step by step. */
async function write(store: FileStore, now: () => number): Promise<void> {
  const clock = { now, monotonic: () => 0, sleep: async () => {} };
  const isThere = async (): Promise<boolean> => (await store.statBlob(SHA)) !== null;
  if ((await isThere()) && (await relyOnBlob(store, SHA, isThere, clock))) return;
  await store.putBlob(Buffer.from(CONTENT));
}

const sweep = (store: FileStore, nowMs: number, by: string) =>
  deleteInShard(shardOf(SHA), {
    store,
    by,
    dryRun: false,
    isReferenced: () => false,
    keptBecause: sweepRule({ id: by, nowMs, graceMs: 24 * HOUR, dryRun: false }, null),
  });

async function runAll(
  stage: Stage,
  order: readonly string[],
  actors: Record<string, () => Promise<unknown>>,
): Promise<void> {
  const running = Object.entries(actors).map(async ([name, act]) => [name, await act()]);
  const all = Promise.all(running).then(() => 'done' as const);
  for (const actor of order) await stage.step(actor);
  const turn = (): Promise<'on'> => new Promise((resolve) => setImmediate(resolve, 'on'));
  while ((await Promise.race([all, turn()])) !== 'done') {
    for (const actor of Object.keys(actors)) await stage.step(actor);
  }
}

describe('a writer beside sweeps', () => {
  test('[KEEP-15] has what it was promised, in every order of steps, with two writers and two sweeps', async () => {
    const actor = fc.constantFrom('writer', 'other', 'sweep', 'second');
    await fc.assert(
      fc.asyncProperty(fc.array(actor, { maxLength: 60 }), fc.boolean(), async (order, isThere) => {
        const now = Date.now();
        const stage = createStage(() => now);
        if (isThere) stage.blobs.set(SHA, { sha256: SHA, bytes: 7, modifiedMs: now - 90 * 24 * HOUR });
        await runAll(stage, order, {
          writer: () => write(stage.as('writer'), () => now),
          other: () => write(stage.as('other'), () => now),
          sweep: () => sweep(stage.as('sweep'), now, 'one'),
          second: () => sweep(stage.as('second'), now, 'two'),
        });
        expect(stage.blobs.has(SHA)).toBe(true);
        expect(await stage.store.getObject(`condemned/${shardOf(SHA)}`)).toBeNull();
      }),
      { numRuns: 3_000 },
    );
  });

  test('[KEEP-15] a sweep alone deletes it, so that the test above can fail', async () => {
    const now = Date.now();
    const stage = createStage(() => now);
    stage.blobs.set(SHA, { sha256: SHA, bytes: 7, modifiedMs: now - 90 * 24 * HOUR });
    await runAll(stage, [], { sweep: () => sweep(stage.as('sweep'), now, 'one') });
    expect(stage.blobs.has(SHA)).toBe(false);
  });

  test('[KEEP-15] a sweep that stood still for longer than its mark lives deletes nothing more', async () => {
    const now = Date.now();
    const stage = createStage(() => now);
    stage.blobs.set(SHA, { sha256: SHA, bytes: 7, modifiedMs: now - 90 * 24 * HOUR });
    const realNow = performance.now.bind(performance);
    let later = 0;
    performance.now = () => realNow() + later;
    try {
      const store: FileStore = {
        ...stage.store,
        async *listBlobs(prefix) {
          if ((await stage.store.getObject(`condemned/${shardOf(SHA)}`)) !== null) later = 60_000;
          yield* stage.store.listBlobs(prefix);
        },
      };
      expect(await sweep(store, now, 'one')).toMatchObject({ blobsDeleted: 0, kept: { busy: 1 } });
    } finally {
      performance.now = realNow;
    }
  });
});
