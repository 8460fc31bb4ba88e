// How files change their state: superseded by what is newer, held while a turn waits, cut off by a reset, kept across turns.
import { describe, expect, it } from 'vitest';
import {
  answeringFile,
  blockOf,
  endTurn,
  enterRun,
  inheritFiles,
  pinFiles,
  saveHead,
  settleStaged,
  stageFile,
  type NewFile,
} from '../../activities/store/manifest-changes.ts';
import { resultPath } from '../../shared/call-key.ts';
import type { Manifest } from '../../shared/manifest.ts';

const turn = { workflowId: 'turn', session: 'turn', turn: 1 };
const empty: Manifest = { version: 1, turn, head: null, run: 'run 1', files: [] };
/** Pins one file. */
const pinFile = (manifest: Manifest, file: NewFile, { supersedes, ...context }: ReturnType<typeof at>): Manifest =>
  pinFiles(manifest, [{ file, supersedes }], context);
const at = (now: number, run = 'run 1') => ({ now, run, supersedes: true });

/** A file of a call, known by one letter. */
function fileOf(letter: string, changes: Partial<NewFile> & { readonly block?: number } = {}): NewFile {
  const { block, ...rest } = changes;
  const callKey = rest.callKey ?? 't1/0/0';
  const sha256 = letter.repeat(64);
  const extension = 'json';
  const path = resultPath({ callKey, tool: 'read', sha256, extension, ...(block !== undefined && { block }) });
  const made = { callKey, server: 'fs', tool: 'read', origin: 'turn' };
  return { path, sha256, bytes: 5, mediaType: 'application/json', ...made, ...rest };
}

const states = (manifest: Manifest): readonly string[] =>
  manifest.files.map(
    (file) => `${file.sha256[0]} ${file.state}${file.supersededBy ? ` by ${file.supersededBy.slice(33, 34)}` : ''}`,
  );
const answer = (manifest: Manifest, letter: string): string | undefined => {
  const entry = manifest.files.find((file) => file.sha256.startsWith(letter));
  return entry && answeringFile(manifest, entry)?.sha256[0];
};

describe('a file that a call leaves', () => {
  it('[FILE-2] supersedes what the same call left before, in one change, and every older path leads to the newest', () => {
    let manifest = pinFile(empty, fileOf('a'), at(1));
    manifest = pinFile(manifest, fileOf('b', { generation: 1 }), at(2));
    manifest = pinFile(manifest, fileOf('c', { generation: 2 }), at(3));
    expect(manifest.files.map((file) => file.state)).toEqual(['superseded', 'superseded', 'pinned']);
    expect(['a', 'b', 'c'].map((letter) => answer(manifest, letter))).toEqual(['c', 'c', 'c']);
  });

  it('[FILE-2] may be the first content again: the path leads to itself, the other one to it', () => {
    let manifest = pinFile(empty, fileOf('a'), at(1));
    manifest = pinFile(manifest, fileOf('b', { generation: 1 }), at(2));
    manifest = pinFile(manifest, fileOf('a', { generation: 2 }), at(3));
    expect(manifest.files.map((file) => file.state)).toEqual(['pinned', 'superseded']);
    expect([answer(manifest, 'a'), answer(manifest, 'b')]).toEqual(['a', 'a']);
  });

  it('[FILE-2] supersedes block by block, and no file that a call wrote under a path of its own', () => {
    let manifest = pinFile(empty, fileOf('a'), at(1));
    manifest = pinFile(manifest, fileOf('b', { block: 1 }), at(1));
    manifest = pinFile(manifest, fileOf('c', { block: 2 }), at(1));
    manifest = pinFile(manifest, fileOf('d', { path: '/sandbox/notes.md' }), at(1));
    expect(states(manifest)).toEqual(['a pinned', 'b pinned', 'c pinned', 'd pinned']);
    manifest = pinFile(manifest, fileOf('e', { block: 1 }), at(2));
    manifest = pinFile(manifest, fileOf('f', { path: '/sandbox/other.md' }), at(2));
    expect(manifest.files.map((file) => file.state)).toEqual([
      'pinned',
      'superseded',
      'pinned',
      'pinned',
      'pinned',
      'pinned',
    ]);
  });

  it('[FILE-2] supersedes nothing where it is an error, of another call, or of another turn', () => {
    const first = pinFile(empty, fileOf('a'), at(1));
    for (const [file, supersedes] of [
      [fileOf('b'), false],
      [fileOf('b', { callKey: 't1/0/1' }), true],
      [fileOf('b', { origin: 'another turn' }), true],
    ] as const) {
      expect(states(pinFile(first, file, { ...at(2), supersedes }))).toEqual(['a pinned', 'b pinned']);
    }
  });

  it('[FILE-2] of an older generation, committed once more, does not come before the newer one', () => {
    const manifest = pinFile(pinFile(empty, fileOf('a'), at(1)), fileOf('b', { generation: 1 }), at(2));
    const again = pinFile(manifest, fileOf('a'), at(3));
    expect(answer(again, 'a')).toBe('b');
    expect(again.files.map((file) => file.state)).toEqual(['superseded', 'pinned']);
  });

  it('[FILE-2] made again after a reset comes before what an earlier run left, whatever generation that was', () => {
    let manifest = pinFile(empty, fileOf('a'), at(1));
    manifest = pinFile(manifest, fileOf('b', { generation: 1 }), at(2));
    manifest = pinFile(manifest, fileOf('c', { generation: 2 }), at(3));
    manifest = enterRun(manifest, 1, at(4, 'run 2'));
    manifest = pinFile(manifest, fileOf('d', { generation: 1 }), at(5, 'run 2'));
    expect(['a', 'b', 'c', 'd'].map((letter) => answer(manifest, letter))).toEqual(['d', 'd', 'd', 'd']);
  });

  it('[FILE-3] committed twice changes nothing, its first time kept', () => {
    const once = pinFile(empty, fileOf('a'), at(1));
    expect(pinFile(once, fileOf('a'), at(9))).toEqual(once);
    expect(once.files[0]?.pinnedAt).toBe(1);
    const other = pinFile(once, { ...fileOf('b'), path: fileOf('a').path }, at(9));
    expect(other.files[0]?.pinnedAt).toBe(9);
  });
});

