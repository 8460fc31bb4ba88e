// What a path answers once a newer file stands in its place, once it is deleted, and who is said to hold it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findPath, fileDocument } from '../../cli/find-path.ts';
import { updateManifest } from '../../activities/store/manifest.ts';
import { putTombstone } from '../../activities/store/tombstones.ts';
import { holdersOf, holderWords } from '../../shared/file-standing.ts';
import type { Hold } from '../../shared/holds.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';
import { sandboxFiles, type SandboxFiles } from '../support/sandbox-files.ts';

const OLD = '/sandbox/tool-results/t1.0.0-read-0000000000000000.json';
const NEW = '/sandbox/tool-results/t1.0.0-read-1111111111111111.json';
const NEWER = '{"harbour": "open", "berths": [1, 2, 3]}';

let files: SandboxFiles;
beforeEach(async () => {
  files = await sandboxFiles();
  const old = await files.add(OLD, '{"harbour": "closed"}', 'application/json');
  await files.add(NEW, NEWER, 'application/json');
  await change((file) => (file.path === OLD ? { ...file, state: 'superseded', supersededBy: NEW } : file));
  await files.store.deleteBlob(old.sha256);
});
afterEach(() => files.remove());

const change = (each: (file: ManifestFile) => ManifestFile): Promise<Manifest> =>
  updateManifest(files.store, files.context.turn, (manifest) => ({ ...manifest, files: manifest.files.map(each) }));

describe('a superseded path', () => {
  it.each([
    ['read_file', {}, /"open"/],
    ['search_file', { pattern: 'berths' }, /1 match/],
    ['infer_schema', {}, /berths/],
    ['query_json', { query: '$count(berths)' }, /\n3$/],
  ])(
    '[FILE-18] read by %s answers with the newer content, and says so in its first line',
    async (tool, args, wanted) => {
      const { text, isError } = await files.call(tool, { path: OLD, ...args });
      expect(isError).toBe(false);
      expect(text).toMatch(
        /^\[\S+t1\.0\.0-read-0{16}\.json was superseded: call t1\/0\/0 .*newer content, \S+-1{16}\.json\.\]\n/,
      );
      expect(text).toMatch(wanted);
      expect((await files.call(tool, { path: NEW, ...args })).text).not.toContain('superseded');
    },
  );

  it('[FILE-18] stays within the limit of tokens, its note counted', async () => {
    const long = await files.add(NEW.replace('1.json', '2.json'), 'x1y2 '.repeat(20_000));
    await change((file) => (file.path === OLD ? { ...file, supersededBy: long.path } : file));
    const { text } = await files.call('read_file', { path: OLD }, 500);
    expect(text).toMatch(/^\[.*superseded.*\n\[bytes 0 to \d+ of 100,000; go on with offset_bytes \d+\]\n/);
  });

  it('[FILE-18] is found by the command line with what answers for it', async () => {
    const found = await findPath(files.store, OLD, undefined);
    expect(found.answer.path).toBe(NEW);
    expect(fileDocument(found.first, [])).toMatchObject({
      path: OLD,
      state: 'superseded',
      supersededBy: NEW,
      heldBy: [],
    });
    expect(Buffer.from(await files.store.readBlob(found.answer.sha256)).toString()).toBe(NEWER);
  });
});

describe('a deleted file', () => {
  const tombstone = {
    version: 1,
    sha256: 'a'.repeat(64),
    bytes: 7,
    mediaType: 'text/plain',
    callKey: 't1/0/0',
    server: 'fs',
    tool: 'read_text_file',
    origin: 'turn',
    workflowId: 'turn',
    session: 'session',
    deletedAt: 1_700_000_000_000,
    why: 'its retention was over',
  } as const;

  it('[FILE-19] says when and why it went, and how to have its data again', async () => {
    await change((file) => (file.path === NEW ? { ...file, state: 'deleted' } : file));
    await putTombstone(files.store, { ...tombstone, path: NEW });
    const { text, isError } = await files.call('read_file', { path: NEW });
    expect(isError).toBe(true);
    expect(text).toMatch(/was deleted on 2023-11-14.*retention was over.*call t1\/0\/0.*again/);
    await expect(findPath(files.store, NEW, undefined)).rejects.toMatchObject({ type: 'FileDeleted' });
    await expect(findPath(files.store, OLD, undefined)).rejects.toMatchObject({ type: 'FileDeleted' });
    await expect(findPath(files.store, '/sandbox/nothing', undefined)).rejects.toMatchObject({ type: 'FileNotFound' });
  });

  it('[FILE-19] of another session says nothing to this one', async () => {
    const path = '/sandbox/tool-results/t1.0.9-read-2222222222222222.txt';
    await putTombstone(files.store, { ...tombstone, path, origin: 'another', workflowId: 'another' });
    expect((await files.call('read_file', { path })).text).toMatch(/^There is no file/);
  });
});

it('[FILE-19] who holds a file and why is told in words', () => {
  const turn = { workflowId: 'turn', session: 'session', turn: 1 };
  const made = { callKey: 't1/0/0', server: 'fs', tool: 'read', origin: 'turn' };
  const file = { path: NEW, sha256: 'a'.repeat(64), bytes: 1, mediaType: 'text/plain', ...made } as const;
  const open: Manifest = { version: 1, turn, head: null, files: [] };
  const waiting: Manifest = { ...open, waiting: [{ callKey: 't1/1/0', kind: 'approval', since: 1 }] };
  const hold: Hold = { version: 1, target: { type: 'path', path: NEW }, by: 'ann', reason: 'audit', since: 0 };
  const words = (manifest: Manifest, state: ManifestFile['state'], holds: readonly Hold[] = []): readonly string[] =>
    holdersOf(manifest, { ...file, state }, holds).map(holderWords);
  expect(words(open, 'pinned')).toEqual(['turn (open): pinned, since its context refers to call t1/0/0']);
  expect(words(waiting, 'staged')).toEqual(['turn (waiting): held while t1/1/0 waits for a person']);
  expect(words({ ...open, ended: 'completed' }, 'pinned')[0]).toMatch(/\(completed\): pinned until the next sweep/);
  expect(words(open, 'superseded')).toEqual([]);
  expect(words(open, 'released', [hold])).toEqual([`held by ann since 1970-01-01T00:00:00.000Z on \`${NEW}\`: audit`]);
});
