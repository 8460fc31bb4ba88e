// Calls that wait for a person, on the real dev server: what is asked, which decisions stand, which are refused and why.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommitStepInput } from '../../shared/activities.ts';
import { at, decide, eventually, refusalOf, waitingCall, waitingCalls } from '../support/approvals.ts';
import { deskOf, Gates, reader, writer } from '../support/local-tools.ts';
import { activitiesOf, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type StartedTurn, type World } from '../support/turn-world.ts';

const gates = new Gates();
/** What ran, by the `n` of its arguments. */
const ran: string[] = [];
const desk = deskOf(
  writer('change', ({ n }) => {
    ran.push(String(n));
    return `changed ${String(n)}`;
  }),
  writer('slow', async ({ n }, { signal }) => {
    ran.push(String(n));
    await gates.pass(String(n), signal);
    return `slowly ${String(n)}`;
  }),
  reader('echo', ({ text }) => String(text)),
  reader('report', () => 'The pilot boards at the outer buoy. '.repeat(1_500)),
);
const gated = { mcp_servers: [{ name: 'desk', preload: true }] };
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });
const runsOf = (n: string): number => ran.filter((one) => one === n).length;

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

/** A turn whose first step asks for these calls. */
const asking = (...toolCalls: readonly ReturnType<typeof call>[]): Promise<StartedTurn> =>
  world.start(gated, { text: 'Go on.', script: inOrder({ toolCalls }, { text: 'done' }) });

describe.concurrent('gated calls of a step', () => {
  it('[ASK-1] ask-1: the approved one runs once, the denied one never, the free one at once; in call order', async () => {
    const turn = await asking(call('change', { n: 'a' }), call('change', { n: 'b' }), call('echo', { text: 'free' }));
    const [first, second] = await waitingCalls(turn, 2);
    expect(await turn.state()).toMatchObject({ status: 'waiting', openCalls: ['t1/0/0', 't1/0/1'] });
    await decide(at(world, turn), second ?? never(), 'deny', { reason: 'not today' });
    await decide(at(world, turn), first ?? never(), 'approve');
    const { result, requests, view } = await turn.ended();
    expect(result).toMatchObject({ status: 'completed', answer: 'done' });
    const [a, b, c] = toolTexts(requests[1]);
    expect([a, c]).toEqual(['changed a', 'free']);
    expect(b).toMatch(/denied this call of `change` on server `desk`.*not made.*Reason: not today/s);
    expect(view.steps[0]?.toolCalls.map((one) => one.outcome)).toEqual(['ok', 'denied', 'ok']);
    expect([runsOf('a'), runsOf('b')]).toEqual([1, 0]);
  });

  it('[ASK-7] ask-7: are shown with tool, server, arguments, digest, the files they name and since when', async () => {
    const before = Date.now();
    const path = '/sandbox/tool-results/t1.0.0-report-0123456789abcdef.txt';
    const turn = await asking(call('change', { n: 'shown', note: `see ${path}.` }));
    const shown = await waitingCall(turn);
    expect(shown).toMatchObject({
      kind: 'approval',
      callKey: 't1/0/0',
      server: 'desk',
      tool: 'change',
      arguments: { n: 'shown', note: `see ${path}.` },
      tags: ['@write'],
      selector: '@write',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      files: [path],
      expiresAt: null,
      onDeadline: 'expire',
    });
    expect(shown.since).toBeGreaterThan(before - 60_000);
    await decide(at(world, turn), shown, 'deny');
    await turn.result();
  });

  it('[ASK-9] are on record before they count as waiting, with the files of settled siblings, and without a transcript', async () => {
    const turn = await asking(call('report'), call('change', { n: 'pause' }));
    const shown = await waitingCall(turn);
    const manifestHolds = async (): Promise<number> => {
      const history = await world.client.workflow.getHandle(turn.workflowId).fetchHistory();
      const pauses = activitiesOf<CommitStepInput>(history, 'longshoreCommitStep');
      return pauses.at(-1)?.input.pause?.staged.length ?? 0;
    };
    await eventually(manifestHolds, (held) => held === 1);
    const history = await world.client.workflow.getHandle(turn.workflowId).fetchHistory();
    const { input } = activitiesOf<CommitStepInput>(history, 'longshoreCommitStep').at(-1) ?? never();
    expect(input.messages).toEqual([]);
    expect(input.commit).toBeUndefined();
    expect(input.pause?.waiting).toEqual([shown]);
    expect(input.pause?.staged[0]).toMatchObject({ callKey: 't1/0/0', server: 'desk', tool: 'report' });
    await decide(at(world, turn), shown, 'approve');
    expect((await turn.result()).status).toBe('completed');
  });

  it('[ASK-10] of a step that has none cost nothing: the same commands as where nothing could be gated', async () => {
    const open = { mcp_servers: [{ name: 'desk', preload: true, require_approval_for_tools: [] }] };
    const script = inOrder({ toolCalls: [call('echo', { text: 'a' })] }, { text: 'done' });
    const events = async (spec: Record<string, unknown>): Promise<readonly unknown[]> => {
      const { history } = await world.run(spec, { script });
      return (history.events ?? []).map((event) => event.eventType);
    };
    expect(await events(gated)).toEqual(await events(open));
  });

  it('[ASK-1] may be two hundred in one step: each has its own decision and its own result', async () => {
    const keys = Array.from({ length: 200 }, (_, index) => `many-${index}`);
    const turn = await asking(...keys.map((n) => call('change', { n })));
    const waiting = await waitingCalls(turn, 200);
    for (const [index, one] of waiting.entries()) {
      if (index % 10 === 9) await Promise.all(waiting.slice(index - 9, index + 1).map(decideByTurns));
      expect(one.callKey).toBe(`t1/0/${index}`);
    }
    function decideByTurns(one: (typeof waiting)[number]): Promise<unknown> {
      const isOdd = Number(one.callKey.split('/')[2]) % 2 === 1;
      return decide(at(world, turn), one, isOdd ? 'deny' : 'approve');
    }
    const { result, view, history } = await turn.ended();
    expect(result.status).toBe('completed');
    const outcomes = view.steps[0]?.toolCalls.map((one) => one.outcome) ?? [];
    expect(outcomes).toEqual(keys.map((_, index) => (index % 2 === 1 ? 'denied' : 'ok')));
    const pauses = activitiesOf<CommitStepInput>(history, 'longshoreCommitStep').filter(({ input }) => input.pause);
    expect(pauses.map(({ input }) => input.pause?.waiting.length)).toEqual([200]);
    expect(keys.map(runsOf)).toEqual(keys.map((_, index) => (index % 2 === 1 ? 0 : 1)));
  }, 120_000);
});