describe('a turn that waits', () => {
  it('[FILE-4] holds what settled, under a pin where one is; the commit decides what becomes of it', () => {
    const pinned = pinFile(empty, fileOf('a'), at(1));
    let manifest = [fileOf('a'), fileOf('b', { callKey: 't1/1/0' }), fileOf('c', { callKey: 't1/1/1' })].reduce(
      (current, file) => stageFile(current, file, at(2)),
      pinned,
    );
    expect(states(manifest)).toEqual(['a pinned', 'b staged', 'c staged']);
    manifest = pinFile(manifest, fileOf('b', { callKey: 't1/1/0' }), at(3));
    expect(manifest.files[1]).toMatchObject({ state: 'pinned', pinnedAt: 2 });
    expect(states(settleStaged(manifest, new Set(['t1/1/0', 't1/1/1'])))).toEqual(['a pinned', 'b pinned']);
    expect(settleStaged(manifest, new Set(['t1/2/0']))).toBe(manifest);
  });

  it('[FILE-4] stops waiting with the next save, and tells when it ended but once', () => {
    const waiting: Manifest = { ...empty, waiting: [{ callKey: 't1/0/0', kind: 'approval', since: 1 }], refs: [] };
    const saved = saveHead(waiting, { sha256: 'e'.repeat(64), bytes: 1 }, [], 7);
    expect(saved).toMatchObject({ head: { bytes: 1 }, savedAt: 7 });
    expect(saved).not.toHaveProperty('waiting');
    const ended = endTurn(saved, 'completed', 8);
    expect(endTurn(ended, 'completed', 9)).toEqual(ended);
    expect(endTurn(ended, 'failed', 9).endedAt).toBe(9);
  });
});

describe('a run that is new to a turn', () => {
  it('[FILE-5] lets go what later steps of the run before left, and pins again what the sweep let go since', () => {
    let manifest = pinFile(empty, fileOf('a'), at(1));
    manifest = pinFile(manifest, fileOf('b', { callKey: 't1/1/0' }), at(1));
    manifest = stageFile(manifest, fileOf('c', { callKey: 't1/2/0' }), at(1));
    const swept = { ...manifest, files: manifest.files.map((file) => ({ ...file, state: 'released' as const })) };
    const ended = endTurn(swept, 'completed', 2);
    const entered = enterRun(ended, 1, at(3, 'run 2'));
    expect(states(entered)).toEqual(['a pinned', 'b released', 'c released']);
    expect(entered).not.toHaveProperty('ended');
    expect(enterRun(entered, 1, at(4, 'run 2'))).toBe(entered);
    const anew = pinFile(entered, fileOf('d', { callKey: 't1/1/0' }), at(5, 'run 2'));
    expect(answer(anew, 'b')).toBe('d');
  });

  it('[FILE-5] does not raise the dead, and keeps superseded paths', () => {
    const deleted = { ...empty, files: [{ ...fileOf('a'), state: 'deleted' as const }] };
    expect(states(enterRun(deleted, 5, at(3, 'run 2')))).toEqual(['a deleted']);
    const superseded = pinFile(pinFile(empty, fileOf('a'), at(1)), fileOf('b'), at(1));
    expect(answer(enterRun(superseded, 0, at(2, 'run 2')), 'a')).toBe('b');
  });
});

describe('a turn that continues another', () => {
  it('[FILE-6] keeps every path of it, superseded ones too, and pins what was released', () => {
    const before = pinFile(pinFile(empty, fileOf('a'), at(1)), fileOf('b'), at(1)).files;
    const released = before.map((file) => (file.state === 'pinned' ? { ...file, state: 'released' as const } : file));
    const next: Manifest = { ...empty, turn: { ...turn, workflowId: 'next' }, files: [] };
    const kept = inheritFiles(next, released);
    expect(kept.files.map((file) => file.state)).toEqual(['superseded', 'pinned']);
    expect(answer(kept, 'a')).toBe('b');
    expect(inheritFiles(kept, released)).toEqual(kept);
  });
});

it('[FILE-2] the block of a result stands in its path, whatever the tool is called', () => {
  const sha256 = '0123456789abcdef'.repeat(4);
  const path = (tool: string, block?: number): string =>
    resultPath({ callKey: 't1/0/0', tool, sha256, extension: 'txt', ...(block !== undefined && { block }) });
  for (const tool of ['read', 'x-0123456789abcdef', 'a-0123456789abcdef-7', '']) {
    expect([blockOf(path(tool)), blockOf(path(tool, 3))]).toEqual([0, 3]);
  }
  expect(blockOf('/sandbox/x-0123456789abcdef-1.txt')).toBeNull();
});
