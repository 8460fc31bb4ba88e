// What a pause holds where a path keeps its present content until the commit: the new bytes are referred to all the same.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { commitPins } from '../../activities/commit.ts';
import { createSeenRuns } from '../../activities/resume.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import { updateManifest } from '../../activities/store/manifest.ts';
import { pinFiles, type NewFile } from '../../activities/store/manifest-changes.ts';
import { resultPath } from '../../shared/call-key.ts';
import type { FileStore } from '../../shared/file-store.ts';

const run = 'run 1';
let folder: string;
let store: FileStore;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-pause-'));
  store = createLocalStore({ folder, namespace: 'default' });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function fileOf(content: string, callKey: string, path?: string): Promise<NewFile> {
  const { sha256, bytes } = await store.putBlob(Buffer.from(content));
  const own = path ?? resultPath({ callKey, tool: 'read', sha256, extension: 'txt' });
  return { path: own, sha256, bytes, mediaType: 'text/plain', callKey, server: 'fs', tool: 'read', origin: 'turn' };
}

it.each([
  ['that is written over', 'notes', ['one', 'two']],
  ['whose first content a call brings again', undefined, ['one', 'two', 'one']],
] as const)('[FILE-4] a pause keeps the bytes of a file %s', async (name, folderName, contents) => {
  const turn = { workflowId: `turn ${name}`, session: 'session', turn: 1 };
  const path = folderName && `/sandbox/${folderName}/plan.md`;
  const files = await Promise.all(contents.map(async (content) => fileOf(content, 't1/0/0', path)));
  const last = files.at(-1);
  if (!last) throw new Error('no file');
  for (const [generation, file] of files.slice(0, -1).entries()) {
    await updateManifest(store, turn, (manifest) =>
      pinFiles(manifest, [{ file: { ...file, origin: turn.workflowId, generation }, supersedes: true }], {
        run,
        now: 1,
      }),
    );
  }
  const { callKey, server, tool } = last;
  const pause = { step: 1, waiting: [], refs: [], staged: [{ callKey, server, tool, files: [last] }] };
  const input = { turn, head: null, messages: [], pause, step: 1 };
  const { manifest } = await commitPins(store, input, { run }, createSeenRuns());
  const held = manifest?.files.filter(({ state }) => state === 'pinned' || state === 'staged') ?? [];
  expect([...held, ...(manifest?.refs ?? [])].map(({ sha256 }) => sha256)).toContain(last.sha256);
});
