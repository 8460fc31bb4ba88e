// Sweeps and purges beside turns that have just begun and go on from what is swept, holds beside sweeps that die, and runs that
// a reset cut off beside the runs after them.
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { closeManifest, commitPins } from '../../activities/commit.ts';
import { createSeenRuns } from '../../activities/resume.ts';
import { createTranscriptStore } from '../../activities/transcript.ts';
import { listTombstones } from '../../activities/store/tombstones.ts';
import { planPurge, purgeStore, turnsSince, type PurgeContext } from '../../activities/retention/purge.ts';
import { putHold } from '../../activities/store/holds.ts';
import { loadManifest } from '../../activities/store/manifest.ts';
import { findTombstones } from '../../activities/store/tombstones.ts';
import type { LongshoreError } from '../../shared/errors.ts';
import type { BlobRef } from '../../shared/file-store.ts';
import type { SweepProgress } from '../../shared/sweep.ts';
import { closed, createSweepWorld, DAY, open, pathOf, setModified, type SweepWorld } from '../support/sweep-world.ts';

const turn = (workflowId: string, session = workflowId) => ({ workflowId, session, turn: 1 });
const rule = { retention: { afterTurnMs: 7 * DAY } };

let world: SweepWorld;
let start: number;
beforeEach(async () => {
  world = await createSweepWorld();
  start = Date.now();
});
afterEach(async () => world.close());

/** A turn past its retention, with a file and a transcript of two segments. */
async function putOld(workflowId: string, session = workflowId): Promise<{ head: BlobRef; all: readonly BlobRef[] }> {
  const transcripts = createTranscriptStore(world.store);
  const message = (content: string) => ({ type: 'user.message' as const, content: `${content} of ${workflowId}` });
  const add = { turn: turn(workflowId, session), messages: [message('first')] };
  const first = await transcripts.append({ head: null, segments: [], messages: [], tokens: 0 }, add, 1);
  const second = await transcripts.append(first, { ...add, messages: [message('second')] }, 1);
  if (!first.head || !second.head) throw new Error('no head');
  const standing = closed(start - 30 * DAY);
  const manifest = { ...rule, head: second.head };
  const files = await world.put({ workflowId, session, files: [`file of ${workflowId}`], standing, manifest });
  const all = [...files, first.head, second.head];
  for (const { sha256 } of all) await setModified(world.folder, sha256, start - 30 * DAY);
  return { head: second.head, all };
}

const areThere = async (refs: readonly BlobRef[]): Promise<readonly boolean[]> => Promise.all(refs.map(world.has));
/** What the first model call of a turn commits that goes on from another. */
const goOn = (workflowId: string, from: string, head: BlobRef, session = from) =>
  commitPins(
    world.store,
    {
      turn: { workflowId, session, turn: 2 },
      head,
      messages: [],
      step: 0,
      continueFrom: { ...turn(from), head },
    },
    { run: `run of ${workflowId}` },
    createSeenRuns(),
  );

describe('a turn that has written nothing yet', () => {
  test.each(['before', 'after'])('[KEEP-17] keeps what it goes on from, begun %s the sweep', async (when) => {
    const { head, all } = await putOld('old');
    const begin = (): void => {
      world.origins.set('new', { session: 'old', continues: 'old' });
      world.temporal.set('new', open());
    };
    if (when === 'before') begin();
    const onPage = ({ stage }: SweepProgress): void => {
      if (stage === 'let-go') begin();
    };
    expect(await world.sweep({ onPage })).toMatchObject({ filesDeleted: 0, blobsDeleted: 0, kept: { continued: 1 } });
    await goOn('new', 'old', head);
    expect(await areThere(all)).toEqual([true, true, true]);
    world.temporal.set('new', closed(start, 'failed'));
    world.clock.now = start + 31 * DAY;
    await world.sweep();
    expect(await areThere(all)).toEqual([false, false, false]);
  });

  test('[KEEP-17] has all that it goes on from or is told that it is gone, at whichever step a sweep comes between', async () => {
    const ends = new Set<string>();
    for (let step = 0, isOver = false; !isOver; step += 1) {
      await world.close();
      world = await createSweepWorld();
      const { head, all } = await putOld('old');
      world.temporal.set('new', open());
      world.unlisted.add('new');
      let seen = 0;
      world.before.step = async () => {
        if (seen++ !== step) return;
        await world.sweep();
      };
      const committed = await goOn('new', 'old', head).then(
        () => 'committed',
        (error: LongshoreError) => error.type,
      );
      isOver = seen <= step;
      world.before.step = async () => {};
      if (committed === 'committed') await world.sweep();
      // One that was refused may have come before the bytes went, or after.
      const kept = committed === 'committed' ? await areThere(all) : [];
      expect(kept.every(Boolean)).toBe(true);
      ends.add(committed);
    }
    expect([...ends].sort()).toEqual(['TurnNotContinuable', 'committed']);
  });

  test('[KEEP-17] writes nothing where what it goes on from was let go before', async () => {
    const { head } = await putOld('old');
    await world.sweep();
    const manifests = await Array.fromAsync(world.store.listObjects('manifests'));
    await expect(goOn('new', 'old', head)).rejects.toThrow(
      /Turn `old` cannot be continued: its transcript was deleted/,
    );
    expect(await Array.fromAsync(world.store.listObjects('manifests'))).toEqual(manifests);
  });
});

