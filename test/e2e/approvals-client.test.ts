// `longshore/client` on what waits, with real Workers: found without one, decided with one, and never an endless wait.
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineLocalTool } from '../../activities/mcp/local.ts';
import { getApproval, listApprovals, type Approval } from '../../client/approvals.ts';
import { approve, deny } from '../../client/decide.ts';
import { retryCall } from '../../client/retry-call.ts';
import { readTurn } from '../../client/turns.ts';
import { RESOLVE_APPROVAL_UPDATE } from '../../shared/approvals.ts';
import { LongshoreError } from '../../shared/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { deskOf, reader, writer } from '../support/local-tools.ts';
import { inOrder } from '../support/turn-history.ts';
import { createWorld, type StartedTurn, type World, type WorldTurn } from '../support/turn-world.ts';

const ran: string[] = [];
const desk = deskOf(
  writer('change', ({ n }) => {
    ran.push(String(n));
    return `changed ${String(n)}`;
  }),
  reader('look', () => 'seen'),
  defineLocalTool({
    name: 'strict',
    description: 'Takes n and nothing else.',
    inputSchema: z.strictObject({ n: z.string() }),
    run: () => 'taken',
  }),
);
const gated = { name: 'changer', mcp_servers: [{ name: 'desk', preload: true }] };
const change = (n: string, more: object = {}) => ({ name: 'desk__change', arguments: { n, ...more } });

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

async function start(calls: readonly ReturnType<typeof change>[], turn: WorldTurn = {}): Promise<StartedTurn> {
  const script = inOrder({ text: 'Now I change it.', toolCalls: [...calls] }, { text: 'done' });
  return world.start(gated, { text: 'Change it.', script, ...turn });
}

async function waitingOf(turn: StartedTurn, count = 1): Promise<readonly Approval[]> {
  const list = async (): Promise<readonly Approval[]> =>
    listApprovals(world.client, { workflowId: turn.workflowId, store: world.store });
  await expect.poll(async () => (await list()).length, { timeout: 30_000 }).toBe(count);
  return list();
}

