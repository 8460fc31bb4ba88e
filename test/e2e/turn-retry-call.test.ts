// A result that a person distrusts: its call is made again, the newer file stands in for the older one, the model is told once.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { retryCall } from '../../client/retry-call.ts';
import { loadManifest } from '../../activities/store/manifest.ts';
import type { CallModelInput, CallToolInput } from '../../shared/activities.ts';
import { at, decide, waitingCall } from '../support/approvals.ts';
import { deskOf, Gates, openDesk, reader, writer } from '../support/local-tools.ts';
import { activitiesOf, contentText, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type StartedTurn, type World } from '../support/turn-world.ts';

const gates = new Gates();
/** How often each thing was asked for, by its name. */
const asked = new Map<string, number>();
const count = (name: unknown): number => {
  const times = (asked.get(String(name)) ?? 0) + 1;
  asked.set(String(name), times);
  return times;
};
const figures = (name: unknown, version: number): string =>
  `${String(name)} version ${version}: the harbour counts.\n`.repeat(900);
const desk = deskOf(
  reader('figures', ({ name }) => figures(name, count(name))),
  reader('short', ({ name }) => (count(name) === 1 ? figures(name, 1) : 'now it is short')),
  reader('failing', ({ name }) => {
    if (count(name) > 1) throw new Error('the source is gone');
    return figures(name, 1);
  }),
  reader('gated', async ({ gate }, { signal }) => {
    const times = count(`gate ${String(gate)}`);
    await gates.pass(`${String(gate)}${times > 1 ? ' again' : ''}`, signal);
    return `passed ${times}`;
  }),
  writer('change', ({ name }) => `changed ${String(name)} ${count(name)} times`),
);
const gatedDesk = { mcp_servers: [{ name: 'desk', preload: true }] };
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

const readOf = (path: string) => ({ name: 'sandbox__read_file', arguments: { path, length_bytes: 60 } });
const firstPath = (messages: unknown): string =>
  /\/sandbox\/tool-results\/t1\.0\.0-[a-z_]+-[0-9a-f]{16}\.txt/.exec(JSON.stringify(messages))?.[0] ?? 'no path';

/** A turn that has the first call's result, and stands at a gate until `name` is opened. */
async function standing(name: string, tool: string): Promise<StartedTurn> {
  const turn = await world.start(openDesk, {
    text: 'Go.',
    script: ({ messages }, n) => {
      if (n === 0) return { toolCalls: [call(tool, { name })] };
      if (n === 1) return { toolCalls: [call('gated', { gate: name })] };
      return n === 2 ? { toolCalls: [readOf(firstPath(messages))] } : { text: 'done' };
    },
  });
  await gates.reached(name);
  return turn;
}