describe('a purge', () => {
  const purge = (session: string): PurgeContext => ({
    store: world.store,
    temporal: world.view,
    session,
    listed: [],
    nowMs: start,
  });

  test.each([
    ['of the session', { session: 'person', continues: null }],
    ['of another session that goes on from one of it', { session: 'else', continues: 'old' }],
  ])('[KEEP-18] refuses beside a turn %s that has written nothing yet, and names it', async (_, origin) => {
    const { all } = await putOld('old', 'person');
    world.temporal.set('new', open());
    world.origins.set('new', origin);
    await expect(planPurge(purge('person'))).rejects.toMatchObject({
      type: 'TurnRunning',
      message: expect.stringContaining('just begun: new'),
      mend: expect.stringContaining('longshore turns cancel new'),
    });
    world.temporal.set('new', closed(start, 'cancelled'));
    const plan = await planPurge(purge('person'));
    await purgeStore(purge('person'), plan);
    expect(await areThere(all)).toEqual([false, false, false]);
    expect(await turnsSince(purge('person'), plan)).toEqual([]);
  });

  test('[KEEP-14] of which a sweep has left nothing but tombstones takes those, and then knows nothing of it', async () => {
    await putOld('old', 'person');
    await world.sweep();
    world.temporal.delete('old');
    await world.sweep();
    const ofPerson = async (): Promise<number> =>
      (await Array.fromAsync(listTombstones(world.store))).filter(({ tombstone }) => tombstone.session === 'person')
        .length;
    expect(await loadManifest(world.store, turn('old', 'person'))).toBeNull();
    expect(await ofPerson()).toBeGreaterThan(0);
    const purged = await purgeStore(purge('person'), await planPurge(purge('person')));
    expect(purged).toMatchObject({ turns: [{ workflowId: 'old', files: [] }], tombstonesDeleted: expect.any(Number) });
    expect(await ofPerson()).toBe(0);
    await expect(planPurge(purge('person'))).rejects.toMatchObject({ type: 'TurnNotFound' });
  });

  test('[KEEP-18] names turns that came while it ran; one that goes on from what is gone leaves nothing', async () => {
    const { head } = await putOld('old', 'person');
    const plan = await planPurge(purge('person'));
    await world.put({ workflowId: 'came', session: 'person', files: ['came'] });
    await purgeStore(purge('person'), plan);
    world.temporal.set('fresh', open());
    world.origins.set('fresh', { session: 'other', continues: 'old' });
    expect(await turnsSince(purge('person'), plan)).toEqual(['came', 'fresh']);
    await expect(goOn('late', 'old', head, 'person')).rejects.toMatchObject({ type: 'TurnNotContinuable' });
    expect(await loadManifest(world.store, turn('late', 'person'))).toBeNull();
  });
});

describe('a hold beside a sweep that dies', () => {
  test.each(['repeated', 'given up, and another one comes'])(
    '[KEEP-19] set before it let go is heeded when the sweep is %s',
    async (how) => {
      const { head, all } = await putOld('old');
      const isHeld = putHold.bind(null, world.store, {
        version: 1,
        target: { type: 'turn', workflowId: 'old' },
        by: 'counsel',
        since: start,
      });
      let last: SweepProgress | undefined;
      const onPage = (progress: SweepProgress): void => void (last = progress);
      let didLetGo = false;
      world.before.step = async (what, key) => {
        // The hold comes after the sweep looked for holds; the sweep dies before it looks again.
        if (what === 'put' && key.startsWith('tombstones/') && !didLetGo) {
          didLetGo = true;
          await isHeld();
        } else if (what === 'list' && key === 'holds' && didLetGo) {
          throw new Error('killed');
        }
      };
      await expect(world.sweep({ onPage })).rejects.toThrow('killed');
      world.before.step = async () => {};
      expect(await loadManifest(world.store, turn('old'))).toMatchObject({ head: null, files: [{ state: 'deleted' }] });
      const from = how === 'repeated' ? last : undefined;
      expect(await world.sweep(from && { from })).toMatchObject({ blobsDeleted: 0 });
      expect(await loadManifest(world.store, turn('old'))).toMatchObject({ head, files: [{ state: 'released' }] });
      expect(await areThere(all)).toEqual([true, true, true]);
      expect(await findTombstones(world.store, pathOf('old', 'file of old'))).toEqual([]);
    },
  );
});

