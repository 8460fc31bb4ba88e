// The retention sweep as a Workflow on a real server, beside turns that wait, end, are terminated and deleted. Days pass by the
// clock that sweeps go by.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deleteExecutions } from '../../client/purge.ts';
import { resetTurn } from '../../client/reset.ts';
import { runSweep } from '../../client/sweep.ts';
import { turnInput } from '../../client/turns.ts';
import { listManifests } from '../../activities/store/manifest.ts';
import { CATALOG_RECORDS } from '../../shared/catalog-record.ts';
import type { RetentionSweepResult } from '../../shared/sweep.ts';
import { attachDevServer, type DevServerLease } from '../../worker/dev-server.ts';
import { openHome } from '../../worker/home.ts';
import type { ScriptedModel } from '../../testing/scripted-model.ts';
import { at, decide, eventually, waitingCall } from '../support/approvals.ts';
import { deskOf, openDesk, reader, writer } from '../support/local-tools.ts';
import { inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, specOf, type StartedTurn, type World } from '../support/turn-world.ts';

const DAY = 86_400_000;
/** What was written, in order: each effect once. */
const effects: string[] = [];
const effect = (tool: string, name: unknown): string => {
  effects.push(`${tool} ${String(name)}`);
  return `counted ${String(name)}`;
};
const desk = deskOf(
  writer('change', () => 'changed'),
  writer('count', ({ name }) => effect('count', name)),
  writer('recount', ({ name }) => `${effect('recount', name)}. ${'The tide tables were written anew. '.repeat(2_000)}`),
  reader('report', ({ of }) => `The pilot of ${String(of)} boards at the outer buoy. `.repeat(1_500)),
);
const spec = { mcp_servers: [{ name: 'desk', preload: true }], config: { retention: { after_turn: '7d' } } };
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

/** Of turns in line: a report, then a write. */
const inLine: ScriptedModel = ({ messages }) => {
  const answers = messages.filter(({ role }) => role === 'assistant').length;
  if (answers === 0) return { toolCalls: [call('report', { of: 'Dover' })] };
  return answers === 1 ? { toolCalls: [call('change')] } : { text: 'done' };
};

let folder: string;
let lease: DevServerLease;
let world: World;
/** How far the clock of the sweeps is ahead. */
let ahead = 0;

// A server of its own: what other tests run there would be turns of which this store knows nothing.
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-retention-'));
  lease = await attachDevServer(await openHome({ LONGSHORE_HOME: join(folder, 'home') }, folder), {
    kind: 'dev',
    log: () => {},
  });
  const plugin = { localServers: [desk], sweepClock: () => Date.now() + ahead };
  const workflowsPath = fileURLToPath(new URL('../support/own-workflows.ts', import.meta.url));
  world = await createWorld({ address: lease.address, plugin, script: inLine, worker: { workflowsPath } });
});
afterAll(async () => {
  await world.close();
  await lease.release();
  await rm(folder, { recursive: true, force: true, maxRetries: 40, retryDelay: 250 });
});

const sweep = (): Promise<RetentionSweepResult> => runSweep(world.client, world.taskQueue, {});
/** Blobs but the catalogs that records of tool servers name: those belong to no turn. */
const blobsOfTurns = async (): Promise<number> => {
  const records: string[] = [];
  for await (const key of world.store.listObjects(CATALOG_RECORDS)) {
    records.push(Buffer.from((await world.store.getObject(key))?.body ?? []).toString('utf8'));
  }
  const blobs = await Array.fromAsync(world.store.listBlobs());
  return blobs.filter(({ sha256 }) => !records.some((record) => record.includes(sha256))).length;
};
/** A turn with a report in a file, which then waits for a person. */
const waitingTurn = async (of: string): Promise<StartedTurn> => {
  const script = inOrder(
    { toolCalls: [call('report', { of })] },
    { toolCalls: [call('report', { of: `${of}, again` }), call('change')] },
    { text: 'done' },
  );
  return world.start(spec, { text: 'Go on.', script });
};