async function failure(work: Promise<unknown>): Promise<LongshoreError> {
  const error: unknown = await work.then(
    () => new Error('it succeeded'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof LongshoreError) return error;
  throw error;
}

describe('what waits', () => {
  it('[APPR-1] ask-7: is listed across turns, the longest first, with tool, arguments and digest', async () => {
    const session = `s-${randomUUID()}`;
    const first = await start([change('one')], { session });
    await waitingOf(first);
    const second = await start([change('two'), change('three')], { session });
    await waitingOf(second, 2);
    // Listings lag by moments.
    const all = async (): Promise<readonly Approval[]> => listApprovals(world.client, { session });
    await expect.poll(async () => (await all()).length, { timeout: 30_000 }).toBe(3);
    const found = await all();
    expect(found.map(({ arguments: args }) => args['n'])).toEqual(['one', 'two', 'three']);
    expect(found[0]).toMatchObject({ server: 'desk', tool: 'change', digest: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect((await readTurn(world.client, second.workflowId)).steps[0]?.toolCalls).toMatchObject([
      { outcome: 'waiting', waiting: { kind: 'approval', id: found[1]?.id } },
      { outcome: 'waiting', waiting: { id: found[2]?.id } },
    ]);
    for (const { id } of found) await approve(world.client, id);
    expect(await all()).toEqual([]);
    await Promise.all([first.result(), second.result()]);
  });

  it('[APPR-1] has large arguments whole where a store is given, and a reference where none is', async () => {
    const padding = 'x'.repeat(200_000);
    const turn = await start([change('large', { padding })]);
    const [approval] = await waitingOf(turn);
    expect(approval?.arguments).toEqual({ n: 'large', padding });
    const id = approval?.id ?? '';
    const bare = await getApproval(world.client, id);
    expect(bare).toMatchObject({
      arguments: {},
      argumentsRef: { bytes: expect.any(Number) },
      said: 'Now I change it.',
    });
    await deny(world.client, id);
    await turn.result();
  });
});

describe('a decision', () => {
  it('[APPR-14] without a Worker ends in time and says that it is not accepted; sent again it counts once', async () => {
    const lonely = await createWorld({ plugin: { localServers: [desk] } });
    try {
      const script = inOrder({ toolCalls: [change('lonely')] }, { text: 'done' });
      const turn = await lonely.start(gated, { text: 'Go.', script });
      const list = async (): Promise<readonly Approval[]> =>
        listApprovals(lonely.client, { workflowId: turn.workflowId });
      await expect.poll(async () => (await list()).length, { timeout: 30_000 }).toBe(1);
      await lonely.worker.stop();
      const [approval] = await list();
      const id = approval?.id ?? '';
      const began = performance.now();
      const error = await failure(approve(lonely.client, id, { timeoutMs: 1_500 }));
      expect(error).toMatchObject({ type: 'WorkerMissing', message: expect.stringContaining('it is not accepted') });
      expect(error.mend).toContain(`--task-queue ${lonely.taskQueue}`);
      expect(performance.now() - began).toBeLessThan(20_000);
      await lonely.addWorker();
      await approve(lonely.client, id);
      expect((await turn.result()).status).toBe('completed');
      expect(ran.filter((n) => n === 'lonely')).toHaveLength(1);
    } finally {
      await lonely.close();
    }
  });

  it('[APPR-14] too large for Temporal is not sent: the turn, which could neither take nor refuse it, stays open to others', async () => {
    const turn = await start([change('stuffed')]);
    const [approval] = await waitingOf(turn);
    const id = approval?.id ?? '';
    const large = 'x'.repeat(2_200_000);
    const sent = [
      () => approve(world.client, id, { arguments: { n: 'stuffed', large } }),
      () => deny(world.client, id, { reason: large }),
      () => retryCall(world.client, turn.workflowId, 't1/0/0', { reason: large }),
    ];
    for (const send of sent) {
      expect(await failure(send())).toMatchObject({
        type: 'SizeLimit',
        message: expect.stringContaining('limit is 1900000. Nothing was sent'),
      });
    }
    await approve(world.client, id);
    expect((await turn.result()).status).toBe('completed');
  });

  it('[APPR-14] by a digest or a call key of any length is refused in few words', async () => {
    const turn = await start([change('keyed')]);
    const [approval] = await waitingOf(turn);
    const id = approval?.id ?? '';
    const long = '9'.repeat(720_000);
    const refusals = [
      await failure(approve(world.client, id, { digest: long })),
      await failure(retryCall(world.client, turn.workflowId, `t1/0/${long}`)),
    ];
    expect(refusals.map(({ type }) => type)).toEqual(['ApprovalInvalid', 'UsageInvalid']);
    for (const { message } of refusals) expect(message.length).toBeLessThan(500);
    await approve(world.client, id);
    expect((await turn.result()).status).toBe('completed');
  });

  it('[APPR-14] with arguments that do not fit is refused again and again without filling the history', async () => {
    const turn = await start([{ name: 'desk__strict', arguments: { n: 'strict' } }]);
    const [approval] = await waitingOf(turn);
    const id = approval?.id ?? '';
    const odd = 'x'.repeat(990_000);
    for (let time = 0; time < 4; time += 1) {
      const refused = await failure(approve(world.client, id, { arguments: { odd } }));
      expect(refused.message).toContain('do not fit the schema of `strict`');
    }
    for (let time = 0; time < 2; time += 1) {
      const refused = await failure(approve(world.client, id, { arguments: { odd } }));
      expect(refused).toMatchObject({
        type: 'ApprovalInvalid',
        message: expect.stringMatching(/is not taken: .*The call waits on/),
      });
    }
    const { historySize = 0 } = await world.client.workflow.getHandle(turn.workflowId).describe();
    expect(historySize).toBeLessThan(10_000_000);
    await approve(world.client, id);
    expect((await turn.result()).status).toBe('completed');
  });

  it('[APPR-14] with arguments nested without end is refused before it is sent', async () => {
    const turn = await start([change('nested')]);
    const [approval] = await waitingOf(turn);
    let nested: JsonObject = {};
    for (let level = 0; level < 20_000; level += 1) nested = { nested };
    const refused = await failure(approve(world.client, approval?.id ?? '', { arguments: nested }));
    expect(refused).toMatchObject({ type: 'ApprovalInvalid', message: expect.stringContaining('Nothing was sent') });
    await deny(world.client, approval?.id ?? '');
    await turn.result();
  });

  it('[APPR-14] goes through where another client has sent one that is too large, and has left', async () => {
    const turn = await start([change('beset')]);
    const [approval] = await waitingOf(turn);
    const { callKey = '', digest = '', id = '' } = approval ?? {};
    const decision = { type: 'approve', arguments: { n: 'x'.repeat(2_200_000) } } as const;
    const input = { workflowId: turn.workflowId, callKey, digest, approver: 'another client', decision };
    const other = new AbortController();
    const sent = world.client.connection
      .withAbortSignal(other.signal, () =>
        world.client.workflow.getHandle(turn.workflowId).executeUpdate(RESOLVE_APPROVAL_UPDATE, { args: [input] }),
      )
      .then(String, String);
    const attempts = async (): Promise<number> =>
      (await world.client.workflow.getHandle(turn.workflowId).describe()).raw.pendingWorkflowTask?.attempt ?? 0;
    // From the third on the server takes no more Updates, until it has let go of those that are pending.
    await expect.poll(attempts, { timeout: 30_000 }).toBeGreaterThan(10);
    other.abort();
    expect(await sent).toMatch(/cancel/i);
    await approve(world.client, id);
    expect((await turn.result()).status).toBe('completed');
    expect(ran.filter((n) => n === 'beset')).toHaveLength(1);
  });

  it('[APPR-14] on a turn that was terminated or cancelled says so, with what became of the call', async () => {
    const terminated = await start([change('gone')]);
    const [first] = await waitingOf(terminated);
    await world.client.workflow.getHandle(terminated.workflowId).terminate('no more');
    expect(await failure(approve(world.client, first?.id ?? ''))).toMatchObject({
      type: 'TurnClosed',
      message: expect.stringMatching(/terminated.*`t1\/0\/0` was not made/),
    });
    const cancelled = await start([change('gone too')]);
    const [second] = await waitingOf(cancelled);
    await cancelled.cancel();
    await cancelled.result();
    expect(await failure(deny(world.client, second?.id ?? ''))).toMatchObject({
      type: 'TurnClosed',
      message: expect.stringMatching(/\(cancelled\).*ended as cancelled/),
    });
    expect(ran).not.toContain('gone');
  });

  it('[APPR-6] ask-6: bound to one call of one turn: that of another turn or of other arguments is refused', async () => {
    const [one, other] = [await start([change('mine')]), await start([change('yours')])];
    const [mine] = await waitingOf(one);
    const [yours] = await waitingOf(other);
    const digest = mine?.digest ?? '';
    expect((await failure(approve(world.client, yours?.id ?? '', { digest }))).type).toBe('ApprovalStale');
    expect((await failure(approve(world.client, `${one.workflowId}:t1.7.7`))).type).toBe('ApprovalNotFound');
    expect((await failure(approve(world.client, 'turn-of-nobody:t1.0.0'))).type).toBe('TurnNotFound');
    expect((await failure(approve(world.client, 'no id at all'))).type).toBe('ApprovalNotFound');
    expect((await failure(approve(world.client, mine?.id ?? '', { approver: 'x'.repeat(201) }))).type).toBe(
      'ApprovalInvalid',
    );
    await Promise.all([approve(world.client, mine?.id ?? ''), approve(world.client, yours?.id ?? '')]);
    await Promise.all([one.result(), other.result()]);
    expect(ran.filter((n) => n === 'mine' || n === 'yours').toSorted()).toEqual(['mine', 'yours']);
  });

  it('[APPR-9] ask-5: of eight at one instant one stands, and the call runs once', async () => {
    const turn = await start([change('contested')]);
    const [approval] = await waitingOf(turn);
    const id = approval?.id ?? '';
    const sent = Array.from({ length: 8 }, async (_, index) =>
      index % 2 === 0 ? approve(world.client, id) : deny(world.client, id, { reason: 'no' }),
    );
    const settled = await Promise.allSettled(sent);
    const stood = settled.flatMap((one) =>
      one.status === 'fulfilled' && !one.value.repeated ? [one.value.decision] : [],
    );
    expect(stood).toHaveLength(1);
    const refused = settled.flatMap((one) => (one.status === 'rejected' ? [(one.reason as LongshoreError).type] : []));
    for (const type of refused) expect(['ApprovalConflict', 'TurnClosed']).toContain(type);
    await turn.result();
    expect(ran.filter((n) => n === 'contested')).toHaveLength(stood[0] === 'approve' ? 1 : 0);
  });
});