describe.concurrent('a call that is made again', () => {
  it('[FILE-7] brings a newer file: pinned first, told once, and the old path answers with it', async () => {
    const turn = await standing('new', 'figures');
    const before = await loadManifest(world.store, { session: turn.workflowId, workflowId: turn.workflowId });
    const done = await retryCall(world.client, turn.workflowId, 't1/0/0', { reason: 'it looks old', by: 'ann' });
    expect(done).toEqual({ workflowId: turn.workflowId, callKey: 't1/0/0', generation: 1 });
    gates.open('new');
    const { requests, history, result } = await turn.ended();
    expect(result.status).toBe('completed');
    const told = requests[2]?.messages.filter((message) => /distrusted/.test(contentText(message))) ?? [];
    expect(told).toHaveLength(1);
    expect(told[0]?.role).toBe('user');
    expect(contentText(told[0])).toMatch(/\(ann\) distrusted .* t1\/0\/0 .*because: it looks old.*Large result/s);
    expect(requests[3]?.messages.filter((message) => /distrusted/.test(contentText(message)))).toHaveLength(1);
    const read = toolTexts(requests[3]).at(-1);
    expect(read).toMatch(/^\[\/sandbox\/tool-results\/t1\.0\.0-figures-\S+ was superseded: .*newer content.*\]\n/);
    expect(read).toContain('new version 2');
    const calls = activitiesOf<CallToolInput>(history, 'longshoreCallTool').map(({ input }) => input);
    expect(calls.filter(({ callKey }) => callKey === 't1/0/0').map(({ generation }) => generation)).toEqual([0, 1]);
    const files = (await loadManifest(world.store, { session: turn.workflowId, workflowId: turn.workflowId }))?.files;
    expect(files?.map(({ state, generation = 0 }) => [state, generation])).toEqual([
      ['superseded', 0],
      ['pinned', 1],
    ]);
    expect(files?.[0]).toMatchObject({ path: before?.files[0]?.path, supersededBy: files?.[1]?.path });
  });

  it('[FILE-7] with a result that stands inline answers the old path with that', async () => {
    const turn = await standing('inline', 'short');
    await retryCall(world.client, turn.workflowId, 't1/0/0');
    gates.open('inline');
    const { requests, result } = await turn.ended();
    expect(result.status).toBe('completed');
    expect(contentText(requests[2]?.messages.at(-1))).toContain('now it is short');
    expect(toolTexts(requests[3]).at(-1)).toMatch(
      /superseded.*\nnow it is short|superseded.*\n\[.*\]\nnow it is short/s,
    );
  });

  it('[FILE-7] in vain leaves the earlier result and its file as they are, and says so', async () => {
    const turn = await standing('failing', 'failing');
    await retryCall(world.client, turn.workflowId, 't1/0/0');
    gates.open('failing');
    const { requests } = await turn.ended();
    expect(contentText(requests[2]?.messages.at(-1))).toMatch(
      /ended as `error`; the earlier result .* stand as they were.*the source is gone/s,
    );
    expect(toolTexts(requests[3]).at(-1)).toContain('failing version 1');
  });

  it('[FILE-8] is refused for unknown calls, open ones, one that is made again already, and ended turns, with the state', async () => {
    const turn = await standing('refused', 'figures');
    const again = (callKey: string) => retryCall(world.client, turn.workflowId, callKey);
    await expect(again('t1/9/9')).rejects.toMatchObject({
      type: 'CallNotFound',
      message: expect.stringContaining('t1/0/0'),
    });
    await expect(again('nonsense')).rejects.toMatchObject({ type: 'UsageInvalid' });
    await expect(again('t1/1/0')).rejects.toMatchObject({
      type: 'CallNotRetryable',
      message: expect.stringContaining('runs'),
    });
    const updates = async (): Promise<number> =>
      ((await world.client.workflow.getHandle(turn.workflowId).fetchHistory()).events ?? []).filter(
        (event) => event.workflowExecutionUpdateAcceptedEventAttributes,
      ).length;
    expect(await updates()).toBe(0);
    gates.open('refused');
    await turn.result();
    await expect(again('t1/0/0')).rejects.toMatchObject({ type: 'TurnClosed' });
    await expect(retryCall(world.client, 'no-such-turn', 't1/0/0')).rejects.toMatchObject({ type: 'TurnNotFound' });
  });

  it('[FILE-8] is made again by one request at a time, and the turn makes no step before it has the result', async () => {
    const turn = await world.start(openDesk, {
      text: 'Go.',
      script: inOrder(
        { toolCalls: [call('gated', { gate: 'twice' })] },
        { toolCalls: [call('gated', { gate: 'hold' })] },
        { text: 'done' },
      ),
    });
    gates.open('twice');
    await gates.reached('hold');
    await retryCall(world.client, turn.workflowId, 't1/0/0');
    await gates.reached('twice again');
    await expect(retryCall(world.client, turn.workflowId, 't1/0/0')).rejects.toMatchObject({
      type: 'CallNotRetryable',
      message: expect.stringContaining('is being made again already'),
    });
    gates.open('hold');
    expect((await turn.state()).openCalls).toContain('t1/0/0');
    gates.open('twice again');
    const { requests, result } = await turn.ended();
    expect(result).toMatchObject({ status: 'completed', steps: 3 });
    expect(contentText(requests[2]?.messages.at(-1))).toContain('passed 2');
  });

  it('[FILE-9] while the model gives its last answer has it answer once more', async () => {
    const turn = await world.start(openDesk, {
      text: 'Go.',
      script: async ({ messages }, n) => {
        if (n < 2) return { toolCalls: [call('figures', { name: `late ${n}` })] };
        if (n === 3) return { text: `Heard: ${/late 0 version 2/.test(JSON.stringify(messages))}` };
        await gates.pass('late answer');
        return { text: 'By version 1.' };
      },
    });
    await gates.reached('late answer');
    // The model call under way carries the commit of step 1.
    await expect(retryCall(world.client, turn.workflowId, 't1/1/0')).rejects.toMatchObject({
      type: 'CallNotRetryable',
      message: expect.stringContaining('not committed yet'),
    });
    await retryCall(world.client, turn.workflowId, 't1/0/0');
    gates.open('late answer');
    const { result } = await turn.ended();
    expect(result).toMatchObject({ status: 'completed', answer: 'Heard: true', steps: 4 });
  });

  it('[FILE-10] that is gated waits for a person again, whatever was decided on the first one', async () => {
    const turn = await world.start(gatedDesk, {
      text: 'Go.',
      script: inOrder(
        { toolCalls: [call('change', { name: 'gated write' })] },
        { toolCalls: [call('gated', { gate: 'write' })] },
        { text: 'done' },
      ),
    });
    const first = await waitingCall(turn);
    await decide(at(world, turn), first, 'approve');
    await gates.reached('write');
    await retryCall(world.client, turn.workflowId, 't1/0/0', { by: 'bob' });
    const second = await waitingCall(turn);
    expect(second).toMatchObject({ callKey: 't1/0/0', tool: 'change', kind: 'approval' });
    expect(second.digest).not.toBe(first.digest);
    expect(asked.get('gated write')).toBe(1);
    await expect(retryCall(world.client, turn.workflowId, 't1/0/0')).rejects.toMatchObject({
      type: 'CallNotRetryable',
      message: expect.stringContaining('waits for a person'),
    });
    gates.open('write');
    // The same arguments are no change, although a call that waits once more has a digest of its own.
    await decide(at(world, turn), second, { type: 'approve', arguments: second.arguments });
    const { requests, result, history } = await turn.ended();
    expect(result.status).toBe('completed');
    expect(asked.get('gated write')).toBe(2);
    const told = contentText(requests[2]?.messages.at(-1));
    expect(told).toContain('changed gated write 2 times');
    expect(told).not.toContain('The call ran with');
    const resumed = activitiesOf<CallModelInput>(history, 'longshoreCallModel').filter(({ input }) => input.resume);
    expect(resumed.length).toBeGreaterThan(0);
  });

  it('[FILE-10] that is gated says who asks for it again and why; denied, what it did the first time stands', async () => {
    const turn = await world.start(gatedDesk, {
      text: 'Go.',
      script: inOrder(
        { toolCalls: [call('change', { name: 'doubted' })] },
        { toolCalls: [call('gated', { gate: 'doubted' })] },
        { text: 'done' },
      ),
    });
    await decide(at(world, turn), await waitingCall(turn), 'approve');
    await gates.reached('doubted');
    await retryCall(world.client, turn.workflowId, 't1/0/0', { by: 'bob', reason: 'the figure is odd' });
    const second = await waitingCall(turn);
    expect(second.again).toEqual({ by: 'bob', reason: 'the figure is odd' });
    await decide(at(world, turn), second, 'deny');
    gates.open('doubted');
    const { requests } = await turn.ended();
    expect(asked.get('doubted')).toBe(1);
    expect(contentText(requests[2]?.messages.at(-1))).toContain('not made again; what it did the first time stands');
  });

  it('[FILE-10] that ran with the arguments of a person runs with those again, not with the ones they took away', async () => {
    const turn = await world.start(gatedDesk, {
      text: 'Go.',
      script: inOrder(
        { toolCalls: [call('change', { name: 'everything' })] },
        { toolCalls: [call('gated', { gate: 'theirs' })] },
        { text: 'done' },
      ),
    });
    const decision = { type: 'approve', arguments: { name: 'one page' }, forSession: true } as const;
    await decide(at(world, turn), await waitingCall(turn), decision);
    await gates.reached('theirs');
    await retryCall(world.client, turn.workflowId, 't1/0/0');
    gates.open('theirs');
    const { requests, result } = await turn.ended();
    expect(result.status).toBe('completed');
    expect([asked.get('everything'), asked.get('one page')]).toEqual([undefined, 2]);
    const told = contentText(requests[2]?.messages.at(-1));
    expect(told).toMatch(/The call ran with: \{"name":"one page"\}.*changed one page 2 times/s);
  });

  it('[FILE-9] while the turn is cancelled ends with it', async () => {
    const turn = await standing('cancelled', 'figures');
    await retryCall(world.client, turn.workflowId, 't1/0/0');
    await turn.cancel();
    expect((await turn.ended()).result.status).toBe('cancelled');
  });
});
