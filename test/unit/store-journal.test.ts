// The journal of a call: one attempt may send, and the first answer stands.
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openJournal } from '../../activities/store/journal.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import type { FileStore } from '../../shared/file-store.ts';

const key = { workflowId: 'turn', callKey: 't1/0/2', generation: 0 };

describe("a call's journal", () => {
  let folder: string;
  let store: FileStore;
  beforeEach(async () => {
    folder = await fs.promises.mkdtemp(join(os.tmpdir(), 'longshore-journal-'));
    store = createLocalStore({ folder, namespace: 'default' });
  });
  afterEach(async () => fs.promises.rm(folder, { recursive: true, force: true }));

  test('goes from none over sent to answered, as every process sees it', async () => {
    const journal = openJournal(store, key);
    const other = openJournal(createLocalStore({ folder, namespace: 'default' }), key);
    expect(await other.state()).toEqual({ state: 'none' });
    expect(await journal.markSent('attempt 1')).toBe(true);
    expect(await other.state()).toEqual({ state: 'sent', by: 'attempt 1' });
    expect(await journal.markAnswered({ bytes: 3, list: [null, 'x'] })).toEqual({ bytes: 3, list: [null, 'x'] });
    expect(await other.state()).toEqual({ state: 'answered', facts: { bytes: 3, list: [null, 'x'] } });
  });

  test('lets one of many attempts send', async () => {
    const claims = await Promise.all(
      Array.from({ length: 12 }, async (_, i) =>
        openJournal(createLocalStore({ folder, namespace: 'default' }), key).markSent(`attempt ${i}`),
      ),
    );
    expect(claims.filter(Boolean).length).toBe(1);
    const winner = `attempt ${claims.indexOf(true)}`;
    expect(await openJournal(store, key).state()).toEqual({ state: 'sent', by: winner });
    expect(await openJournal(store, key).markSent(winner)).toBe(true);
    expect(await openJournal(store, key).markSent('another')).toBe(false);
  });

  test.each([[null], [0], [{ a: 1 }]])(
    'keeps its first answer (%j) and tells it to whoever answers later',
    async (first) => {
      const journal = openJournal(store, key);
      expect(await journal.markAnswered(first)).toEqual(first);
      expect(await journal.markAnswered({ b: 2 })).toEqual(first);
      expect(await journal.state()).toEqual({ state: 'answered', facts: first });
    },
  );

  test('is one for each Workflow, call and generation', async () => {
    await openJournal(store, key).markSent('one');
    for (const other of [{ workflowId: 'x' }, { callKey: 't1/0/3' }, { callKey: 't1/0' }, { generation: 1 }]) {
      expect(await openJournal(store, { ...key, ...other }).state()).toEqual({ state: 'none' });
    }
  });

  test('that is unreadable is an error and never taken for none', async () => {
    await openJournal(store, key).markSent('one');
    for await (const name of store.listObjects('journal')) await store.putObject(name, new TextEncoder().encode('{}'));
    await expect(openJournal(store, key).state()).rejects.toMatchObject({ type: 'BlobCorrupt' });
  });
});
