// The record that the store keeps of a server's catalogs: whoever lists adds to it, and retention keeps what it names.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  catalogRecordKey,
  listCatalogRecords,
  loadCatalogRecord,
  updateCatalogRecord,
  type SeenVersion,
} from '../../activities/catalogs/record.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import { loadManifest } from '../../activities/store/manifest.ts';
import { MOST_VERSIONS } from '../../shared/catalog-record.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { FileStore } from '../../shared/file-store.ts';
import { createCatalogWorld, listedTool, manyTools, specServer } from '../support/catalog-world.ts';
import { createSweepWorld, DAY } from '../support/sweep-world.ts';

async function newStore(): Promise<FileStore> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-records-'));
  onTestFinished(async () => rm(folder, { recursive: true, force: true }));
  return createLocalStore({ folder, namespace: 'default' });
}

const seen = (hash: string): SeenVersion => ({
  hash,
  ref: { sha256: hash.padEnd(64, '0'), bytes: 1 },
  toolCount: 1,
  definitionTokens: 10,
});

describe('the record of a server', () => {
  test('[LOAD-13] has the newest version first, each once, with when it was first and last seen', async () => {
    const store = await newStore();
    for (const [at, hash] of [
      [1, 'a'],
      [100_000, 'b'],
      [200_000, 'a'],
    ] as const)
      await updateCatalogRecord(store, 'shop/..', seen(hash), at);
    const record = await loadCatalogRecord(store, 'shop/..');
    expect(record?.versions.map(({ hash, firstSeen, lastSeen }) => [hash, firstSeen, lastSeen])).toEqual([
      ['a', 1, 200_000],
      ['b', 100_000, 100_000],
    ]);
    for (let at = 1; at < 40; at += 1) await updateCatalogRecord(store, 'shop/..', seen(`c${at}`), 300_000 + at);
    const versions = (await loadCatalogRecord(store, 'shop/..'))?.versions ?? [];
    expect(versions).toHaveLength(MOST_VERSIONS);
    expect(versions[0]?.hash).toBe('c39');
  });

  test('[LOAD-13] keeps what every one of many writers saw at the same time', async () => {
    const store = await newStore();
    const hashes = ['a', 'b', 'c', 'd', 'e', 'f'];
    await Promise.all(hashes.map(async (hash) => updateCatalogRecord(store, 'shop', seen(hash))));
    const record = await loadCatalogRecord(store, 'shop');
    expect(record?.versions.map(({ hash }) => hash).sort()).toEqual(hashes);
  });

  test('[LOAD-13] that cannot be read is named, and begun anew by the next listing', async () => {
    const store = await newStore();
    await store.putObject(catalogRecordKey('shop'), Buffer.from('{"version": 1'));
    await expect(loadCatalogRecord(store, 'shop')).rejects.toMatchObject({ type: 'BlobCorrupt' });
    await updateCatalogRecord(store, 'shop', seen('a'));
    expect((await loadCatalogRecord(store, 'shop'))?.versions).toHaveLength(1);
  });

  test('[LOAD-13] that is damaged where it lies is begun anew too, and hides no other', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'longshore-damaged-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const store = createLocalStore({ folder, namespace: 'default' });
    for (const server of ['shop', 'desk', 'late']) await updateCatalogRecord(store, server, seen('a'));
    const damage = { version: 1, server: 'late', versions: [{ ...seen('a'), firstSeen: 0, lastSeen: 1e300 }] };
    await store.putObject(catalogRecordKey('late'), Buffer.from(JSON.stringify(damage)));
    await writeFile(join(folder, 'default', 'objects', `${catalogRecordKey('shop')}@`), 'nothing');
    const unreadable: LongshoreError[] = [];
    const records = await listCatalogRecords(store, (error) => unreadable.push(error));
    expect(records.map(({ server }) => server)).toEqual(['desk']);
    expect(unreadable.map(({ type }) => type)).toEqual(['BlobCorrupt', 'BlobCorrupt']);
    for (const server of ['shop', 'late']) await updateCatalogRecord(store, server, seen('b'));
    expect(await listCatalogRecords(store, (error) => unreadable.push(error))).toHaveLength(3);
    expect(unreadable).toHaveLength(2);
  });

  test('[LOAD-13] has all that a server offers, whatever a spec selects, and a version for each change', async () => {
    const world = await createCatalogWorld({ shop: { tools: manyTools(3), instructions: 'Sells.' } });
    const input = { turn: world.turn, reason: 'discovery' as const };
    const facts = await world.run('longshoreLoadCatalog', {
      ...input,
      server: specServer('shop', { enable_tools: ['tool_1'] }),
    });
    const record = await loadCatalogRecord(world.store, 'shop');
    const [version] = record?.versions ?? [];
    expect(version).toMatchObject({ toolCount: 3, description: 'Sells.', definitionTokens: expect.any(Number) });
    expect(version?.definitionTokens).toBeGreaterThan(facts.definitionTokens);
    expect(version && (await world.catalog(version.ref)).tools.map(({ tool }) => tool)).toEqual([
      'tool_0',
      'tool_1',
      'tool_2',
    ]);
    // The same again is the same version, also for a spec that selects otherwise.
    await world.run('longshoreLoadCatalog', { ...input, server: specServer('shop') });
    expect((await loadCatalogRecord(world.store, 'shop'))?.versions).toHaveLength(1);
    await world.offer('shop', { tools: [listedTool('new')] });
    const next = await world.run('longshoreLoadCatalog', { ...input, server: specServer('shop'), known: facts.hash });
    expect(next.changedFrom).toBe(facts.hash);
    expect((await loadCatalogRecord(world.store, 'shop'))?.versions.map(({ toolCount }) => toolCount)).toEqual([1, 3]);
  });

  test('[LOAD-13] that the store refuses leaves the turn its catalog', async () => {
    const refusing = (store: FileStore): FileStore => ({
      ...store,
      putObject: async (key, body, condition) => {
        if (key.startsWith('catalogs/')) throw new LongshoreError('StoreUnavailable', 'away', 'wait');
        return store.putObject(key, body, condition);
      },
    });
    const world = await createCatalogWorld({ shop: { tools: manyTools(3) } }, { store: refusing });
    const input = { turn: world.turn, server: specServer('shop'), reason: 'call' as const };
    expect(await world.run('longshoreLoadCatalog', input)).toMatchObject({ toolCount: 3 });
  });
});

