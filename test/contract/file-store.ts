// What every driver of the file store must do, as one suite. Drivers run it with a store of their own; what only one
// driver can be asked (modes of files, killed processes, full disks) stands in that driver's own tests.
import { createHash, randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { markKey, markShard, readIntent, shardOf } from '../../activities/store/intents.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { objectKey, type FileStore } from '../../shared/file-store.ts';

/** A store for one test: `reopen` gives a second one on the same data, as another process would have it. */
export interface StoreUnderTest {
  readonly store: FileStore;
  reopen(): Promise<FileStore>;
  /** Alters a blob behind the store's back; its length stays. */
  damage(sha256: string): Promise<void>;
  cleanUp(): Promise<void>;
}

/** The hash that blobs are named by. */
export function sha256Of(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** The type of the catalogue error a promise fails with; `resolved` or the message where it fails otherwise. */
export async function failureOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return 'resolved';
  } catch (error) {
    return error instanceof LongshoreError ? error.type : String(error);
  }
}

/** All that an iterable gives. */
export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

/** Content in chunks of a size, in a buffer that is used again for each, as streams do. */
export async function* inChunks(content: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(size);
  for (let at = 0; at < content.byteLength; at += size) {
    const part = content.subarray(at, at + size);
    buffer.set(part);
    yield buffer.subarray(0, part.byteLength);
  }
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const keyOf = (...segments: readonly string[]): string => objectKey((text) => sha256Of(bytesOf(text)), ...segments);

/** Runs the suite. `makeStore` gives an empty store each time. */
export function fileStoreContract(name: string, makeStore: () => Promise<StoreUnderTest>): void {
  describe(`${name}: the file store's contract`, () => {
    let under: StoreUnderTest;
    let store: FileStore;
    beforeEach(async () => {
      under = await makeStore();
      store = under.store;
    });
    afterEach(async () => under.cleanUp());

    describe('blobs', () => {
      const MB = 1_000_000;
      // 21 and 60 MB: texts above 20 MB were lost elsewhere.
      test.each([0, 1, 1000, 200_000, 5 * MB, 20 * MB, 21 * MB, 60 * MB])(
        '%i bytes are whole in the store, from bytes and from a stream, with and without a measurement',
        async (size) => {
          const content = randomBytes(size);
          const ref = { sha256: sha256Of(content), bytes: size };
          expect(await store.putBlob(content)).toEqual(ref);
          expect(await store.statBlob(ref.sha256)).toEqual(ref);
          const again = await under.reopen();
          expect(Buffer.compare(await again.readBlob(ref.sha256), content)).toBe(0);
          expect(Buffer.compare(Buffer.concat(await collect(again.streamBlob(ref.sha256))), content)).toBe(0);
          await store.deleteBlob(ref.sha256);
          expect(await store.putBlob(inChunks(content, 70_001), ref)).toEqual(ref);
          expect(Buffer.compare(await again.readBlob(ref.sha256), content)).toBe(0);
          expect(await store.putBlob(content, ref)).toEqual(ref);
          expect(await collect(store.listBlobs())).toMatchObject([ref]);
        },
      );

      test('a blob that differs from its measurement is refused, and nothing of it is visible', async () => {
        for (const size of [10, 2 * MB]) {
          const content = randomBytes(size);
          const wrongHash = { sha256: sha256Of(bytesOf('other')), bytes: size };
          const wrongSize = { sha256: sha256Of(content), bytes: size + 1 };
          for (const expected of [wrongHash, wrongSize]) {
            expect(await failureOf(store.putBlob(content, expected))).toBe('BlobCorrupt');
            expect(await failureOf(store.putBlob(inChunks(content, 1000), expected))).toBe('BlobCorrupt');
          }
        }
        expect(await collect(store.listBlobs())).toEqual([]);
      });

      test.each([1, 100, 2 * MB])(
        'a blob of %i bytes that was damaged at unchanged length is whole again once its content is put again',
        async (size) => {
          const content = randomBytes(size);
          const ref = { sha256: sha256Of(content), bytes: size };
          const writers = [
            async (to: FileStore) => to.putBlob(content),
            async (to: FileStore) => to.putBlob(content, ref),
            async (to: FileStore) => to.putBlob(inChunks(content, 70_001), ref),
          ];
          for (const put of writers) {
            for (const to of [store, await under.reopen()]) {
              await put(to);
              await put(to); // looked at once, and to be looked at anew below
              await under.damage(ref.sha256);
              expect(await failureOf(store.readBlob(ref.sha256))).toBe('BlobCorrupt');
              expect(await put(to)).toEqual(ref);
              expect(Buffer.compare(await store.readBlob(ref.sha256), content)).toBe(0);
              expect(await collect(store.listBlobs())).toMatchObject([ref]);
            }
          }
        },
      );

      test('a source that fails passes its error on, and nothing of it is visible', async () => {
        async function* broken(chunks: number): AsyncGenerator<Uint8Array> {
          for (let i = 0; i < chunks; i += 1) yield new Uint8Array(300_000);
          throw Object.assign(new Error('the source broke'), { code: 'ENOSPC' });
        }
        for (const chunks of [0, 1, 10]) {
          await expect(store.putBlob(broken(chunks))).rejects.toThrow(/^the source broke$/);
        }
        expect(await collect(store.listBlobs())).toEqual([]);
      });

      test('a range is the bytes from its start up to, not including, its end, cut to the blob', async () => {
        const content = randomBytes(700_000);
        const { sha256 } = await store.putBlob(content);
        const edge = fc.nat(710_000);
        await fc.assert(
          fc.asyncProperty(edge, edge, fc.boolean(), async (a, b, open) => {
            const start = Math.min(a, b);
            const range = open ? { start } : { start, end: Math.max(a, b) };
            const wanted = content.subarray(start, range.end);
            expect(Buffer.compare(await store.readBlob(sha256, range), wanted)).toBe(0);
            expect(Buffer.compare(Buffer.concat(await collect(store.streamBlob(sha256, range))), wanted)).toBe(0);
          }),
          { numRuns: 40 },
        );
        for (const range of [{ start: -1 }, { start: 2, end: 1 }, { start: 0.5 }, { start: Number.NaN }]) {
          expect(await failureOf(store.readBlob(sha256, range))).toBe('Internal');
        }
      });

      test('what is not there is missing, has no size, and can be deleted', async () => {
        const sha256 = sha256Of(bytesOf('nothing'));
        expect(await failureOf(store.readBlob(sha256))).toBe('BlobMissing');
        expect(await failureOf(store.readBlob(sha256, { start: 0 }))).toBe('BlobMissing');
        expect(await failureOf(collect(store.streamBlob(sha256)))).toBe('BlobMissing');
        expect(await store.statBlob(sha256)).toBeNull();
        await store.deleteBlob(sha256);
        expect(await collect(store.listBlobs())).toEqual([]);
        const ref = await store.putBlob(bytesOf('x'));
        await store.deleteBlob(ref.sha256);
        await store.deleteBlob(ref.sha256);
        expect(await failureOf(store.readBlob(ref.sha256))).toBe('BlobMissing');
      });

      test('many are removed together, where the driver can, those that are not there too', async () => {
        const refs = await Promise.all(['a', 'b', 'c'].map((text) => store.putBlob(bytesOf(text))));
        const going = [...refs.slice(1).map(({ sha256 }) => sha256), 'f'.repeat(64)];
        await (store.deleteBlobs?.(going) ?? Promise.all(going.map((sha256) => store.deleteBlob(sha256))));
        expect(await collect(store.listBlobs())).toMatchObject([refs[0]]);
        await store.deleteBlobs?.([]);
        expect(await failureOf(store.deleteBlobs?.(['../x']) ?? store.deleteBlob('../x'))).toBe('Internal');
      });

      test('what is no SHA-256 is refused before anything is looked up', async () => {
        for (const sha256 of ['', '../../etc/passwd', 'A'.repeat(64), 'a'.repeat(63), `${'a'.repeat(63)}/`]) {
          expect(await failureOf(store.readBlob(sha256))).toBe('Internal');
          expect(await failureOf(store.statBlob(sha256))).toBe('Internal');
          expect(await failureOf(store.deleteBlob(sha256))).toBe('Internal');
        }
      });

      test('a stream that is left early can be left, and the blob can be deleted', async () => {
        const { sha256 } = await store.putBlob(randomBytes(3 * MB));
        for await (const chunk of store.streamBlob(sha256)) {
          expect(chunk.byteLength).toBeGreaterThan(0);
          break;
        }
        await store.deleteBlob(sha256);
        expect(await store.statBlob(sha256)).toBeNull();
      });

      test('many writers of the same and of different blobs at once all succeed', async () => {
        const contents = Array.from({ length: 20 }, (_, i) => randomBytes(100 + i * 10_000));
        const other = await under.reopen();
        await Promise.all([...contents, ...contents].map(async (content) => store.putBlob(content)));
        await Promise.all(contents.map(async (content) => other.putBlob(inChunks(content, 999))));
        const listed = await collect(store.listBlobs());
        expect(listed.map((ref) => ref.sha256).sort()).toEqual(contents.map(sha256Of).sort());
        for (const content of contents) {
          expect(Buffer.compare(await other.readBlob(sha256Of(content)), content)).toBe(0);
        }
      });

      test('a listing shows when each blob was written, and the part of it that a prefix names', async () => {
        const before = Date.now();
        const refs = [];
        for (let i = 0; i < 40; i += 1) refs.push(await store.putBlob(bytesOf(`listed ${i}`)));
        const prefix = refs[0]?.sha256.slice(0, 2) ?? '';
        const listed = await collect(store.listBlobs());
        expect(listed.map((blob) => blob.sha256).sort()).toEqual(refs.map((ref) => ref.sha256).sort());
        // The store's clock need not be this machine's.
        for (const { modifiedMs } of listed) expect(Math.abs(modifiedMs - before)).toBeLessThan(600_000);
        const part = (await collect(store.listBlobs(prefix))).map((blob) => blob.sha256);
        expect(part.sort()).toEqual(
          listed
            .map((blob) => blob.sha256)
            .filter((sha) => sha.startsWith(prefix))
            .sort(),
        );
        expect(await collect(store.listBlobs(prefix === 'ff' ? 'fe' : 'ff'))).toEqual(
          listed.filter((blob) => blob.sha256.startsWith(prefix === 'ff' ? 'fe' : 'ff')),
        );
      });

      test.each([
        ['small, from bytes', 1000, (content: Uint8Array) => content],
        ['large, from bytes', 2 * MB, (content: Uint8Array) => content],
        ['from a stream', 2 * MB, (content: Uint8Array) => inChunks(content, 70_001)],
      ] as const)('content that is there already is relied on only with an intent: %s', async (_, size, source) => {
        const content = randomBytes(size);
        const ref = await store.putBlob(source(content));
        expect(await readIntent(store, ref.sha256)).toBeNull();
        expect(await store.putBlob(source(content))).toEqual(ref);
        expect(Math.abs(((await readIntent(store, ref.sha256)) ?? 0) - Date.now())).toBeLessThan(60_000);
      });

      test.each([
        ['small, from bytes', 1000, (content: Uint8Array) => content],
        ['from a stream', 2 * MB, (content: Uint8Array) => inChunks(content, 70_001)],
      ] as const)(
        'a writer waits for a sweep that deletes its content, then writes it anew: %s',
        async (_, size, source) => {
          const content = randomBytes(size);
          const ref = await store.putBlob(source(content));
          const sweeper = await under.reopen();
          const mark = await markShard(sweeper, shardOf(ref.sha256), 'sweep');
          expect(await readIntent(sweeper, ref.sha256)).toBeNull();
          const writing = store.putBlob(source(content));
          while ((await readIntent(sweeper, ref.sha256)) === null) await new Promise(setImmediate);
          await sweeper.deleteBlob(ref.sha256);
          await mark?.release();
          expect(await writing).toEqual(ref);
          expect(Buffer.compare(await sweeper.readBlob(ref.sha256), content)).toBe(0);
        },
      );

      test('one of many sweeps marks a part of the store, and the mark of one that died is taken over', async () => {
        const stores = [store, await under.reopen()];
        const marks = await Promise.all(
          Array.from({ length: 8 }, async (_, i) => markShard(stores[i % 2] ?? store, 'ab', `sweep ${i}`)),
        );
        const won = marks.filter((mark) => mark !== null);
        expect(won.length).toBe(1);
        expect(await markShard(store, 'ab', 'another')).toBeNull();
        const later = {
          now: () => Date.now() + 10 * 60_000,
          monotonic: () => performance.now(),
          sleep: async () => {},
        };
        const next = await markShard(store, 'ab', 'another', later);
        await won[0]?.release(); // by now another's: it stays
        expect(await store.getObject(markKey('ab'))).not.toBeNull();
        await next?.release();
        expect(await store.getObject(markKey('ab'))).toBeNull();
      });

      // Counted in turns and not in time, which a busy machine stretches: half a megabyte is hashed in 0.4 ms.
      test('writing and reading 50 MB gives the event loop a turn at least at every megabyte', async () => {
        const content = randomBytes(50 * MB);
        const ref = { sha256: sha256Of(content), bytes: content.byteLength };
        const turnsDuring = async (work: () => Promise<unknown>): Promise<number> => {
          let turns = 0;
          let done = false;
          const turn = (): void => {
            turns += 1;
            if (!done) setImmediate(turn);
          };
          setImmediate(turn);
          await work();
          done = true;
          return turns;
        };
        expect(await turnsDuring(() => store.putBlob(content, ref))).toBeGreaterThanOrEqual(50);
        expect(await turnsDuring(() => store.readBlob(ref.sha256))).toBeGreaterThanOrEqual(50);
        await store.deleteBlob(ref.sha256);
        expect(await turnsDuring(() => store.putBlob(inChunks(content, 10_000)))).toBeGreaterThanOrEqual(50);
      });
    });

    describe('named objects', () => {
      test('are read back as written, and what is not there is null', async () => {
        const key = keyOf('manifests', 'session', 'turn');
        expect(await store.getObject(key)).toBeNull();
        const { etag } = await store.putObject(key, bytesOf('one'));
        expect(await (await under.reopen()).getObject(key)).toEqual({ body: bytesOf('one'), etag });
        const large = new Uint8Array(randomBytes(3_000_000));
        await store.putObject(key, large);
        expect(Buffer.compare((await store.getObject(key))?.body ?? bytesOf(''), large)).toBe(0);
        await store.putObject(key, new Uint8Array(0));
        expect((await store.getObject(key))?.body.byteLength).toBe(0);
        await store.deleteObject(key);
        await store.deleteObject(key);
        expect(await store.getObject(key)).toBeNull();
      });

      test('change their etag with every write, of the same body too', async () => {
        const etags = new Set<string>();
        for (let i = 0; i < 10; i += 1) etags.add((await store.putObject('k', bytesOf('same'))).etag);
        expect(etags.size).toBe(10);
      });

      test('are written under a condition only when it holds', async () => {
        const first = await store.putObject('a/b', bytesOf('1'), { ifAbsent: true });
        expect(await failureOf(store.putObject('a/b', bytesOf('2'), { ifAbsent: true }))).toBe('StoreConflict');
        const second = await store.putObject('a/b', bytesOf('3'), { ifMatch: first.etag });
        expect(await failureOf(store.putObject('a/b', bytesOf('4'), { ifMatch: first.etag }))).toBe('StoreConflict');
        expect(await store.getObject('a/b')).toEqual({ body: bytesOf('3'), etag: second.etag });
        await store.deleteObject('a/b');
        expect(await failureOf(store.putObject('a/b', bytesOf('5'), { ifMatch: second.etag }))).toBe('StoreConflict');
        expect(await failureOf(store.putObject('never', bytesOf('5'), { ifMatch: second.etag }))).toBe('StoreConflict');
        await store.putObject('a/b', bytesOf('6'), { ifAbsent: true });
        expect(await collect(store.listObjects(''))).toEqual(['a/b']);
      });

      test('are removed together, and listed with their times, where the driver can', async () => {
        const begun = Date.now();
        const keys = ['t', 't/a', 't/b/c', 't/d', 'u'];
        for (const key of keys) await store.putObject(key, bytesOf(key));
        const listed = await collect(store.listObjectTimes?.('t') ?? none());
        const below = ['t/a', 't/b/c', 't/d'];
        expect(listed.map(({ key }) => key)).toEqual(store.listObjectTimes ? below : []);
        // Clocks of servers count in whole seconds.
        for (const { modifiedMs } of listed) expect(Math.abs(modifiedMs - begun)).toBeLessThan(60_000);
        expect((await collect(store.listObjectTimes?.('') ?? none())).length).toBe(store.listObjectTimes ? 5 : 0);
        const going = ['t/a', 't/b/c', 'none'];
        await (store.deleteObjects?.(going) ?? Promise.all(going.map((key) => store.deleteObject(key))));
        expect(await collect(store.listObjects(''))).toEqual(['t', 't/d', 'u']);
        await store.deleteObjects?.([]);
      });

      test('let exactly one of many racing writers win each condition', async () => {
        const stores = [store, await under.reopen()];
        const race = async (condition: { ifAbsent: true } | { ifMatch: string }): Promise<readonly string[]> =>
          Promise.all(
            Array.from({ length: 20 }, async (_, i) =>
              failureOf((stores[i % 2] ?? store).putObject('raced', bytesOf(String(i)), condition)),
            ),
          );
        const expected = ['resolved', ...Array.from({ length: 19 }, () => 'StoreConflict')].sort();
        expect([...(await race({ ifAbsent: true }))].sort()).toEqual(expected);
        for (let round = 0; round < 5; round += 1) {
          const etag = (await store.getObject('raced'))?.etag ?? '';
          expect([...(await race({ ifMatch: etag }))].sort()).toEqual(expected);
        }
      });

      test('are listed by whole segments of their prefix, sorted', async () => {
        const keys = ['a', 'a-b/c', 'a/b', 'a/b/c', 'a/bc', 'a.b/c', 'a0', 'b/a'];
        for (const key of keys) await store.putObject(key, bytesOf(key));
        expect(await collect(store.listObjects(''))).toEqual([...keys].sort());
        expect(await collect(store.listObjects('a'))).toEqual(['a', 'a/b', 'a/b/c', 'a/bc']);
        expect(await collect(store.listObjects('a/'))).toEqual(['a', 'a/b', 'a/b/c', 'a/bc']);
        expect(await collect(store.listObjects('a/b'))).toEqual(['a/b', 'a/b/c']);
        expect(await collect(store.listObjects('c'))).toEqual([]);
      });

      test('of distinct names stay distinct, whatever is in the names', async () => {
        const segment = fc.oneof(
          fc.string({ unit: 'binary', maxLength: 200 }),
          fc.constantFrom('', '.', '..', '...', '/', 'a/b', '\0', '\uD800', '\uDFFF', '%', '%2E', 'x'.repeat(5000)),
        );
        await fc.assert(
          fc.asyncProperty(
            fc.uniqueArray(
              fc.array(segment, { minLength: 1, maxLength: 3 }).map((s) => JSON.stringify(s)),
              { maxLength: 5 },
            ),
            async (names) => {
              const fresh = await makeStore();
              const entries = names.map((name) => ({ name, key: keyOf(...(JSON.parse(name) as string[])) }));
              for (const { key, name } of entries) await fresh.store.putObject(key, bytesOf(name));
              for (const { key, name } of entries)
                expect((await fresh.store.getObject(key))?.body).toEqual(bytesOf(name));
              expect(await collect(fresh.store.listObjects(''))).toEqual(entries.map(({ key }) => key).sort());
              await fresh.cleanUp();
            },
          ),
          { numRuns: 30 },
        );
      });

      test('behave as a map does, whatever is done to them in whatever order', async () => {
        const key = fc.constantFrom('a', 'a/b', 'a/b/c', 'd');
        const body = fc.string({ maxLength: 5 });
        const act = fc.oneof(
          fc.record({ type: fc.constant('put' as const), key, body }),
          fc.record({ type: fc.constant('putIfAbsent' as const), key, body }),
          fc.record({ type: fc.constant('putIfMatch' as const), key, body, stale: fc.boolean() }),
          fc.record({ type: fc.constant('delete' as const), key, body }),
        );
        await fc.assert(
          fc.asyncProperty(fc.array(act, { maxLength: 12 }), async (acts) => {
            const fresh = await makeStore();
            const model = new Map<string, { readonly body: string; readonly etag: string }>();
            const write = async (at: string, text: string, condition: object, holds: boolean): Promise<void> => {
              const put = fresh.store.putObject(at, bytesOf(text), condition);
              expect(await failureOf(put)).toBe(holds ? 'resolved' : 'StoreConflict');
              if (holds) model.set(at, { body: text, etag: (await put).etag });
            };
            for (const step of acts) {
              const current = model.get(step.key);
              if (step.type === 'put') await write(step.key, step.body, {}, true);
              if (step.type === 'putIfAbsent')
                await write(step.key, step.body, { ifAbsent: true }, current === undefined);
              if (step.type === 'putIfMatch') {
                const ifMatch = step.stale ? '0'.repeat(16) : (current?.etag ?? 'none');
                await write(step.key, step.body, { ifMatch }, current !== undefined && !step.stale);
              }
              if (step.type === 'delete') {
                await fresh.store.deleteObject(step.key);
                model.delete(step.key);
              }
            }
            for (const [at, { body: text, etag }] of model) {
              expect(await fresh.store.getObject(at)).toEqual({ body: bytesOf(text), etag });
            }
            expect(await collect(fresh.store.listObjects(''))).toEqual([...model.keys()].sort());
            await fresh.cleanUp();
          }),
          { numRuns: 25 },
        );
      });

      test('are not read, written or removed under what is no key', async () => {
        for (const key of ['', '/', 'a//b', '../a', 'a/../b', '.', 'a/.', 'a b', 'a@', 'a\0', '/etc/passwd']) {
          expect(await failureOf(store.getObject(key))).toBe('Internal');
          expect(await failureOf(store.putObject(key, bytesOf('')))).toBe('Internal');
          expect(await failureOf(store.deleteObject(key))).toBe('Internal');
        }
      });
    });

    test('a store that nothing was written to is empty', async () => {
      expect(await collect(store.listBlobs())).toEqual([]);
      expect(await collect(store.listObjects(''))).toEqual([]);
      expect(store.description).not.toBe('');
    });
  });
}

async function* none(): AsyncGenerator<never> {}
