// A turn that waited goes on: both records of its pins are compared, every file is read, and what is lost is told to the model.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLocalStore } from '../../activities/store/local.ts';
import { findFile, loadManifest, manifestKey, updateManifest } from '../../activities/store/manifest.ts';
import type { CallModelInput, CallModelResult, CommitStepInput } from '../../shared/activities.ts';
import type { FileStore } from '../../shared/file-store.ts';
import type { Manifest, ManifestFile } from '../../shared/manifest.ts';
import { retryCall } from '../../client/retry-call.ts';
import { at, decide, eventually, waitingCall } from '../support/approvals.ts';
import { deskOf, Gates, openDesk, reader, writer } from '../support/local-tools.ts';
import { activitiesOf, contentText, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type StartedTurn, type World } from '../support/turn-world.ts';

let effects = 0;
const gates = new Gates();
const desk = deskOf(
  reader('short', () => 'The pilot boards at the outer buoy. '.repeat(80)),
  reader('figures', ({ name }) => `${String(name)}: the harbour counts.\n`.repeat(1_200)),
  writer('change', () => {
    effects += 1;
    return 'changed';
  }),
);
const gatedDesk = { mcp_servers: [{ name: 'desk', preload: true }] };
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

const ownerOf = ({ workflowId }: Pick<StartedTurn, 'workflowId'>) => ({ workflowId, session: workflowId, turn: 1 });

/** A turn with a file of step 0 and one of a settled sibling, that waits for a person in step 1. */
async function waiting(
  name: string,
): Promise<StartedTurn & { readonly manifest: Manifest; readonly approve: () => Promise<unknown> }> {
  const turn = await world.start(gatedDesk, {
    text: 'Go.',
    script: inOrder(
      { toolCalls: [call('figures', { name: `${name} 0` })] },
      { toolCalls: [call('figures', { name: `${name} 1` }), call('change')] },
      { text: 'done' },
    ),
  });
  const asked = await waitingCall(turn);
  // Once as soon as a call is gated, and again when its sibling has settled.
  const manifest = await eventually(
    () => loadManifest(world.store, ownerOf(turn)),
    (found) => found?.files.length === 2,
  );
  if (!manifest) throw new Error('no manifest');
  return { ...turn, manifest, approve: () => decide(at(world, turn), asked, 'approve') };
}

const lostFilesOf = async (workflowId: string): Promise<readonly string[]> => {
  const events = (await world.client.workflow.getHandle(workflowId).fetchHistory()).events ?? [];
  return events.flatMap((event) => {
    const data = event.activityTaskCompletedEventAttributes?.result?.payloads?.[0]?.data;
    if (!data) return [];
    // Results of our own Activities, in the default encoding.
    const result = JSON.parse(Buffer.from(data).toString('utf8')) as Partial<CallModelResult>;
    return (result.lostFiles ?? []).map((file) => `${file.callKey} ${file.problem}`);
  });
};

describe.concurrent('a turn whose manifest is removed while it runs', () => {
  /** Figures in steps 0 and 1; the manifest goes while the model answers request `at`, together with a blob. */
  async function robbed(
    at: number,
  ): Promise<EndedTurn & { readonly lost: string; readonly manifest: Manifest | null }> {
    let lost = '';
    const steps = inOrder(
      { toolCalls: [call('figures', { name: `robbed ${at} 0` })] },
      { toolCalls: [call('figures', { name: `robbed ${at} 1` })] },
      { toolCalls: [call('figures', { name: `robbed ${at} 2` })] },
      { text: 'done' },
    );
    const turn = await world.start(openDesk, {
      text: 'Go.',
      script: async (request, index) => {
        if (index === at) {
          lost = (await loadManifest(world.store, ownerOf(turn)))?.files[0]?.sha256 ?? '';
          await world.store.deleteObject(manifestKey(ownerOf(turn)));
          await world.store.deleteBlob(lost);
        }
        return steps(request, index);
      },
    });
    const ended = await turn.ended();
    return { ...ended, lost, manifest: await loadManifest(world.store, ownerOf(turn)) };
  }
  const rebuilds = ({ history }: EndedTurn) =>
    activitiesOf<CommitStepInput>(history, 'longshoreCommitStep').filter(({ input }) => input.rebuild);

  it('[FILE-21] makes it again with every pin of its history, tells the model what is lost, and goes on', async () => {
    const turn = await robbed(2);
    expect(turn.result).toMatchObject({ status: 'completed', answer: 'done', error: null });
    expect(rebuilds(turn)).toHaveLength(1);
    expect(turn.manifest?.ended).toBe('completed');
    expect(turn.manifest?.files.map(({ callKey, tool, state }) => `${callKey} ${tool} ${state}`)).toEqual([
      't1/0/0 figures pinned',
      't1/1/0 figures pinned',
      't1/2/0 figures pinned',
    ]);
    expect(turn.lost).not.toBe('');
    expect(await lostFilesOf(turn.workflowId)).toEqual(['t1/0/0 missing']);
    expect(turn.requests[3]?.messages.map(contentText).join('\n')).toContain('gone from the file store');
  });

  it('[FILE-21] does so at its end too, when nothing is left but to close it', async () => {
    const turn = await robbed(3);
    expect(turn.result).toMatchObject({ status: 'completed', answer: 'done' });
    expect(rebuilds(turn)).toHaveLength(1);
    expect(turn.manifest?.ended).toBe('completed');
    expect(turn.manifest?.files).toHaveLength(3);
  });
});

