// Waits that end without a decision, or with one that changes things: deadlines, reminders, cancellation, budgets, lost
// Workers, changed arguments, grants, questions, outcomes that nobody knows.
import { defaultPayloadConverter } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineLocalTool } from '../../activities/mcp/local.ts';
import type { CallModelResult, CallToolInput, CommitStepInput } from '../../shared/activities.ts';
import type { WaitingCall } from '../../shared/approvals.ts';
import type { ApprovalEvent } from '../../shared/approval-events.ts';
import { at, decide, eventually, refusalOf, waitingCall, waitingCalls } from '../support/approvals.ts';
import { deskOf, reader, writer } from '../support/local-tools.ts';
import { activitiesOf, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type StartedTurn, type World, type WorldTurn } from '../support/turn-world.ts';

const ran: string[] = [];
const told: ApprovalEvent[] = [];
const change = writer('change', ({ n }) => {
  ran.push(String(n));
  return `changed ${String(n)}`;
});
const strict = defineLocalTool({
  name: 'strict',
  description: 'Writes one text.',
  inputSchema: z.strictObject({ n: z.string() }),
  run: ({ n }) => {
    ran.push(n);
    return `wrote ${n}`;
  },
});
const report = reader('report', () => 'The pilot boards at the outer buoy. '.repeat(1_500));
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });
const ask = (question: string, options?: readonly string[]) => ({
  name: 'ask_user_question',
  arguments: { question, ...(options && { options }) },
});
const runsOf = (n: string): number => ran.filter((one) => one === n).length;
const gated = (approvals: Record<string, unknown> = {}, config: Record<string, unknown> = {}) => ({
  mcp_servers: [{ name: 'desk', preload: true }],
  config: { ...config, approvals },
});

let world: World;
beforeAll(async () => {
  const hooks = {
    onApproval: (event: ApprovalEvent): void => {
      told.push(event);
      if (event.agent === 'hook-fails') throw new Error('the chat is away');
    },
  };
  world = await createWorld({ plugin: { localServers: [deskOf(change, strict, report)], hooks } });
});
afterAll(() => world.close());

const asking = (
  spec: Record<string, unknown>,
  toolCalls: readonly ReturnType<typeof call>[],
  turn: WorldTurn = {},
): Promise<StartedTurn> =>
  world.start(spec, { text: 'Go on.', script: inOrder({ toolCalls }, { text: 'done' }), ...turn });
const eventsOf = (turn: StartedTurn): readonly string[] =>
  told.filter((event) => event.workflowId === turn.workflowId).map((event) => event.type);

/** What the model calls answered, in order. */
function modelAnswers(history: History): readonly CallModelResult[] {
  const events = history.events ?? [];
  const ofType = new Set(
    events
      .filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'longshoreCallModel')
      .map((event) => String(event.eventId)),
  );
  return events.flatMap((event) => {
    const completed = event.activityTaskCompletedEventAttributes;
    const [payload] = completed?.result?.payloads ?? [];
    if (!completed || !payload || !ofType.has(String(completed.scheduledEventId))) return [];
    return [defaultPayloadConverter.fromPayload<CallModelResult>(payload)];
  });
}

async function firstPause(turn: StartedTurn): Promise<WaitingCall | undefined> {
  const history = await world.client.workflow.getHandle(turn.workflowId).fetchHistory();
  const [pause] = activitiesOf<CommitStepInput>(history, 'longshoreCommitStep');
  return pause?.input.pause?.waiting[0];
}

