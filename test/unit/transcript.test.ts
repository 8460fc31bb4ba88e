// The conversation as a chain of segments in a store: appended, read back anywhere, never silently different.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLocalStore } from '../../activities/store/local.ts';
import { createTranscriptStore, type Transcript } from '../../activities/transcript.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { UserMessage } from '../../shared/messages.ts';

let folder: string;
let store: FileStore;
const turn = { workflowId: 'turn-1', session: 'turn-1', turn: 1 };
const empty: Transcript = { head: null, segments: [], messages: [], tokens: 0 };
const said = (content: string): UserMessage => ({ type: 'user.message', content });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-transcript-'));
  store = createLocalStore({ folder, namespace: 'default' });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Three segments: the last one's transcript. */
async function three(): Promise<Transcript> {
  const transcripts = createTranscriptStore(store);
  let base = empty;
  for (const words of ['one', 'two', 'three']) {
    base = await transcripts.append(base, { turn, messages: [said(words)] }, 5);
  }
  return base;
}

describe('a transcript', () => {
  it('is empty where there is no head', async () => {
    expect(await createTranscriptStore(store).load(null)).toMatchObject({
      head: null,
      segments: [],
      messages: [],
      tokens: 0,
    });
  });

  it('is read back by another Worker, without its cache, in order and with its tokens', async () => {
    const { head } = await three();
    const loaded = await createTranscriptStore(store).load(head);
    expect(loaded.messages).toEqual([said('one'), said('two'), said('three')]);
    expect(loaded).toMatchObject({ head, tokens: 15 });
  });

  it('is the same from the cache and from the store', async () => {
    const transcripts = createTranscriptStore(store);
    const first = await transcripts.append(empty, { turn, messages: [said('one')] }, 5);
    const second = await transcripts.append(first, { turn, messages: [said('two')] }, 5);
    expect(await transcripts.load(second.head)).toEqual(await createTranscriptStore(store).load(second.head));
  });

  it('branches: two that go on from one head do not see each other', async () => {
    const transcripts = createTranscriptStore(store);
    const base = await transcripts.append(empty, { turn, messages: [said('both')] }, 5);
    const left = await transcripts.append(base, { turn, messages: [said('left')] }, 5);
    const right = await transcripts.append(base, { turn, messages: [said('right')] }, 5);
    expect((await transcripts.load(left.head)).messages).toEqual([said('both'), said('left')]);
    expect((await transcripts.load(right.head)).messages).toEqual([said('both'), said('right')]);
    expect((await transcripts.load(base.head)).messages).toEqual([said('both')]);
  });

  it('appended twice alike is one blob: a retry leaves nothing behind', async () => {
    const heads = await Promise.all([three(), three()]);
    expect(heads[0].head).toEqual(heads[1].head);
    let count = 0;
    for await (const blob of store.listBlobs()) count += blob.bytes > 0 ? 1 : 0;
    expect(count).toBe(3);
  });

  it('whose segment is gone says which, and is no shorter conversation', async () => {
    const transcripts = createTranscriptStore(store);
    const first = await transcripts.append(empty, { turn, messages: [said('one')] }, 5);
    const second = await transcripts.append(first, { turn, messages: [said('two')] }, 5);
    await store.deleteBlob(first.head?.sha256 ?? '');
    const load = createTranscriptStore(store).load(second.head);
    await expect(load).rejects.toMatchObject({
      type: 'TranscriptBroken',
      message: expect.stringContaining(first.head?.sha256 ?? 'no head'),
    });
  });

  it('whose head is some other blob is broken, not empty', async () => {
    for (const bytes of ['{"version":2,"messages":[]}', 'no JSON', '[]', 'null', '{"version":1}']) {
      const ref = await store.putBlob(Buffer.from(bytes));
      await expect(createTranscriptStore(store).load(ref)).rejects.toMatchObject({ type: 'TranscriptBroken' });
    }
  });
});