describe.concurrent('a turn that waited', () => {
  it('[FILE-4] has its pins, what is held and what waits in the manifest meanwhile, and compares both records when it goes on', async () => {
    const { manifest, approve, ...turn } = await waiting('kept');
    expect(manifest.files.map(({ callKey, state }) => `${callKey} ${state}`)).toEqual([
      't1/0/0 pinned',
      't1/1/0 staged',
    ]);
    expect(manifest).toMatchObject({
      waiting: [{ callKey: 't1/1/1', kind: 'approval' }],
      head: { bytes: expect.any(Number) },
    });
    expect(manifest.savedAt).toBeGreaterThan(0);
    await approve();
    const { history, result } = await turn.ended();
    expect(result.status).toBe('completed');
    const inputs = activitiesOf<CallModelInput>(history, 'longshoreCallModel').map(({ input }) => input);
    expect(inputs.map((input) => input.resume?.pins.map((pin) => pin.staged ?? 'pinned'))).toEqual([
      undefined,
      undefined,
      ['pinned', 't1/1/0'],
    ]);
    const after = await loadManifest(world.store, ownerOf(turn));
    expect(after?.files.map(({ callKey, state }) => `${callKey} ${state}`)).toEqual(['t1/0/0 pinned', 't1/1/0 pinned']);
    expect(after).toMatchObject({ ended: 'completed', endedAt: expect.any(Number) });
    expect(after).not.toHaveProperty('waiting');
    expect(after?.files[1]?.pinnedAt).toBe(manifest.files[1]?.pinnedAt);
  });

  it('[FILE-4] in which a person had a call made again beside a model call goes on, and compares after that wait too', async () => {
    const turn = await world.start(gatedDesk, {
      text: 'Go.',
      script: async (_request, n) => {
        if (n === 0) return { toolCalls: [call('change', { n })] };
        if (n === 1) return { toolCalls: [call('short')] };
        if (n === 2) await gates.pass('beside');
        return n <= 3 ? { toolCalls: n === 2 ? [call('short')] : [call('change', { n })] } : { text: 'done' };
      },
    });
    await decide(at(world, turn), await waitingCall(turn), 'approve');
    await gates.reached('beside');
    await retryCall(world.client, turn.workflowId, 't1/0/0');
    const anew = await waitingCall(turn);
    gates.open('beside');
    const openCalls = async (): Promise<string> => (await turn.state()).openCalls.join();
    await eventually(
      async () => (await turn.state()).step,
      (step) => step === 2,
    );
    await eventually(openCalls, (keys) => keys === 't1/0/0');
    await decide(at(world, turn), anew, 'approve');
    const last = await eventually(
      async () => (await turn.state()).waiting?.find(({ callKey }) => callKey === 't1/3/0'),
      (found) => found !== undefined,
    );
    if (!last) throw new Error('nothing waits');
    await decide(at(world, turn), last, 'approve');
    const { result, history } = await turn.ended();
    expect(result).toMatchObject({ status: 'completed', error: null });
    const inputs = activitiesOf<CallModelInput>(history, 'longshoreCallModel').map(({ input }) => input);
    expect(inputs.map((input) => input.resume !== undefined)).toEqual([false, true, false, true, true]);
  });

  it.each<readonly [string, (files: readonly ManifestFile[]) => readonly ManifestFile[], RegExp]>([
    [
      'lacks one',
      (files) => files.slice(1),
      /history pins \S+t1\.0\.0\S+ \(SHA-256 [0-9a-f]{64}, \d+ bytes\), the manifest does not know it/,
    ],
    [
      'has other content',
      ([one, ...rest]) => (one ? [{ ...one, sha256: 'f'.repeat(64) }, ...rest] : rest),
      /the manifest has it with SHA-256 f{64}/,
    ],
    [
      'has let one go',
      ([one, ...rest]) => (one ? [{ ...one, state: 'released' }, ...rest] : rest),
      /the manifest has it as released/,
    ],
    [
      'has one more',
      (files) => [...files, ...files.slice(0, 1).map((file) => ({ ...file, path: '/sandbox/smuggled.txt' }))],
      /the manifest has \/sandbox\/smuggled\.txt as pinned .*history does not pin it/,
    ],
  ])(
    '[FILE-15] whose manifest %s ends with PinsDiffer, which names both records, and nothing is deleted',
    async (what, tamper, words) => {
      const turn = await waiting(what);
      await updateManifest(world.store, ownerOf(turn), (manifest) => ({ ...manifest, files: tamper(manifest.files) }));
      await turn.approve();
      const { result } = await turn.ended();
      expect(result).toMatchObject({
        status: 'failed',
        error: { type: 'PinsDiffer', message: expect.stringMatching(words) },
      });
      for (const file of turn.manifest.files) expect(await world.store.statBlob(file.sha256)).not.toBeNull();
    },
  );

  it('[FILE-13] with files that are gone and altered tells the model which, and goes on', async () => {
    const turn = await waiting('lost');
    const [first, second] = turn.manifest.files;
    await world.store.deleteBlob(first?.sha256 ?? '');
    await replaceBlob(second?.sha256 ?? '');
    await turn.approve();
    const { requests, result } = await turn.ended();
    expect(result.status).toBe('completed');
    const told = contentText(requests[2]?.messages.at(-1));
    expect(told).toContain(
      `${first?.path}: gone from the file store; expected ${first?.bytes} bytes with SHA-256 ${first?.sha256}`,
    );
    expect(told).toContain(`${second?.path}: altered in the file store`);
    expect(told).toContain('Made by call t1/1/0 (desk/figures): repeat that call');
    expect(await lostFilesOf(turn.workflowId)).toEqual(['t1/0/0 missing', 't1/1/0 altered']);
  });

  it('[FILE-13] whose transcript was lost meanwhile ends typed, although its Worker remembers it', async () => {
    const turn = await waiting('transcript');
    const { head } = await turn.state();
    await world.store.deleteBlob(head?.sha256 ?? '');
    await turn.approve();
    const { result } = await turn.ended();
    expect(result).toMatchObject({
      status: 'failed',
      error: { type: 'TranscriptBroken', message: expect.stringContaining(head?.sha256 ?? 'a head') },
    });
  });

  it('[FILE-13] by another turn that continues it, is checked too: what was lost is told to that one', async () => {
    const script = inOrder({ toolCalls: [call('figures', { name: 'continued' })] }, { text: 'done' });
    const first = await world.run(openDesk, { script });
    const file = (await loadManifest(world.store, ownerOf(first)))?.files[0];
    await world.store.deleteBlob(file?.sha256 ?? '');
    const next = await world.run(openDesk, {
      text: 'On.',
      continueFrom: first.workflowId,
      script: inOrder({ text: 'I see.' }),
    });
    const texts = next.requests[0]?.messages.map(contentText) ?? [];
    expect(texts.filter((text) => text.includes('Files check'))).toHaveLength(1);
    expect(texts.at(-1)).toBe('On.');
    expect(next.result.status).toBe('completed');
  });

  it('[FILE-13] by another turn that continues it, ends typed where a part of its transcript was lost meanwhile', async () => {
    const script = inOrder({ toolCalls: [call('figures', { name: 'torn' })] }, { text: 'done' });
    const { result, workflowId } = await world.run(openDesk, { script });
    const segment = JSON.parse(Buffer.from(await world.store.readBlob(result.head?.sha256 ?? '')).toString('utf8'));
    await world.store.deleteBlob(segment.previous.sha256);
    const next = await world.run(openDesk, {
      text: 'On.',
      continueFrom: workflowId,
      script: inOrder({ text: 'Not asked.' }),
    });
    expect(next.result).toMatchObject({
      status: 'failed',
      error: { type: 'TranscriptBroken', message: expect.stringContaining(segment.previous.sha256) },
    });
    expect(next.requests).toEqual([]);
  });
});