describe('what cannot be read of a sweep that died', () => {
  test.each([
    ['no JSON', '{'],
    ['without an id', '{"workflowId":""}'],
  ])('[KEEP-11] an owner that is %s is told, taken away, and in the way of no sweep', async (_, text) => {
    await world.store.putObject('sweeps/dead/run/owner', Buffer.from(text));
    await world.store.putObject('sweeps/dead/run/marks/0', Buffer.from('notes'));
    const { problems, stopped } = await world.sweep();
    expect(stopped).toBe(false);
    expect(problems).toMatchObject([
      { type: 'BlobCorrupt', message: expect.stringContaining('sweeps/dead/run/owner') },
    ]);
    expect((await world.sweep()).problems).toEqual([]);
    expect(await Array.fromAsync(world.store.listObjects('sweeps'))).toEqual([]);
  });

  test('[KEEP-11] damaged objects of an owner and of a mark stop no sweep, and are mended', async () => {
    await putOld('old');
    await world.store.putObject('sweeps/dead/run/owner', Buffer.from('{}'));
    await world.store.putObject('condemned/00', Buffer.from('{}'));
    for (const key of ['sweeps/dead/run/owner', 'condemned/00']) {
      fs.writeFileSync(join(world.folder, 'default', 'objects', `${key}@`), 'torn');
    }
    const told = (await world.sweep()).problems.map(({ message }) => message);
    expect(told).toEqual([expect.stringContaining('sweeps/dead/run/owner'), expect.stringContaining('condemned/00')]);
    expect((await world.sweep()).problems).toEqual([]);
    const mark = await world.store.getObject('condemned/00');
    expect(JSON.parse(Buffer.from(mark?.body ?? []).toString())).toMatchObject({ by: 'unknown' });
  });
});

describe('a run that a reset cut off', () => {
  const own = turn('reset');
  const file = { mediaType: 'text/plain', server: 'fs', tool: 'read', origin: 'reset', callKey: 't1/0/0' };
  /** A commit of the call's result, with the step where a model call makes it. */
  const commitAs = async (
    run: string,
    content: string,
    more: { readonly step?: number; readonly isCurrent: boolean },
  ) => {
    const ref = await world.store.putBlob(Buffer.from(content));
    const path = `/sandbox/tool-results/t1.0.0-read-${ref.sha256.slice(0, 16)}.txt`;
    const result = {
      callKey: 't1/0/0',
      callId: 'c',
      name: 'fs__read',
      server: 'fs',
      tool: 'read',
      outcome: 'ok' as const,
    };
    const placed = { placement: 'file' as const, rule: 'too-large' as never, context: { text: path }, tokens: 1 };
    const facts = { ...file, path, ...ref };
    const commit = {
      step: 0,
      results: [{ ...result, ...placed, images: [], blocks: [], written: [], file: facts } as never],
    };
    const input = { turn: own, head: null, messages: [], commit, ...(more.step !== undefined && { step: more.step }) };
    const { manifest } = await commitPins(
      world.store,
      input,
      { run, isCurrentRun: async () => more.isCurrent },
      createSeenRuns(),
    );
    return { path, manifest };
  };

  test.each([{ step: 1 }, {}])(
    '[FILE-23] supersedes nothing of the run after it, and changes nothing (%j)',
    async (more) => {
      await commitAs('first', 'one', { step: 1, isCurrent: true });
      const newer = await commitAs('second', 'two', { step: 1, isCurrent: true });
      const standing = await loadManifest(world.store, own);
      expect(standing?.files.find(({ path }) => path === newer.path)?.state).toBe('pinned');
      await expect(commitAs('first', 'three', { ...more, isCurrent: false })).rejects.toMatchObject({
        type: 'RunCutOff',
      });
      const zombie = { run: 'first', isCurrentRun: async () => false };
      await expect(
        closeManifest(world.store, { turn: own, head: null, ended: 'failed' }, null, zombie),
      ).rejects.toMatchObject({
        type: 'RunCutOff',
      });
      expect(await loadManifest(world.store, own)).toEqual(standing);
    },
  );
});
