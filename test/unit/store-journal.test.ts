// The journal of a call: one attempt may send, and the first answer stands.
import fs from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openJournal } from '../../activities/store/journal.ts';
import { createLocalStore } from '../../activities/store/local.ts';
import type { FileStore } from '../../shared/file-store.ts';

const argumentsDigest = 'a1'.repeat(32);
const key = { workflowId: 'turn', callKey: 't1/0/2', generation: 0, argumentsDigest };

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
    expect(await journal.markSent('attempt 1')).toBe('turn:t1/0/2:0');
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
    const winners = claims.flatMap((claim, i) => (claim === null ? [] : [i]));
    expect(winners).toHaveLength(1);
    const winner = `attempt ${winners[0]}`;
    expect(await openJournal(store, key).state()).toEqual({ state: 'sent', by: winner });
    expect(await openJournal(store, key).markSent(winner)).toBe('turn:t1/0/2:0');
    expect(await openJournal(store, key).markSent('another')).toBeNull();
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
    for (const other of [
      { workflowId: 'x' },
      { callKey: 't1/0/3' },
      { callKey: 't1/0' },
      { generation: 1 },
      { retry: 'r' },
    ]) {
      expect(await openJournal(store, { ...key, ...other }).state()).toEqual({ state: 'none' });
    }
  });

  test('[FILE-1] of another digest under the same key is another call: it has a key of its own, towards the server too', async () => {
    const first = openJournal(store, key);
    await first.markSent('before the reset');
    await first.markAnswered('one');
    const other = openJournal(store, { ...key, argumentsDigest: 'b2'.repeat(32) });
    expect(await other.state()).toEqual({ state: 'none' });
    expect(await other.markSent('after the reset')).toBe('turn:t1/0/2:0-b2b2b2b2');
    expect(await other.markAnswered('two')).toBe('two');
    const again = openJournal(store, { ...key, argumentsDigest: 'b2'.repeat(32) });
    expect(await again.state()).toEqual({ state: 'answered', facts: 'two' });
    expect(await again.markSent('later')).toBeNull();
    expect(await openJournal(store, key).state()).toEqual({ state: 'answered', facts: 'one' });
  });

  test('[FILE-1] of two digests that are claimed at once lets each be sent once', async () => {
    const digests = [0, 1, 0, 1, 0, 1].map((which) => `${which}`.repeat(64));
    const claims = await Promise.all(
      digests.map(async (one, i) => openJournal(store, { ...key, argumentsDigest: one }).markSent(`attempt ${i}`)),
    );
    const keys = claims.filter((claim) => claim !== null).sort();
    expect(keys).toHaveLength(2);
    expect(keys[0]).toBe('turn:t1/0/2:0');
    expect(keys[1]).toMatch(/^turn:t1\/0\/2:0-(0{8}|1{8})$/);
  });

  test('[FILE-1] that was written before digests were kept is taken as the same call', async () => {
    const text = new TextEncoder().encode(JSON.stringify({ by: 'an older Worker' }));
    await openJournal(store, key).markSent('probe');
    for await (const name of store.listObjects('journal')) await store.putObject(name, text);
    expect(await openJournal(store, key).state()).toEqual({ state: 'sent', by: 'an older Worker' });
  });

  test('that is unreadable is an error and never taken for none', async () => {
    await openJournal(store, key).markSent('one');
    for await (const name of store.listObjects('journal')) await store.putObject(name, new TextEncoder().encode('{}'));
    await expect(openJournal(store, key).state()).rejects.toMatchObject({ type: 'BlobCorrupt' });
  });
});