describe.concurrent('a deadline', () => {
  it('[ASK-12] expires the call in words of its own, and a decision after it is refused as expired', async () => {
    const go = Promise.withResolvers<void>();
    const turn = await world.start(gated({ deadline: '300ms' }), {
      text: 'Go on.',
      script: async (_request, n) => {
        if (n === 0) return { toolCalls: [call('change', { n: 'late' })] };
        await go.promise;
        return { text: 'done' };
      },
    });
    const shown = await eventually(
      () => firstPause(turn),
      (pause) => pause !== undefined,
    );
    if (!shown) return never();
    expect(shown.expiresAt).toBe(shown.since + 300);
    await eventually(
      () => turn.state(),
      (state) => state.openCalls.length === 0 && state.step === 1,
    );
    expect(await refusalOf(decide(at(world, turn), shown, 'approve'))).toMatchObject({
      type: 'ApprovalExpired',
      message: expect.stringMatching(/was expired at \d{4}-/),
      state: 'expired',
    });
    go.resolve();
    const { requests, view } = await turn.ended();
    expect(view.steps[0]?.toolCalls[0]?.outcome).toBe('expired');
    expect(toolTexts(requests[1])[0]).toMatch(/Nobody decided .* within 300ms.*not a refusal/s);
    expect(runsOf('late')).toBe(0);
  });

  it('[ASK-12] denies or approves where the spec says so, and the record says that no person did', async () => {
    const denied = await asking(gated({ deadline: '200ms', on_deadline: 'deny' }), [call('change', { n: 'd' })]);
    const approved = await asking(gated({ deadline: '200ms', on_deadline: 'approve' }), [call('change', { n: 'p' })]);
    const [d, p] = await Promise.all([denied.ended(), approved.ended()]);
    expect(d.view.steps[0]?.toolCalls[0]?.outcome).toBe('denied');
    expect(toolTexts(d.requests[1])[0]).toMatch(/the agent spec denies it then/);
    expect(p.view.steps[0]?.toolCalls[0]?.outcome).toBe('ok');
    expect([runsOf('d'), runsOf('p')]).toEqual([0, 1]);
  });

  it('[ASK-13] reminds once before it, and a hook is told of the wait, the reminder and the end', async () => {
    const turn = await asking(gated({ deadline: '20s', remind_after: '5s' }), [call('change', { n: 'reminded' })]);
    const reminded = await eventually(
      () => turn.state(),
      (state) => state.waiting?.[0]?.remindedAt !== undefined,
    );
    const [shown] = reminded.waiting ?? [];
    if (!shown) return never();
    expect(shown.remindedAt).toBeGreaterThanOrEqual(shown.since + 5_000);
    await turn.result();
    expect(eventsOf(turn)).toEqual(['waiting', 'reminder', 'expired']);
    const [first] = told.filter((event) => event.workflowId === turn.workflowId);
    expect(first).toMatchObject({
      approvalId: `${turn.workflowId}:t1.0.0`,
      session: turn.workflowId,
      agent: 'agent',
      arguments: { n: 'reminded' },
      call: { digest: shown.digest, server: 'desk', tool: 'change' },
    });
  });

  it('[ASK-13] has a hook that fails: it is tried again, and the turn goes on', async () => {
    const turn = await asking({ ...gated(), name: 'hook-fails' }, [call('change', { n: 'hooked' })]);
    const shown = await waitingCall(turn);
    await eventually(
      () => Promise.resolve(eventsOf(turn)),
      (events) => events.length >= 2,
    );
    await decide(at(world, turn), shown, 'approve');
    await eventually(
      () => turn.state(),
      (state) => state.openCalls.length === 0,
    );
    expect(runsOf('hooked')).toBe(1);
    await world.client.workflow.getHandle(turn.workflowId).terminate('the hook is slow to give up');
  });
});

describe.concurrent('a turn that ends while calls wait', () => {
  it('[ASK-14] by cancellation ends each in a cancelled result that reads like no denial, and takes no decision', async () => {
    const turn = await asking(gated(), [call('change', { n: 'x' }), call('report'), ask('Which?')]);
    const [shown] = await waitingCalls(turn, 2);
    await turn.cancel();
    const { result, view } = await turn.ended();
    expect(result.status).toBe('cancelled');
    expect(view.steps[0]?.toolCalls.map((one) => one.outcome)).toEqual(['cancelled', 'ok', 'cancelled']);
    await expect(decide(at(world, turn), shown ?? never(), 'approve')).rejects.toThrow(/completed|not found/i);
    const next = await world.start(gated(), {
      continueFrom: turn.workflowId,
      text: 'And?',
      script: inOrder({ text: 'so' }),
    });
    const { requests } = await next.ended();
    expect(toolTexts(requests[0])[0]).toMatch(
      /The turn was cancelled while this call .* waited for a person.*not made/s,
    );
    expect(runsOf('x')).toBe(0);
  });

  it('[ASK-15] by its budget of wall time ends as budget, what waited with a result', async () => {
    const spec = gated({}, { budgets: { wall_time: '8s' } });
    const { result, view } = await (await asking(spec, [call('change', { n: 'wall' })])).ended();
    expect(result).toMatchObject({ status: 'budget', error: { type: 'BudgetExhausted' } });
    expect(view.steps[0]?.toolCalls[0]?.outcome).toBe('cancelled');
    expect(runsOf('wall')).toBe(0);
  });
});

