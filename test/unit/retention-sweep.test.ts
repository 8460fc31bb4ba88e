// The retention sweep, stage by stage, over a store and a scripted Temporal: what goes, what stays, and what is said of it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTranscriptStore } from '../../activities/transcript.ts';
import { openJournal } from '../../activities/store/journal.ts';
import { putHold, removeHold } from '../../activities/store/holds.ts';
import { intentKey, markKey } from '../../activities/store/intents.ts';
import { loadManifest, updateManifest } from '../../activities/store/manifest.ts';
import { findTombstones, tombstoneText } from '../../activities/store/tombstones.ts';
import type { BlobRef } from '../../shared/file-store.ts';
import type { SweepProgress } from '../../shared/sweep.ts';
import {
  closed,
  createSweepWorld,
  DAY,
  HOUR,
  open,
  pathOf,
  setModified,
  type SweepWorld,
} from '../support/sweep-world.ts';

describe('the retention sweep', () => {
  let world: SweepWorld;
  let start: number;
  beforeEach(async () => {
    world = await createSweepWorld();
    start = Date.now();
  });
  afterEach(async () => world.close());

  const turn = (workflowId: string, session = workflowId) => ({ workflowId, session, turn: 1 });
  const rule = { retention: { afterTurnMs: 7 * DAY } };

  test('[KEEP-1] deletes no file of an open turn, however long it waits', async () => {
    const waiting = [{ callKey: 't1/0/0', kind: 'approval' as const, since: start }];
    const parked = await world.put({
      workflowId: 'parked',
      files: ['parked file'],
      standing: open({ isIdle: true }),
      manifest: { ...rule, waiting },
    });
    const running = await world.put({ workflowId: 'running', files: ['running file'], manifest: rule });
    for (const days of [1, 8, 400]) {
      world.clock.now = start + days * DAY;
      expect((await world.sweep()).blobsDeleted).toBe(0);
    }
    expect(await Promise.all([...parked, ...running].map(world.has))).toEqual([true, true]);
    expect((await loadManifest(world.store, turn('parked')))?.files[0]?.state).toBe('pinned');
  });

  test('[KEEP-2] releases the pins of a turn at its close, and leaves nothing of it once its retention is over', async () => {
    const [file] = await world.put({ workflowId: 'done', files: ['content'], standing: closed(start), manifest: rule });
    const first = await world.sweep();
    expect(first).toMatchObject({ filesReleased: 1, filesDeleted: 0, kept: { 'not-due': 1 } });
    expect(await loadManifest(world.store, turn('done'))).toMatchObject({
      ended: 'completed',
      endedAt: start,
      files: [{ state: 'released' }],
    });
    world.clock.now = start + 7 * DAY - 1;
    expect((await world.sweep()).filesDeleted).toBe(0);
    expect(await world.has(file)).toBe(true);
    world.clock.now = start + 7 * DAY;
    expect(await world.sweep()).toMatchObject({
      filesDeleted: 1,
      manifestsDeleted: 1,
      blobsDeleted: 1,
      bytesDeleted: 7,
    });
    expect(await world.has(file)).toBe(false);
    expect(await loadManifest(world.store, turn('done'))).toBeNull();
    const [stone] = await findTombstones(world.store, pathOf('done', 'content'));
    expect(stone).toMatchObject({ server: 'fs', tool: 'read', callKey: 't1/0/0', workflowId: 'done', bytes: 7 });
    expect(stone === undefined ? '' : tombstoneText(stone)).toContain(
      'retention (7 d after the end of its turn) was over',
    );
    expect((await Array.fromAsync(world.store.listObjects(''))).map((key) => key.split('/')[0])).toEqual([
      'tombstones',
    ]);
  });

  test.each(['terminated', 'timed_out', 'gone'] as const)(
    '[KEEP-3] leaks nothing of a turn that is %s',
    async (how) => {
      const standing = how === 'gone' ? ({ status: 'gone' } as const) : closed(start, how);
      const transcripts = createTranscriptStore(world.store);
      const text = await world.store.putBlob(Buffer.from('a long text in context'));
      const part = { type: 'text-blob' as const, ref: text };
      const message = {
        type: 'tool.result' as const,
        callKey: 't1/0/0',
        callId: 'c',
        name: 'n',
        outcome: 'ok' as const,
      };
      const head = await transcripts.append(
        { head: null, segments: [], messages: [], tokens: 0 },
        { turn: turn('lost'), messages: [{ ...message, placement: 'inline', rule: 'fits', parts: [part] }] },
        1,
      );
      await world.put({ workflowId: 'lost', files: ['lost'], standing, manifest: { ...rule, head: head.head } });
      const journal = openJournal(world.store, {
        workflowId: 'lost',
        callKey: 't1/0/0',
        generation: 0,
        argumentsDigest: 'd',
      });
      await journal.markSent('one');
      await journal.markAnswered({ file: { sha256: text.sha256, bytes: 1 } });
      expect((await world.sweep()).blobsDeleted).toBe(0);
      world.clock.now = start + 8 * DAY;
      const swept = await world.sweep();
      expect(swept).toMatchObject({ transcriptsDeleted: 1, blobsDeleted: 3 });
      expect(await Array.fromAsync(world.store.listBlobs())).toEqual([]);
      // As long as Temporal can reset the turn, its journal keeps its writes from being sent again.
      expect(swept.journalsDeleted).toBe(how === 'gone' ? 2 : 0);
      world.temporal.delete('lost');
      await world.sweep();
      expect(await Array.fromAsync(world.store.listObjects('journal'))).toEqual([]);
      expect(await Array.fromAsync(world.store.listObjects('manifests'))).toEqual([]);
    },
  );

  test('[KEEP-3] leaves no journal of a turn that ended before it had a manifest', async () => {
    const keys = { callKey: 't1/0/0', generation: 0, argumentsDigest: 'd' };
    for (const workflowId of ['gone', 'closed', 'running']) {
      await openJournal(world.store, { workflowId, ...keys }).markSent('x');
    }
    world.temporal.set('closed', closed(start));
    world.temporal.set('running', open());
    world.clock.now = start + 2 * DAY;
    const left = async (): Promise<readonly string[]> =>
      (await Array.fromAsync(world.store.listObjects('journal'))).map((key) => key.split('/')[1] ?? '');
    expect((await world.sweep()).journalsDeleted).toBe(1);
    expect(await left()).toEqual(['closed', 'running']);
    world.temporal.delete('closed');
    expect((await world.sweep()).journalsDeleted).toBe(1);
    expect(await left()).toEqual(['running']);
  });

  test('[KEEP-4] keeps content that two sessions share until both have let go', async () => {
    const [shared] = await world.put({ workflowId: 'a', files: ['shared'], standing: closed(start), manifest: rule });
    await world.put({
      workflowId: 'b',
      files: ['shared'],
      standing: closed(start),
      manifest: { retention: { afterTurnMs: 30 * DAY } },
    });
    world.clock.now = start + 8 * DAY;
    expect(await world.sweep()).toMatchObject({ filesDeleted: 1, blobsDeleted: 0 });
    expect(await world.has(shared)).toBe(true);
    world.clock.now = start + 31 * DAY;
    expect(await world.sweep()).toMatchObject({ filesDeleted: 1, blobsDeleted: 1 });
  });

  test('[KEEP-5] goes by the rule of each file: class, tool, and greatest age', async () => {
    const manifest = { retention: { afterTurnMs: 30 * DAY } };
    const put = async (id: string, retention: object) =>
      world.put({
        workflowId: id,
        files: [id],
        standing: closed(start + 5 * DAY),
        manifest,
        file: { retention } as never,
      });
    await put('short', { class: 'scratch', afterTurnMs: DAY });
    await put('aged', { afterTurnMs: 60 * DAY, maxAgeMs: 6 * DAY });
    await put('long', { afterTurnMs: 90 * DAY });
    world.clock.now = start + 6 * DAY + HOUR;
    expect((await world.sweep()).filesDeleted).toBe(2);
    const [stone] = await findTombstones(world.store, pathOf('short', 'short'));
    expect(stone?.why).toBe('its retention of class scratch (1 d after the end of its turn) was over');
    expect((await loadManifest(world.store, turn('long')))?.files[0]?.state).toBe('released');
    world.clock.now = start + 36 * DAY;
    await world.sweep();
    expect((await loadManifest(world.store, turn('long')))?.files[0]?.state).toBe('released');
    expect(await loadManifest(world.store, turn('short'))).toBeNull();
    world.clock.now = start + 95 * DAY + HOUR;
    await world.sweep();
    expect(await Array.fromAsync(world.store.listObjects('manifests'))).toEqual([]);
  });

  test('[KEEP-5] lets a rule of no days act only past the grace age', async () => {
    const manifest = { retention: { afterTurnMs: 0 } };
    await world.put({ workflowId: 'zero', files: ['zero'], standing: closed(start), manifest });
    world.clock.now = start + HOUR;
    expect((await world.sweep()).filesDeleted).toBe(0);
    world.clock.now = start + DAY + 60_000;
    expect(await world.sweep()).toMatchObject({ filesDeleted: 1, blobsDeleted: 1 });
  });

  test.each([
    { type: 'path', path: pathOf('held', 'content') },
    { type: 'turn', workflowId: 'held' },
    { type: 'session', session: 'theirs' },
  ] as const)('[KEEP-6] keeps what a hold on a $type is on, until it is let go', async (target) => {
    const put = { workflowId: 'held', session: 'theirs', standing: closed(start), manifest: rule };
    const [held, other] = await world.put({ ...put, files: ['content', 'other'] });
    await putHold(world.store, { version: 1, target, by: 'counsel', since: start });
    world.clock.now = start + 90 * DAY;
    const swept = await world.sweep();
    expect(await world.has(held)).toBe(true);
    expect(await world.has(other)).toBe(target.type !== 'path');
    expect(swept.kept.held).toBe(target.type === 'path' ? 1 : 2);
    expect(await removeHold(world.store, target)).toBe(true);
    await world.sweep();
    expect(await world.has(held)).toBe(false);
    expect(await removeHold(world.store, target)).toBe(false);
  });

  test('[KEEP-10] lets nothing go, of any turn, while the manifest of one cannot be read', async () => {
    await world.put({ workflowId: 'done', files: ['content'], standing: closed(start), manifest: rule });
    const key = { workflowId: 'done', callKey: 't1/0/0', generation: 0, argumentsDigest: 'a' };
    await openJournal(world.store, key).markSent('attempt');
    await world.store.putObject('manifests/session/broken', Buffer.from('{"half'));
    const before = await world.contents();
    world.clock.now = start + 8 * DAY;
    const none = { filesReleased: 0, filesDeleted: 0, manifestsDeleted: 0, journalsDeleted: 0, blobsDeleted: 0 };
    expect(await world.sweep()).toMatchObject({ ...none, stopped: true, problems: [{ type: 'BlobCorrupt' }] });
    expect(await world.contents()).toEqual(before);
    await world.store.deleteObject('manifests/session/broken');
    expect(await world.sweep()).toMatchObject({ filesDeleted: 1, manifestsDeleted: 0, journalsDeleted: 0 });
    world.temporal.delete('done');
    expect(await world.sweep()).toMatchObject({ manifestsDeleted: 1, journalsDeleted: 1 });
  });

  test('[KEEP-6] a hold set while the sweep lets go is heeded, and one that cannot be read stops the sweep', async () => {
    const [file] = await world.put({ workflowId: 'held', files: ['content'], standing: closed(start), manifest: rule });
    world.clock.now = start + 90 * DAY;
    const target = { type: 'turn', workflowId: 'held' } as const;
    const plain = { ...world.store };
    // The hold comes between the sweep's look at holds and the manifest that says `deleted`.
    Object.assign(world.store, {
      putObject: async (...given: Parameters<typeof plain.putObject>) => {
        if (given[0].startsWith('manifests/')) await putHold(plain, { version: 1, target, by: 'x', since: 1 });
        return plain.putObject(...given);
      },
    });
    await world.sweep();
    expect(await world.has(file)).toBe(true);
    expect((await loadManifest(world.store, turn('held')))?.files[0]?.state).toBe('released');
    expect(await findTombstones(world.store, pathOf('held', 'content'))).toEqual([]);
    await plain.putObject('holds/turn/broken', Buffer.from('{'));
    await expect(world.sweep()).rejects.toThrow('holds/turn/broken');
  });

  test('[KEEP-7] changes nothing in a dry run, and says what would go', async () => {
    await world.put({ workflowId: 'done', files: ['content'], standing: closed(start), manifest: rule });
    await world.put({ workflowId: 'open', files: ['open'], manifest: { ...rule, savedAt: start + 8 * DAY } });
    await world.putOrphan('orphan', start - 10 * DAY);
    world.clock.now = start + 8 * DAY;
    const before = await world.contents();
    const dry = await world.sweep({ dryRun: true });
    expect(await world.contents()).toEqual(before);
    const wet = await world.sweep();
    expect({ ...dry, dryRun: false }).toEqual(wet);
    expect(wet).toMatchObject({ filesDeleted: 1, blobsDeleted: 2, manifestsDeleted: 1 });
  });

  test('[KEEP-8] deletes nothing when Temporal does not answer, at whichever page that begins', async () => {
    await world.put({ workflowId: 'done', files: ['content'], standing: closed(start), manifest: rule });
    await world.putOrphan('orphan', start - 10 * DAY);
    world.clock.now = start + 8 * DAY;
    const before = (await world.contents()).filter((line) => !line.startsWith('sweeps/'));
    for (const stage of ['begin', 'survey', 'let-go'] as const) {
      world.away.is = stage === 'begin';
      const onPage = (progress: SweepProgress): void => void (world.away.is ||= progress.stage === stage);
      await expect(world.sweep({ onPage })).rejects.toThrow('Temporal is away');
      expect((await world.contents()).filter((line) => !line.startsWith('sweeps/'))).toEqual(before);
      world.away.is = false;
    }
    expect((await world.sweep()).blobsDeleted).toBe(2);
  });

  test('[KEEP-9] keeps blobs that nothing refers to while a turn that runs may have written them', async () => {
    const saved = start - 3 * DAY;
    const since = await world.putOrphan('written since', saved + HOUR);
    const before = await world.putOrphan('written before', saved - DAY);
    await world.put({ workflowId: 'slow', manifest: { ...rule, savedAt: saved } });
    const kept = await world.sweep();
    expect(kept).toMatchObject({ blobsDeleted: 1, kept: { running: 1 } });
    expect([await world.has(since), await world.has(before)]).toEqual([true, false]);
    // One that is parked has said all that it refers to.
    const waiting = [{ callKey: 't1/0/0', kind: 'approval' as const, since: saved }];
    await updateManifest(world.store, turn('slow'), (manifest) => ({ ...manifest, waiting }));
    expect((await world.sweep()).kept.running).toBe(1);
    world.temporal.set('slow', open({ isIdle: true }));
    expect((await world.sweep()).blobsDeleted).toBe(1);
  });

  test('[KEEP-9] counts a running turn without a manifest from its start', async () => {
    const orphan = await world.putOrphan('its first result', start - 2 * DAY);
    world.temporal.set('fresh', open({ startedMs: start - 3 * DAY }));
    expect((await world.sweep()).kept.running).toBe(1);
    world.temporal.set('fresh', closed(start));
    await world.sweep();
    expect(await world.has(orphan)).toBe(false);
  });

  test('[KEEP-9] keeps what an open turn refers to anywhere: transcript, lists, journal, the turn it goes on from', async () => {
    const put = async (text: string): Promise<BlobRef> => {
      const ref = await world.store.putBlob(Buffer.from(text));
      await setModified(world.folder, ref.sha256, start - 90 * DAY);
      return ref;
    };
    const refs = await Promise.all(['in a list', 'answered', 'in an answered list', 'frame', 'message'].map(put));
    const [inList, answered, inAnsweredList, catalog, image] = refs;
    const list = await put(JSON.stringify([{ path: '/sandbox/a', ...inList }]));
    const answeredList = await put(JSON.stringify([{ path: '/sandbox/b', ...inAnsweredList }]));
    const transcripts = createTranscriptStore(world.store);
    const part = { type: 'image-blob' as const, ref: image ?? list, mediaType: 'image/png' };
    const message = { type: 'tool.result' as const, callKey: 't1/0/0', callId: 'c', name: 'n', outcome: 'ok' as const };
    const frame = {
      agent: 'a',
      model: { name: 'p/m', params: {} },
      instructions: '',
      responseFormat: { type: 'text' as const },
    };
    const first = await transcripts.append(
      { head: null, segments: [], messages: [], tokens: 0 },
      { turn: turn('old'), frame: { ...frame, catalog: catalog ?? list }, messages: [] },
      0,
    );
    const second = await transcripts.append(
      first,
      { turn: turn('old'), messages: [{ ...message, placement: 'inline', rule: 'fits', parts: [part] }] },
      0,
    );
    for (const ref of [first.head, second.head]) await setModified(world.folder, ref?.sha256 ?? '', start - 90 * DAY);
    // Closed and past its retention, but an open turn goes on from it, and has no head of its own yet.
    await world.put({
      workflowId: 'old',
      standing: closed(start - 60 * DAY),
      manifest: { ...rule, head: second.head },
    });
    const waiting = [{ callKey: 't1/0/0', kind: 'approval' as const, since: start }];
    await world.put({
      workflowId: 'new',
      standing: open({ isIdle: true }),
      manifest: { ...rule, continues: 'old', refs: [list], waiting },
    });
    const journal = openJournal(world.store, {
      workflowId: 'new',
      callKey: 't1/0/0',
      generation: 0,
      argumentsDigest: 'd',
    });
    await journal.markAnswered({ file: { ...answered }, blocksRef: { ...answeredList } });
    await put('nobody');
    expect(await world.sweep()).toMatchObject({ blobsDeleted: 1, transcriptsDeleted: 0 });
    for (const ref of [...refs, list, answeredList]) expect(await world.has(ref)).toBe(true);
  });

  test('[KEEP-9] deletes superseded bytes once nothing else refers to them, and keeps the newer ones', async () => {
    const [old, next] = await world.put({ workflowId: 'a', files: ['old', 'new'], manifest: rule });
    await updateManifest(world.store, turn('a'), (manifest) => ({
      ...manifest,
      savedAt: start + 3 * DAY,
      files: manifest.files.map((file, index) =>
        index === 0 ? { ...file, state: 'superseded', supersededBy: pathOf('a', 'new') } : file,
      ),
    }));
    world.clock.now = start + 3 * DAY;
    expect((await world.sweep()).blobsDeleted).toBe(1);
    expect([await world.has(old), await world.has(next)]).toEqual([false, true]);
  });

  test('[KEEP-10] deletes no blob while it cannot be told what is referred to, and names what is in the way', async () => {
    const orphan = await world.putOrphan('orphan', start - 10 * DAY);
    await world.store.putObject('manifests/s/broken', Buffer.from('{'));
    const stopped = await world.sweep();
    expect(stopped).toMatchObject({ stopped: true, blobsDeleted: 0 });
    expect(stopped.problems[0]).toMatchObject({ type: 'BlobCorrupt' });
    expect(stopped.problems[0]?.message).toContain('manifests/s/broken');
    await world.store.deleteObject('manifests/s/broken');
    const missing = { sha256: 'a'.repeat(64), bytes: 1 };
    await world.put({ workflowId: 'broken', manifest: { ...rule, head: missing, savedAt: start } });
    expect(await world.sweep()).toMatchObject({ stopped: true, problems: [{ type: 'TranscriptBroken' }] });
    expect(await world.has(orphan)).toBe(true);
    world.temporal.set('broken', closed(start));
    expect(await world.sweep()).toMatchObject({ stopped: false, blobsDeleted: 1 });
  });

  test('[KEEP-11] a sweep killed at any page goes on where it was, and a new one cleans up after it', async () => {
    for (let i = 0; i < 30; i += 1) {
      await world.put({
        workflowId: `t${i}`,
        files: [`file ${i}`],
        standing: i % 3 === 0 ? open() : closed(start),
        manifest: { ...rule, savedAt: start + 8 * DAY },
      });
    }
    world.clock.now = start + 8 * DAY;
    let stop = 0;
    for (let done = false; !done; stop += 1) {
      let seen = 0;
      let last: SweepProgress | undefined;
      const onPage = (progress: SweepProgress): void => {
        last = progress;
        if (seen++ === stop) throw new Error('killed');
      };
      const killed = await world.sweep({ onPage }).catch(() => null);
      done = killed !== null;
      if (last !== undefined && !done && stop % 2 === 0) await world.sweep({ from: last });
    }
    expect(stop).toBeGreaterThan(20);
    expect(await Array.fromAsync(world.store.listBlobs())).toHaveLength(10);
    expect((await Array.fromAsync(world.store.listObjects('manifests'))).length).toBe(10);
    expect(await Array.fromAsync(world.store.listObjects('sweeps'))).toEqual([]);
    expect(await Array.fromAsync(world.store.listObjects('condemned'))).toEqual([]);
  });

  test('[KEEP-11] takes away marks of a sweep that died, and intents of blobs that are gone', async () => {
    const orphan = await world.putOrphan('orphan', start - 10 * DAY);
    const mark = { at: start - HOUR, by: 'sweeps/dead/run' };
    await world.store.putObject(markKey(orphan.sha256.slice(0, 2)), Buffer.from(JSON.stringify(mark)));
    const idle = 'b'.repeat(64);
    await world.store.putObject(intentKey(idle), Buffer.from(JSON.stringify({ at: start })));
    expect((await world.sweep()).blobsDeleted).toBe(1);
    expect(await Array.fromAsync(world.store.listObjects(''))).toEqual([]);
  });

  test.each([
    ['forwards', 1],
    ['backwards', -1],
  ] as const)('[KEEP-12] a clock that jumps %s by a year deletes nothing that is pinned', async (_, sign) => {
    const waiting = [{ callKey: 't1/0/0', kind: 'approval' as const, since: start }];
    const standing = open({ isIdle: true });
    const pinned = await world.put({ workflowId: 'p', files: ['pinned'], standing, manifest: { ...rule, waiting } });
    const staged = await world.put({ workflowId: 's', files: ['staged'], file: { state: 'staged' }, manifest: rule });
    // Staged by the running turn, in no manifest yet: it is newer than what that manifest knows.
    const unknown = await world.putOrphan('in flight', start);
    const released = await world.put({ workflowId: 'r', files: ['released'], standing: closed(start), manifest: rule });
    await setModified(world.folder, released[0]?.sha256 ?? '', start - 10 * DAY);
    world.clock.now = start + sign * 365 * DAY;
    await world.sweep();
    expect(await Promise.all([...pinned, ...staged, unknown].map(world.has))).toEqual([true, true, true]);
    // Ahead, the retention of what nobody needs is over too soon; behind, it is over late.
    expect(await world.has(released[0])).toBe(sign < 0);
  });
});