/** Writes other bytes of the same size over a blob, as a failing disk would. */
async function replaceBlob(sha256: string): Promise<void> {
  const { readdir, readFile, writeFile, chmod } = await import('node:fs/promises');
  for (const entry of await readdir(world.folder, { recursive: true })) {
    if (!entry.endsWith(sha256)) continue;
    const path = join(world.folder, entry);
    const bytes = await readFile(path);
    await chmod(path, 0o600);
    await writeFile(path, bytes.fill(0x78, 0, 10));
  }
}

it('[FILE-16] srv-6: two Workers on one machine and temporary folder, each with its own store, do not touch each other’s files', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-two-'));
  const stores = ['one', 'two'].map((namespace) => createLocalStore({ folder, namespace }));
  const worlds = await Promise.all(stores.map((store) => createWorld({ plugin: { store, localServers: [desk] } })));
  try {
    const script = () => inOrder({ toolCalls: [call('figures', { name: 'same' })] }, { text: 'done' });
    const workflowIds = await Promise.all(
      worlds.map(async (one) => (await one.run(openDesk, { script: script() })).workflowId),
    );
    const [first, second] = await Promise.all(
      stores.map(async (store, i) => loadManifest(store, ownerOf({ workflowId: workflowIds[i] ?? '' }))),
    );
    expect(first?.files[0]?.path).toBe(second?.files[0]?.path);
    const sha256 = first?.files[0]?.sha256 ?? '';
    await stores[0]?.deleteBlob(sha256);
    expect(await stores[1]?.statBlob(sha256)).not.toBeNull();
    expect(await findFile(stores[1] ?? world.store, first?.files[0]?.path ?? '')).toHaveLength(1);
  } finally {
    await Promise.all(worlds.map((one) => one.close()));
    await rm(folder, { recursive: true, force: true });
  }
});