describe.concurrent('changed arguments', () => {
  it("[ASK-16] run in place of the model's, which is told; history has both", async () => {
    const turn = await asking(gated(), [call('change', { n: 'asked' })]);
    const shown = await waitingCall(turn);
    await decide(at(world, turn), shown, { type: 'approve', arguments: { n: 'changed' } }, { reason: 'safer' });
    const { requests, history, view } = await turn.ended();
    expect([runsOf('asked'), runsOf('changed')]).toEqual([0, 1]);
    expect(toolTexts(requests[1])[0]).toMatch(/changed the arguments.*\{"n":"changed"\}.*changed changed/s);
    const [made] = activitiesOf<CallToolInput>(history, 'longshoreCallTool');
    expect(made?.input.arguments).toEqual({ n: 'changed' });
    expect(view.steps[0]?.toolCalls[0]).toMatchObject({ outcome: 'ok' });
    expect(JSON.stringify(requests[1]?.messages)).toContain('asked');
  });

  it('[ASK-16] that do not fit the schema fail the decision, and the call waits on', async () => {
    const turn = await asking(gated(), [call('strict', { n: 'fits' })]);
    const shown = await waitingCall(turn);
    const bad = decide(at(world, turn), shown, { type: 'approve', arguments: { n: 7 } });
    expect(await refusalOf(bad)).toMatchObject({
      type: 'ApprovalInvalid',
      message: expect.stringMatching(/do not fit the schema of `strict`: \/n must be string.*waits on/),
      state: 'waiting',
    });
    expect((await turn.state()).waiting).toHaveLength(1);
    await decide(at(world, turn), shown, { type: 'approve', arguments: { n: 'also fits' } });
    await turn.result();
    expect([runsOf('fits'), runsOf('also fits')]).toEqual([0, 1]);
  });

  it('[ASK-16] that are large go by reference, and are told by their size', async () => {
    const turn = await asking(gated(), [call('change', { n: 'small' })]);
    const n = 'large '.repeat(4_000);
    await decide(at(world, turn), await waitingCall(turn), { type: 'approve', arguments: { n } });
    const { requests, history } = await turn.ended();
    expect(runsOf(n)).toBe(1);
    const [made] = activitiesOf<CallToolInput>(history, 'longshoreCallTool');
    expect(made?.input).toMatchObject({ arguments: {}, argumentsRef: { bytes: n.length + 8 } });
    expect(toolTexts(requests[1])[0]).toMatch(/changed the arguments.*too large to show/);
  });
});

describe.concurrent('a denied call', () => {
  it('[ASK-17] asked for again unchanged is answered from the record; an expired one is asked again', async () => {
    const again = { toolCalls: [call('change', { n: 'no' })] };
    const turn = await world.start(gated(), { text: 'Go on.', script: inOrder(again, again, { text: 'done' }) });
    await decide(at(world, turn), await waitingCall(turn), 'deny', { reason: 'never' });
    const { requests, view, result } = await turn.ended();
    expect(result.status).toBe('completed');
    expect(view.steps.flatMap((step) => step.toolCalls.map((one) => one.outcome))).toEqual(['denied', 'denied']);
    expect(toolTexts(requests[2])[1]).toMatch(/was denied before, as t1\/0\/0; nobody was asked again.*never/s);

    const late = { toolCalls: [call('change', { n: 'late-twice' })] };
    const script = inOrder(late, late, { text: 'done' });
    const other = await world.start(gated({ deadline: '10s' }), { text: 'Go on.', script });
    await eventually(
      () => other.state(),
      (state) => state.step === 1 && state.waiting !== undefined,
    );
    await decide(at(world, other), await waitingCall(other), 'approve');
    const ended = await other.ended();
    expect(ended.view.steps.flatMap((step) => step.toolCalls.map((one) => one.outcome))).toEqual(['expired', 'ok']);
  });
});

