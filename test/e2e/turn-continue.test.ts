// A turn that continues an earlier one: same transcript, files still readable, nothing copied.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import { deskOf, Gates, openDesk, reader } from '../support/local-tools.ts';
import { contentText, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type World } from '../support/turn-world.ts';

const gates = new Gates();
const REPORT = Array.from(
  { length: 9_000 },
  (_, line) => `line ${line}: the lighthouse keeper counted ${line * 7} ships`,
).join('\n');
const desk = deskOf(
  reader('report', () => REPORT),
  reader('echo', ({ text }) => String(text)),
  reader('gated', async ({ gate }, { signal }) => {
    await gates.pass(String(gate), signal);
    return 'passed';
  }),
);

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

const script = inOrder({ toolCalls: [{ name: 'desk__report', arguments: {} }] }, { text: 'I have the report.' });

async function firstTurn(options: { readonly session?: string } = {}): Promise<EndedTurn & { readonly path: string }> {
  const turn = await world.run(openDesk, { text: 'Get the report.', script, ...options });
  const path = turn.view.steps[0]?.toolCalls[0]?.path;
  if (!path) throw new Error('The report is not in a file');
  return { ...turn, path };
}

describe('a turn that continues another', () => {
  it('[CONT-1] sends the earlier conversation, and reads its files by their paths', async () => {
    const first = await firstTurn();
    const next = await world.run(openDesk, {
      text: 'What does line 8000 say?',
      continueFrom: first.workflowId,
      script: inOrder(
        {
          toolCalls: [
            { name: 'sandbox__read_file', arguments: { path: first.path, start_line: 8_001, line_count: 1 } },
            { name: 'sandbox__list_files', arguments: {} },
          ],
        },
        { text: 'It says so.' },
      ),
    });
    expect(next.result).toMatchObject({ status: 'completed', turn: 2 });
    const roles = next.requests[0]?.messages.map((message) => message.role);
    expect(roles).toEqual(['system', 'user', 'assistant', 'tool', 'assistant', 'user']);
    expect(next.requests[0]?.messages.map(contentText)).toEqual(
      expect.arrayContaining(['Get the report.', 'I have the report.', 'What does line 8000 say?']),
    );
    expect(toolTexts(next.requests[0])[0]).toContain(first.path);
    const [, read, list] = toolTexts(next.requests[1]);
    expect(read).toContain('line 8000: the lighthouse keeper counted 56000 ships');
    expect(list).toContain(first.path);
    expect(next.view.steps[0]?.toolCalls.map((one) => one.callKey)).toEqual(['t2/0/0', 't2/0/1']);
  });

  it('[CONT-2] copies nothing: it adds its own transcript segments and no blob besides', async () => {
    const first = await firstTurn();
    const before = await world.blobCount();
    const next = await world.run(openDesk, {
      text: 'Thanks.',
      continueFrom: first.workflowId,
      script: inOrder({ text: 'You are welcome.' }),
    });
    expect(next.result.status).toBe('completed');
    expect(await world.blobCount()).toBe(before + 1);
  });

  it('[CONT-3] belongs to the session of the turn it continues, unless another is named', async () => {
    const first = await firstTurn({ session: 'harbour' });
    expect(first.result.session).toBe('harbour');
    const more = { text: 'On.', script: inOrder({ text: 'ok' }) };
    const second = await world.run(openDesk, { ...more, continueFrom: first.workflowId });
    expect(second.result).toMatchObject({ session: 'harbour', turn: 2 });
    const third = await world.run(openDesk, { ...more, continueFrom: second.workflowId });
    expect(third.result).toMatchObject({ session: 'harbour', turn: 3 });
    const alone = await world.run(openDesk, more);
    expect(alone.result.session).toBe(alone.workflowId);
    const moved = await world.run(openDesk, { ...more, continueFrom: first.workflowId, session: 'elsewhere' });
    expect(moved.result.session).toBe('elsewhere');
  });

  it('[CONT-3] reads files of the turn before the last, and when the session was changed between', async () => {
    const first = await firstTurn();
    const second = await world.run(openDesk, {
      text: 'On.',
      session: 'another',
      continueFrom: first.workflowId,
      script: inOrder({ text: 'ok' }),
    });
    const third = await world.run(openDesk, {
      text: 'Read.',
      continueFrom: second.workflowId,
      script: inOrder(
        { toolCalls: [{ name: 'sandbox__read_file', arguments: { path: first.path, start_line: 2, line_count: 1 } }] },
        { text: 'done' },
      ),
    });
    expect(toolTexts(third.requests[1]).at(-1)).toContain('line 1: the lighthouse keeper counted 7 ships');
  });

  it('[CONT-3] can be one of two that continue the same turn, each with its own end', async () => {
    const first = await firstTurn();
    const ends = await Promise.all(
      ['left', 'right'].map((way) =>
        world.run(openDesk, { text: way, continueFrom: first.workflowId, script: inOrder({ text: `went ${way}` }) }),
      ),
    );
    expect(ends.map((end) => end.result.answer)).toEqual(['went left', 'went right']);
    expect(contentText(ends[1]?.requests[0]?.messages.at(-1))).toBe('right');
    expect(ends[1]?.requests[0]?.messages.map(contentText)).not.toContain('left');
  });

  it('[CONT-4] is refused while the other runs, for an unknown id, and for one that was terminated', async () => {
    const running = await world.start(openDesk, {
      text: 'Wait.',
      script: inOrder({ toolCalls: [{ name: 'desk__gated', arguments: { gate: 'run' } }] }, { text: 'done' }),
    });
    await gates.reached('run');
    const go = (continueFrom: string) => world.start(openDesk, { text: 'On.', continueFrom, script });
    await expect(go(running.workflowId)).rejects.toMatchObject({ type: 'TurnRunning' });
    await expect(go('no-such-turn')).rejects.toMatchObject({ type: 'TurnNotFound' });
    await world.client.workflow.getHandle(running.workflowId).terminate('for a test');
    await expect(go(running.workflowId)).rejects.toMatchObject({ type: 'TurnNotContinuable' });
    gates.open('run');
  });

  it('[CONT-5] goes on from one that failed at the model, its message and results kept', async () => {
    const faulty = await startModelServer(
      { type: 'answer', answer: { toolCalls: [{ name: 'desk__echo', arguments: { text: 'kept result' } }] } },
      { type: 'body', status: 401, body: { error: { message: 'no such key', type: 'auth' } } },
    );
    const other = await createWorld({ plugin: { localServers: [desk], env: { ...process.env, ...faulty.env } } });
    try {
      const failed = await other.run(openDesk, { text: 'First.' });
      expect(failed.result).toMatchObject({ status: 'failed', error: { type: 'ModelUnauthorized' } });
      faulty.enqueue({ type: 'answer', answer: { text: 'better now' } });
      const next = await other.run(openDesk, { text: 'Again.', continueFrom: failed.workflowId });
      expect(next.result).toMatchObject({ status: 'completed', answer: 'better now', turn: 2 });
      const texts = faulty.requests.at(-1)?.body.messages.map(contentText);
      expect(texts).toEqual(expect.arrayContaining(['First.', 'kept result', 'Again.']));
      faulty.assertDone();
    } finally {
      await other.close();
      await faulty.close();
    }
  });

  it('[CONT-5] goes on from one that stopped at its iteration_limit, its last results sent', async () => {
    const stopped = await world.run(
      { ...openDesk, config: { iteration_limit: 1 } },
      { text: 'Go.', script: inOrder({ toolCalls: [{ name: 'desk__echo', arguments: { text: 'last words' } }] }) },
    );
    expect(stopped.result.status).toBe('iteration_limit');
    const next = await world.run(openDesk, {
      text: 'On.',
      continueFrom: stopped.workflowId,
      script: inOrder({ text: 'done' }),
    });
    expect(toolTexts(next.requests[0])).toEqual(['last words']);
    expect(next.result.status).toBe('completed');
  });
});