it('[FILE-6] file-2: the path of a file that was superseded is found by the turn after next', async () => {
  const script = inOrder({ toolCalls: [call('figures', { name: 'chain' })] }, { text: 'done' });
  const first = await world.run(openDesk, { script });
  const old = (await loadManifest(world.store, ownerOf(first)))?.files[0];
  if (!old) throw new Error('no file');
  const { sha256, bytes } = await world.store.putBlob(Buffer.from('the newer content'));
  const newer = old.path.replace(old.sha256.slice(0, 16), sha256.slice(0, 16));
  await updateManifest(world.store, ownerOf(first), (manifest) => ({
    ...manifest,
    files: [
      { ...old, state: 'superseded', supersededBy: newer },
      { ...old, path: newer, sha256, bytes, state: 'released' },
    ],
  }));
  await world.store.deleteBlob(old.sha256);
  const more = { text: 'On.', script: inOrder({ text: 'ok' }) };
  const second = await world.run(openDesk, { ...more, continueFrom: first.workflowId });
  const third = await world.run(openDesk, {
    text: 'Read.',
    continueFrom: second.workflowId,
    script: inOrder({ toolCalls: [{ name: 'sandbox__read_file', arguments: { path: old.path } }] }, { text: 'done' }),
  });
  expect(toolTexts(third.requests[1]).at(-1)).toMatch(/was superseded.*\n.*\nthe newer content/s);
  const kept = (await loadManifest(world.store, { ...ownerOf(third), session: first.workflowId }))?.files;
  expect(kept?.map((file) => file.state)).toEqual(['superseded', 'pinned']);
  expect(effects).toBeGreaterThan(0);
});

it('[FILE-20] a step without waits writes the manifest where it pins something, and nowhere else', async () => {
  const written: string[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'longshore-writes-'));
  const local = createLocalStore({ folder, namespace: 'default' });
  const store: FileStore = {
    ...local,
    putObject: (key, ...rest) => {
      written.push(key.split('/')[0] ?? '');
      return local.putObject(key, ...rest);
    },
  };
  const own = await createWorld({ plugin: { store, localServers: [desk] } });
  try {
    const short = { toolCalls: [{ name: 'sandbox__list_files', arguments: {} }] };
    const long = { toolCalls: [call('figures', { name: 'pinned' })] };
    const { history } = await own.run(openDesk, { script: inOrder(short, short, long, short, { text: 'done' }) });
    // What the server offers, as it is seen for the first time; then the turn's beginning, the one file, the turn's end.
    expect(written).toEqual(['catalogs', 'manifests', 'manifests', 'manifests']);
    expect(activitiesOf(history, 'longshoreVerifyFiles')).toEqual([]);
    expect(activitiesOf(history, 'longshoreCommitStep')).toHaveLength(1);
  } finally {
    await own.close();
    await rm(folder, { recursive: true, force: true });
  }
});
