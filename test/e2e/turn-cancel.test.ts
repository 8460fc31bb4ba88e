// Cancel at any moment: every open call ends in a result, the turn says `cancelled`, and another turn can go on from it.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CommitStepInput } from '../../shared/activities.ts';
import { deskOf, Gates, openDesk, reader, writer } from '../support/local-tools.ts';
import { activitiesOf, contentText, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type World } from '../support/turn-world.ts';

const gates = new Gates();
const done: string[] = [];
const desk = deskOf(
  reader('echo', ({ text }) => String(text)),
  reader('slow_read', async ({ gate }, { signal }) => {
    await gates.pass(String(gate), signal);
    return 'read';
  }),
  writer('slow_write', async ({ gate }, { signal }) => {
    await gates.pass(String(gate), signal);
    done.push(String(gate));
    return 'written';
  }),
  // Heeds no cancellation, as many tools do not.
  writer('stubborn_write', async ({ gate }) => {
    await gates.pass(String(gate));
    done.push(String(gate));
    return 'written all the same';
  }),
);

const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

/** The turn that goes on from a cancelled one; its first request tells what the transcript holds. */
async function continued(turn: EndedTurn): Promise<EndedTurn> {
  const next = await world.run(openDesk, {
    text: 'And now?',
    continueFrom: turn.workflowId,
    script: inOrder({ text: 'going on' }),
  });
  expect(next.result).toMatchObject({ status: 'completed', answer: 'going on', turn: 2 });
  return next;
}

const openCallsOf = async (started: { state(): Promise<{ openCalls: readonly string[] }> }): Promise<string> =>
  (await started.state()).openCalls.join(' ');

// Side by side: a cancellation reaches a running Activity with its next heartbeat.
describe.concurrent('a turn that is cancelled', () => {
  it('[CANCEL-1] at once after its start ends as cancelled, and its message is not lost', async () => {
    const started = await world.start(openDesk, { text: 'Never mind.', script: inOrder({ text: 'too late' }) });
    await started.cancel();
    const turn = await started.ended();
    expect(turn.result).toMatchObject({ status: 'cancelled', answer: null, error: { type: 'TurnCancelled' } });
    const next = await continued(turn);
    const users = next.requests[0]?.messages.filter((message) => message.role === 'user').map(contentText);
    expect(users).toEqual(['Never mind.', 'And now?']);
  });

  it('[CANCEL-2] before the model answers ends without waiting for the model', async () => {
    const asked = Promise.withResolvers<void>();
    const never = Promise.withResolvers<void>();
    const started = await world.start(openDesk, {
      text: 'Think.',
      script: async () => {
        asked.resolve();
        await never.promise;
        return { text: 'too late' };
      },
    });
    await asked.promise;
    await started.cancel();
    const turn = await started.ended();
    never.resolve();
    expect(turn.result).toMatchObject({ status: 'cancelled', steps: 0 });
    const next = await continued(turn);
    const users = next.requests[0]?.messages.filter((message) => message.role === 'user').map(contentText);
    expect(users).toEqual(['Think.', 'And now?']);
  });

  it('[CANCEL-3] while one of two tools runs keeps what is done and ends the other in a cancelled result', async () => {
    const toolCalls = [call('slow_read', { gate: 'half' }), call('echo', { text: 'kept' })];
    const started = await world.start(openDesk, { text: 'Both.', script: inOrder({ toolCalls }) });
    await gates.reached('half');
    await vi.waitUntil(async () => (await openCallsOf(started)) === 't1/0/0', { timeout: 10_000 });
    await started.cancel();
    const turn = await started.ended();
    expect(turn.result).toMatchObject({ status: 'cancelled', steps: 1 });
    expect(turn.view.steps[0]?.toolCalls.map(({ callKey, outcome }) => [callKey, outcome])).toEqual([
      ['t1/0/0', 'cancelled'],
      ['t1/0/1', 'ok'],
    ]);
    const [commit] = activitiesOf<CommitStepInput>(turn.history, 'longshoreCommitStep');
    expect(commit?.input.commit?.results).toHaveLength(2);
    const next = await continued(turn);
    const [first, second] = toolTexts(next.requests[0]);
    expect(first).toMatch(/cancelled while this call ran/);
    expect(second).toBe('kept');
  });

  it('[CANCEL-4] while a write runs says that it may have taken effect, and of a read that it may be repeated', async () => {
    const toolCalls = [call('slow_write', { gate: 'w' }), call('slow_read', { gate: 'r' })];
    const started = await world.start(openDesk, { text: 'Both.', script: inOrder({ toolCalls }) });
    await Promise.all([gates.reached('w'), gates.reached('r')]);
    await started.cancel();
    const turn = await started.ended();
    expect(turn.view.steps[0]?.toolCalls.map((one) => one.outcome)).toEqual(['cancelled', 'cancelled']);
    const [write, read] = toolTexts((await continued(turn)).requests[0]);
    expect(write).toMatch(/may have taken effect/);
    expect(read).not.toMatch(/may have taken effect/);
    expect(done).not.toContain('w');
  });

  it('[CANCEL-5] while a tool that heeds nothing runs ends, with a result that does not say it was not made', async () => {
    const toolCalls = [call('stubborn_write', { gate: 'deaf' })];
    const started = await world.start(openDesk, { text: 'Write.', script: inOrder({ toolCalls }) });
    await gates.reached('deaf');
    await started.cancel();
    const turn = await started.ended();
    gates.open('deaf');
    expect(turn.result.status).toBe('cancelled');
    const [text] = toolTexts((await continued(turn)).requests[0]);
    expect(text).toMatch(/may have taken effect|written all the same/);
    expect(text).not.toMatch(/had no effect|was not made/);
  });

  it('[CANCEL-6] gives a result for every call that was asked for, those never started included', async () => {
    // Gated calls and unknown names are answered without running; they have their results too.
    const toolCalls = [
      call('slow_read', { gate: 'x' }),
      { name: 'nobody__knows', arguments: {} },
      call('echo', { text: 'e' }),
    ];
    const started = await world.start(openDesk, { text: 'All.', script: inOrder({ toolCalls }) });
    await gates.reached('x');
    await started.cancel();
    const turn = await started.ended();
    const outcomes = turn.view.steps[0]?.toolCalls.map((one) => one.outcome) ?? [];
    expect(outcomes).toHaveLength(3);
    expect(outcomes[0]).toBe('cancelled');
    expect(outcomes[1]).toBe('error');
    expect(['ok', 'cancelled']).toContain(outcomes[2]);
    expect(toolTexts((await continued(turn)).requests[0])).toHaveLength(3);
  });
});