describe('retention', () => {
  test('[LOAD-13] keeps the catalogs that records name, and stops at a record that it cannot read', async () => {
    const world = await createSweepWorld();
    onTestFinished(() => world.close());
    const kept = await world.putOrphan('a catalog', Date.now() - 30 * DAY);
    const gone = await world.putOrphan('an orphan', Date.now() - 30 * DAY);
    await updateCatalogRecord(world.store, 'shop', { ...seen('a'), ref: kept });
    expect(await world.sweep()).toMatchObject({ blobsDeleted: 1 });
    expect(await Promise.all([kept, gone].map(world.has))).toEqual([true, false]);
    const other = await world.putOrphan('another', Date.now() - 30 * DAY);
    await world.store.putObject(catalogRecordKey('shop'), Buffer.from('{'));
    const stopped = await world.sweep();
    expect(stopped.blobsDeleted).toBe(0);
    expect(stopped.problems).toMatchObject([{ type: 'BlobCorrupt' }]);
    expect(await world.has(other)).toBe(true);
  });

  test('[LOAD-13] keeps the catalogs of an open turn and of one that waits, and of a closed one as long as its transcript', async () => {
    const world = await createCatalogWorld({});
    const { turn, store } = world;
    const catalogs = await Promise.all(
      ['a', 'b'].map(async (server) => ({ server, hash: server, ref: await store.putBlob(Buffer.from(server)) })),
    );
    const refs = catalogs.map(({ ref }) => ref);
    const commit = { turn, head: null, messages: [], catalogs };
    const pause = { step: 0, waiting: [], staged: [], refs: [] };
    await world.run('longshoreCommitStep', { ...commit, pause });
    expect((await loadManifest(store, turn))?.refs).toEqual(refs);
    await world.run('longshoreCommitStep', { ...commit, ended: 'completed' });
    expect(await loadManifest(store, turn)).toMatchObject({ ended: 'completed', refs });
  });
});