describe.concurrent('a waiting turn', () => {
  it('[ASK-22] is found by its Search Attributes over all sessions, until the last decision', async () => {
    const turn = await asking(call('change', { n: 'found' }), call('change', { n: 'found too' }));
    const [first, second] = await waitingCalls(turn, 2);
    const found = async (query: string): Promise<readonly unknown[]> => {
      const seen: unknown[] = [];
      const all = `WorkflowId = '${turn.workflowId}' AND ${query}`;
      for await (const info of world.client.workflow.list({ query: all })) {
        seen.push(info.searchAttributes['LongshoreWaitingSince']?.[0] ?? 'no time');
      }
      return seen;
    };
    const isOne = (seen: readonly unknown[]): boolean => seen.length === 1;
    const [since] = await eventually(() => found("LongshoreStatus = 'waiting'"), isOne);
    expect(since).toEqual(new Date(first?.since ?? 0));
    await decide(at(world, turn), first ?? never(), 'deny');
    expect(await found("LongshoreStatus = 'waiting'")).toHaveLength(1);
    await decide(at(world, turn), second ?? never(), 'deny');
    await turn.result();
    expect(await eventually(() => found("LongshoreStatus = 'completed'"), isOne)).toEqual(['no time']);
  });
});

describe.concurrent('a decision', () => {
  it('[ASK-2] ask-2: sent twice is one; another one after it is refused with what stands', async () => {
    const turn = await asking(call('change', { n: 'twice' }), call('change', { n: 'keeps waiting' }));
    const [first, second] = await waitingCalls(turn, 2);
    const one = await decide(at(world, turn), first ?? never(), 'approve');
    expect(one).toMatchObject({ callKey: 't1/0/0', decision: 'approve', repeated: false });
    const again = await decide(at(world, turn), first ?? never(), 'approve', { approver: 'bob@test' });
    expect(again).toEqual({ ...one, repeated: true });
    expect(await refusalOf(decide(at(world, turn), first ?? never(), 'deny'))).toMatchObject({
      type: 'ApprovalConflict',
      message: expect.stringMatching(/was approved by ann@test at \d{4}-/),
      state: 'approved',
      nonRetryable: true,
    });
    await decide(at(world, turn), second ?? never(), 'deny');
    await turn.result();
    expect(runsOf('twice')).toBe(1);
  });

  it('[ASK-2] ask-2: that is unknown, stale, of the wrong kind or malformed is refused, and leaves no event', async () => {
    const turn = await asking(call('change', { n: 'refusals' }));
    const shown = await waitingCall(turn);
    const updates = async (): Promise<number> => {
      const { events } = await world.client.workflow.getHandle(turn.workflowId).fetchHistory();
      return (events ?? []).filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes).length;
    };
    const refusal = (
      ...args: [Parameters<typeof decide>[1], Parameters<typeof decide>[2], Parameters<typeof decide>[3]?]
    ) => refusalOf(decide(at(world, turn), ...args));
    expect(await refusal({ ...shown, callKey: 't1/0/7' }, 'approve')).toMatchObject({
      type: 'ApprovalNotFound',
      message: expect.stringContaining('Waiting there now: t1/0/0 (desk.change)'),
    });
    expect(await refusal({ ...shown, digest: 'f'.repeat(64) }, 'approve')).toMatchObject({
      type: 'ApprovalStale',
      message: expect.stringContaining('waits since'),
      state: 'waiting',
    });
    expect(await refusal(shown, { type: 'answer', text: 'yes' })).toMatchObject({ type: 'ApprovalInvalid' });
    expect(await refusal(shown, 'approve', { approver: '' })).toMatchObject({ type: 'ApprovalInvalid' });
    expect(await refusal(shown, 'approve', { reason: 'x'.repeat(4_001) })).toMatchObject({ type: 'ApprovalInvalid' });
    expect(await updates()).toBe(0);
    await decide(at(world, turn), shown, 'deny');
    await turn.result();
    expect(runsOf('refusals')).toBe(0);
  });

  it('[ASK-11] that comes before the call waits is refused, and is none later', async () => {
    const asked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const turn = await world.start(gated, {
      text: 'Go on.',
      script: async (_request, n) => {
        if (n > 0) return { text: 'done' };
        asked.resolve();
        await go.promise;
        return { toolCalls: [call('change', { n: 'early' })] };
      },
    });
    await asked.promise;
    const early = { callKey: 't1/0/0', digest: 'f'.repeat(64) };
    expect(await refusalOf(decide(at(world, turn), early, 'approve'))).toMatchObject({
      type: 'ApprovalNotFound',
      message: expect.stringContaining('Nothing waits there now'),
    });
    go.resolve();
    const shown = await waitingCall(turn);
    expect(runsOf('early')).toBe(0);
    await decide(at(world, turn), shown, 'approve');
    await turn.result();
    expect(runsOf('early')).toBe(1);
  });

  it('[ASK-5] ask-5: of two clients at the same instant, and again while the call runs, is one run whose result is kept', async () => {
    const turn = await asking(call('slow', { n: 'both' }));
    const shown = await waitingCall(turn);
    const both = await Promise.all(
      ['ann', 'bob'].map((approver) => decide(at(world, turn), shown, 'approve', { approver })),
    );
    expect(both.filter((one) => one.repeated)).toHaveLength(1);
    await gates.reached('both');
    expect(await decide(at(world, turn), shown, 'approve')).toMatchObject({ repeated: true });
    expect(await refusalOf(decide(at(world, turn), shown, 'deny'))).toMatchObject({ state: 'approved' });
    gates.open('both');
    const { result, requests } = await turn.ended();
    expect(result.status).toBe('completed');
    expect(toolTexts(requests[1])).toEqual(['slowly both']);
    expect(runsOf('both')).toBe(1);
  });

  it('[ASK-5] ask-5: approve and deny at the same instant: one stands, the other is told which', async () => {
    const turn = await asking(call('change', { n: 'race' }));
    const shown = await waitingCall(turn);
    const outcomes = await Promise.allSettled([
      decide(at(world, turn), shown, 'approve', { approver: 'ann' }),
      decide(at(world, turn), shown, 'deny', { approver: 'bob' }),
    ]);
    expect(outcomes.map((one) => one.status).sort()).toEqual(['fulfilled', 'rejected']);
    const { view } = await turn.ended();
    const isApproved = outcomes[0]?.status === 'fulfilled';
    expect(view.steps[0]?.toolCalls[0]?.outcome).toBe(isApproved ? 'ok' : 'denied');
    expect(runsOf('race')).toBe(isApproved ? 1 : 0);
  });

  it('[ASK-6] ask-6: belongs to one call of one turn: a waiting turn has no fork, and no other turn takes it', async () => {
    const turn = await asking(call('change', { n: 'fork' }));
    const shown = await waitingCall(turn);
    await expect(world.start(gated, { text: 'Fork.', continueFrom: turn.workflowId })).rejects.toMatchObject({
      type: 'TurnRunning',
    });
    const other = await asking(call('change', { n: 'fork' }));
    const otherShown = await waitingCall(other);
    expect(otherShown.digest).toBe(shown.digest);
    const sent = decide(at(world, other), shown, 'approve', { workflowId: turn.workflowId });
    expect(await refusalOf(sent)).toMatchObject({
      type: 'ApprovalNotFound',
      message: expect.stringContaining(other.workflowId),
    });
    expect(runsOf('fork')).toBe(0);
    await decide(at(world, other), otherShown, 'deny');
    await decide(at(world, turn), shown, 'approve');
    await Promise.all([turn.result(), other.result()]);
    expect(runsOf('fork')).toBe(1);
  });
});

function never(): never {
  throw new Error('nothing is there');
}