describe.concurrent('approved for the rest of the session', () => {
  it('[ASK-18] the same tool runs unasked, in this turn and the next of the session, and the record names who allowed it', async () => {
    const one = { toolCalls: [call('change', { n: 's1' })] };
    const two = { toolCalls: [call('change', { n: 's2' })] };
    const first = await world.start(gated(), { text: 'Go on.', script: inOrder(one, two, { text: 'done' }) });
    await decide(at(world, first), await waitingCall(first), { type: 'approve', forSession: true });
    const { result } = await first.ended();
    const [grant] = result.grants ?? [];
    expect(grant).toMatchObject({ server: 'desk', tool: 'change', approver: 'ann@test' });
    expect((grant?.expiresAt ?? 0) - (grant?.grantedAt ?? 0)).toBe(86_400_000);
    const script = inOrder({ toolCalls: [call('change', { n: 's3' })] }, { text: 'done' });
    const next = await world.run(gated(), { continueFrom: first.workflowId, script });
    expect(next.view.steps[0]?.toolCalls[0]?.outcome).toBe('ok');
    expect(['s1', 's2', 's3'].map(runsOf)).toEqual([1, 1, 1]);
  });

  it('[ASK-18] not in another session, and not after grant_for', async () => {
    const spec = gated({ grant_for: '1ms' });
    const first = await asking(spec, [call('change', { n: 'g1' })]);
    await decide(at(world, first), await waitingCall(first), { type: 'approve', forSession: true });
    expect((await first.ended()).result.grants).toBeUndefined();

    const granted = await asking(gated(), [call('change', { n: 'g2' })]);
    await decide(at(world, granted), await waitingCall(granted), { type: 'approve', forSession: true });
    await granted.result();
    const other = await asking(gated(), [call('change', { n: 'g3' })], {
      continueFrom: granted.workflowId,
      session: 'another',
    });
    await decide(at(world, other), await waitingCall(other), 'deny');
    await other.result();
    expect(runsOf('g3')).toBe(0);
  });
});

describe.concurrent('an approved call', () => {
  it('[ASK-23] is begun before the hook is told and the status shown', async () => {
    const turn = await asking(gated(), [call('change', { n: 'first' })]);
    await decide(at(world, turn), await waitingCall(turn), 'approve');
    expect(followsDecision((await turn.ended()).history)).toEqual(['longshoreCallTool', 'longshoreNotify']);
  });
});

describe.concurrent('a question', () => {
  it('[ASK-19] waits like a call; its answer is the result', async () => {
    const turn = await asking(gated(), [ask('Which pier?', ['North', 'South'])]);
    const shown = await waitingCall(turn);
    expect(shown).toMatchObject({
      kind: 'question',
      server: 'longshore',
      tool: 'ask_user_question',
      question: { text: 'Which pier?', options: ['North', 'South'] },
    });
    await decide(at(world, turn), shown, { type: 'answer', text: 'North' });
    const { requests, view, history } = await turn.ended();
    expect(toolTexts(requests[1])).toEqual(['North']);
    expect(view.steps[0]?.toolCalls[0]).toMatchObject({ outcome: 'ok', placement: 'inline' });
    expect(activitiesOf(history, 'longshoreCallTool')).toEqual([]);
  });

  it('[ASK-19] may be declined, and expires in words of its own', async () => {
    const declined = await asking(gated(), [ask('Why?')]);
    await decide(at(world, declined), await waitingCall(declined), 'deny', { reason: 'ask me later' });
    expect(toolTexts((await declined.ended()).requests[1])[0]).toMatch(/does not answer this question.*ask me later/s);
    const expired = await asking(gated({ deadline: '200ms', on_deadline: 'approve' }), [ask('Why?')]);
    const { requests, view } = await expired.ended();
    expect(view.steps[0]?.toolCalls[0]?.outcome).toBe('expired');
    expect(toolTexts(requests[1])[0]).toMatch(/Nobody answered within 200ms/);
  });

  it('[ASK-19] is offered in few words, and not at all where the spec says so', async () => {
    const { history } = await world.run({}, { script: inOrder({ text: 'done' }) });
    const [answer] = modelAnswers(history);
    // All that Longshore adds to a request of a default agent, and the two words of the message.
    expect(answer?.sentTokens).toBeLessThan(1_200);
    const names = async (config: Record<string, unknown>): Promise<readonly string[]> => {
      const { requests } = await world.run({ config }, { script: inOrder({ text: 'done' }) });
      return (requests[0]?.tools ?? []).map((tool) => tool.function.name);
    };
    expect(await names({})).toContain('ask_user_question');
    expect(await names({ ask_user_questions: { enabled: false } })).not.toContain('ask_user_question');
  });
});

function never(): never {
  throw new Error('nothing is there');
}

/** What the Workflow Task that took the first decision begins and shows, in order; all stands right behind the decision. */
function followsDecision({ events }: History): readonly string[] {
  const from = events?.findIndex((event) => event.workflowExecutionUpdateAcceptedEventAttributes) ?? -1;
  const after = (events ?? []).slice(from + 1);
  const end = after.findIndex(
    (event) => event.activityTaskStartedEventAttributes ?? event.workflowTaskScheduledEventAttributes,
  );
  return after.slice(0, end).flatMap((event) => {
    if (event.upsertWorkflowSearchAttributesEventAttributes) return ['search attributes'];
    return event.activityTaskScheduledEventAttributes?.activityType?.name ?? [];
  });
}