describe('the sweep beside turns', () => {
  it('[KEEP-1] deletes nothing of a turn that waits, all through its pause; and leaves nothing once it is over', async () => {
    ahead = 0;
    const turn = await waitingTurn('Rotterdam');
    const asked = await waitingCall(turn);
    for (const days of [1, 2, 8, 40, 400]) {
      ahead = days * DAY;
      expect(await sweep()).toMatchObject({ blobsDeleted: 0, filesDeleted: 0, filesReleased: 0, stopped: false });
    }
    const [manifest] = await Array.fromAsync(listManifests(world.store));
    expect(manifest?.files.map(({ state }) => state)).toEqual(['pinned', 'staged']);
    for (const file of manifest?.files ?? []) {
      expect((await world.store.readBlob(file.sha256)).byteLength).toBe(file.bytes);
    }
    await decide(at(world, turn), asked, 'approve');
    expect((await turn.result()).status).toBe('completed');
    ahead = 0;
    expect((await sweep()).filesReleased).toBe(2);
    ahead = 6 * DAY;
    expect((await sweep()).filesDeleted).toBe(0);
    ahead = 8 * DAY;
    // Its journal stays, and a manifest for it, as long as Temporal can reset the turn.
    expect(await sweep()).toMatchObject({ filesDeleted: 2, transcriptsDeleted: 1, manifestsDeleted: 0 });
    expect(await blobsOfTurns()).toBe(0);
  });

  it('[KEEP-16] leaves enough of a closed turn that a reset does not send its writes again', async () => {
    ahead = 0;
    const write = (name: string) => ({ toolCalls: [call('count', { name }), call('recount', { name })] });
    const done = { text: 'done' };
    const path = '/sandbox/tool-results/t1.0.1-recount-213f20d34cf09c1b.txt';
    const read = { toolCalls: [{ name: 'sandbox__read_file', arguments: { path } }] };
    const script = inOrder(write('first'), done, write('first'), read, done);
    const turn = await world.start(openDesk, { text: 'Go on.', script });
    expect((await turn.result()).status).toBe('completed');
    const once = ['count first', 'recount first'];
    expect(effects.toSorted()).toEqual(once);
    expect((await sweep()).filesReleased).toBe(1);
    ahead = 40 * DAY;
    expect(await sweep()).toMatchObject({ filesDeleted: 1, transcriptsDeleted: 1, journalsDeleted: 0 });
    expect(await blobsOfTurns()).toBe(0);
    ahead = 0;
    await resetTurn(world.client, turn.workflowId, { step: 0 });
    const result = await world.client.workflow.getHandle(turn.workflowId).result();
    expect(result).toMatchObject({ status: 'completed', answer: 'done', steps: 3 });
    expect(effects.toSorted()).toEqual(once);
    const { requests } = await turn.ended();
    const [short, long, lost] = toolTexts(requests.at(-1));
    expect(short).toBe('counted first');
    expect(long).toContain(path);
    expect(lost).toContain('is gone from the file store');
    ahead = 80 * DAY;
    expect((await sweep()).openTurns).toBe(0);
  });

  it('[KEEP-1] deletes nothing of turns in line while the Workflow that runs them is open, and lets go once it is closed', async () => {
    ahead = 0;
    const { client, taskQueue } = world;
    const workflowId = `own-${taskQueue}`;
    const message = { type: 'user.message' as const, content: 'Twice.' };
    const input = await turnInput(client, { workflowId, spec: specOf(spec), message });
    const handle = await client.workflow.start('twoInline', { workflowId, taskQueue, args: [input] });
    const manifests = async () =>
      (await Array.fromAsync(listManifests(world.store))).filter(({ turn }) => turn.workflowId.startsWith(workflowId));
    const waiting = await eventually(manifests, (all) => all.length === 2 && all.every((one) => one.waiting));
    for (const days of [1, 8, 9, 40]) {
      ahead = days * DAY;
      expect(await sweep()).toMatchObject({ openTurns: 2, filesReleased: 0, filesDeleted: 0, blobsDeleted: 0 });
    }
    expect(await manifests()).toEqual(waiting);
    ahead = 0;
    await handle.terminate();
    expect((await sweep()).filesReleased).toBe(2);
    ahead = 8 * DAY;
    expect((await sweep()).filesDeleted).toBe(2);
    expect(await blobsOfTurns()).toBe(0);
    const purged = () => deleteExecutions(client, [`${workflowId}~1`]);
    const named = { workflowId, reason: expect.stringContaining('in line') };
    await expect.poll(purged, { timeout: 20_000 }).toMatchObject({ deleted: [], notDeleted: [named] });
  });

  it('[KEEP-3] leaves nothing of turns that were terminated, and whose Workflow was deleted', async () => {
    ahead = 0;
    const terminated = await waitingTurn('Antwerp');
    const deleted = await waitingTurn('Ghent');
    await Promise.all([terminated, deleted].map(waitingCall));
    // A call that is free may end after the other waits: its file is held then too.
    const ids = [terminated.workflowId, deleted.workflowId];
    const held = async (): Promise<readonly number[]> =>
      (await Array.fromAsync(listManifests(world.store)))
        .filter(({ turn }) => ids.includes(turn.workflowId))
        .map(({ files }) => files.length);
    await expect.poll(held, { timeout: 20_000 }).toEqual([2, 2]);
    for (const turn of [terminated, deleted]) await world.client.workflow.getHandle(turn.workflowId).terminate();
    const { runId } = await world.client.workflow.getHandle(deleted.workflowId).describe();
    const workflowExecution = { workflowId: deleted.workflowId, runId };
    await world.client.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution });
    expect(await sweep()).toMatchObject({ filesReleased: 4, blobsDeleted: 0, openTurns: 0 });
    ahead = 9 * DAY;
    expect((await sweep()).filesDeleted).toBe(4);
    expect(await blobsOfTurns()).toBe(0);
    // What is left, of earlier tests too, is the journals of turns that Temporal can reset; it goes when they are deleted.
    const turns = (await Array.fromAsync(listManifests(world.store))).map(({ turn }) => turn.workflowId);
    expect(await deleteExecutions(world.client, [...turns, `own-${world.taskQueue}`])).toMatchObject({
      notDeleted: [],
    });
    ahead = 80 * DAY;
    expect((await sweep()).manifestsDeleted).toBe(turns.length);
    expect(await Array.fromAsync(world.store.listObjects('manifests'))).toEqual([]);
    expect(await Array.fromAsync(world.store.listObjects('journal'))).toEqual([]);
  });

  it('[KEEP-11] is taken up by another Worker when its own is gone', async () => {
    ahead = 0;
    const ended = await world.run(spec, {
      script: inOrder({ toolCalls: [call('report', { of: 'Hull' })] }, { text: 'done' }),
    });
    ahead = 8 * DAY;
    await world.worker.stop();
    const swept = sweep();
    const second = await world.addWorker();
    expect(await swept).toMatchObject({ filesDeleted: 1, transcriptsDeleted: 1 });
    expect(ended.result.status).toBe('completed');
    await second.stop();
  });
});
