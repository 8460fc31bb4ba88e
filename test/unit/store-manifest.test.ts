// Manifests of turns: written only when changed, never losing another writer's change, and clear about bad ones.
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLocalStore } from '../../activities/store/local.ts';
import {
  findFile,
  listManifests,
  loadManifest,
  manifestKey,
  resolvePath,
  updateManifest,
} from '../../activities/store/manifest.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';

const turn = { workflowId: 'turn/1', session: 'a session', turn: 1 };
const path = '/sandbox/tool-results/t1.0.0-read-0123456789abcdef.json';

function fileOf(origin: string, changes: Partial<ManifestFile> = {}): ManifestFile {
  const made = { state: 'pinned', callKey: 't1/0/0', server: 'fs', tool: 'read', origin } as const;
  return { path, sha256: 'a'.repeat(64), bytes: 5, mediaType: 'text/plain', ...made, ...changes };
}

const addFile =
  (file: ManifestFile) =>
  (manifest: Manifest): Manifest => ({ ...manifest, files: [...manifest.files, file] });

describe('a manifest', () => {
  let folder: string;
  let store: FileStore;
  beforeEach(async () => {
    folder = await fs.promises.mkdtemp(join(os.tmpdir(), 'longshore-manifest-'));
    store = createLocalStore({ folder, namespace: 'default' });
  });
  afterEach(async () => fs.promises.rm(folder, { recursive: true, force: true }));

  test('begins empty and is read back as it was written, by another process too', async () => {
    expect(await loadManifest(store, turn)).toBeNull();
    const empty = { version: 1, turn, head: null, files: [] };
    expect(await updateManifest(store, turn, (current) => current)).toEqual(empty);
    const written = await updateManifest(store, turn, (current) => ({
      ...addFile(fileOf('x'))(current),
      ended: 'done',
    }));
    expect(written).toEqual({ ...empty, files: [fileOf('x')], ended: 'done' });
    expect(await loadManifest(createLocalStore({ folder, namespace: 'default' }), turn)).toEqual(written);
  });

  test('that does not change is not written', async () => {
    await updateManifest(store, turn, addFile(fileOf('x')));
    const before = await store.getObject(manifestKey(turn));
    await updateManifest(store, turn, (current) => ({ ...current, files: [...current.files] }));
    expect(await store.getObject(manifestKey(turn))).toEqual(before);
  });

  test('loses no change when writers race, each with a store of its own', async () => {
    const stores = [store, createLocalStore({ folder, namespace: 'default' })];
    const writers = Array.from({ length: 4 }, (_, i) => `/sandbox/${i}`);
    await Promise.all(
      writers.map(async (name, i) =>
        updateManifest(stores[i % 2] ?? store, turn, addFile(fileOf('x', { path: name }))),
      ),
    );
    const files = (await loadManifest(store, turn))?.files ?? [];
    expect(files.map((file) => file.path).sort()).toEqual(writers);
  });

  test('gives up with StoreConflict when somebody is always faster', async () => {
    const rival = createLocalStore({ folder, namespace: 'default' });
    let tries = 0;
    const racing: FileStore = {
      ...store,
      putObject: async (key, body, condition) => {
        tries += 1;
        await updateManifest(rival, turn, addFile(fileOf('rival', { path: `/sandbox/${tries}` })));
        return store.putObject(key, body, condition);
      },
    };
    await expect(updateManifest(racing, turn, addFile(fileOf('x')))).rejects.toMatchObject({ type: 'StoreConflict' });
    expect(tries).toBe(8);
  });

  test.each([
    ['no JSON', '{'],
    ['a wrong shape', JSON.stringify({ version: 2, turn, head: null, files: [] })],
    ["another turn's", JSON.stringify({ version: 1, turn: { ...turn, workflowId: 'y' }, head: null, files: [] })],
  ])('that is unreadable (%s) is an error that names its key, and is not overwritten', async (_, text) => {
    await store.putObject(manifestKey(turn), new TextEncoder().encode(text));
    const wanted = { type: 'BlobCorrupt', message: expect.stringContaining(manifestKey(turn)) as string };
    await expect(loadManifest(store, turn)).rejects.toMatchObject(wanted);
    await expect(updateManifest(store, turn, (current) => current)).rejects.toMatchObject(wanted);
    await expect(findFile(store, path)).rejects.toMatchObject(wanted);
    expect(new TextDecoder().decode((await store.getObject(manifestKey(turn)))?.body)).toBe(text);
  });

  test('keeps members that a newer version wrote', async () => {
    const newer = { version: 1, turn, head: null, files: [{ ...fileOf('x'), since: 3 }], holds: [1] };
    await store.putObject(manifestKey(turn), new TextEncoder().encode(JSON.stringify(newer)));
    const changed = await updateManifest(store, turn, (current) => ({ ...current, ended: 'done' }));
    expect(changed).toEqual({ ...newer, ended: 'done' });
  });

  test('is found by a file that it knows, the turn that made the file before those that keep it', async () => {
    const later = { ...turn, workflowId: 'a later turn' };
    await updateManifest(store, later, addFile(fileOf(turn.workflowId)));
    await updateManifest(store, turn, addFile(fileOf(turn.workflowId)));
    await updateManifest(store, { ...turn, workflowId: 'other' }, addFile(fileOf('other', { path: '/sandbox/x' })));
    const broken = manifestKey({ ...turn, workflowId: 'broken' });
    await store.putObject(broken, new TextEncoder().encode('{'));
    const owners = async (wanted: string, workflowId?: string): Promise<readonly string[]> =>
      (await findFile(store, wanted, workflowId === undefined ? {} : { workflowId })).map(
        ({ manifest }) => manifest.turn.workflowId,
      );
    expect(await owners(path)).toEqual([turn.workflowId, later.workflowId]);
    expect(await owners('/sandbox/./tool-results/../x')).toEqual(['other']);
    expect(await owners(path, later.workflowId)).toEqual([later.workflowId]);
    expect(await owners(path, 'other')).toEqual([]);
    await store.deleteObject(broken);
    const listed: string[] = [];
    for await (const manifest of listManifests(store)) listed.push(manifest.turn.workflowId);
    expect(listed.sort()).toEqual(['a later turn', 'other', 'turn/1']);
  });

  test('resolves a path to its last entry, and no path that leads out of the sandbox', () => {
    const files = [fileOf('x', { bytes: 1 }), fileOf('x', { bytes: 2 }), fileOf('x', { path: '/sandbox/b' })];
    const manifest: Manifest = { version: 1, turn, head: null, files };
    expect(resolvePath(manifest, path)?.bytes).toBe(2);
    for (const same of ['/sandbox/b', '/sandbox/./b', '/sandbox//b', '/sandbox/a/../b', 'b', './b']) {
      expect(resolvePath(manifest, same)).toBe(files[2]);
    }
    for (const other of ['/sandbox', '/b', '../b', '/sandbox/../b', '/etc/passwd', '', '/sandbox/b\0', '/sandboxb']) {
      expect(resolvePath(manifest, other)).toBeNull();
    }
  });
});
