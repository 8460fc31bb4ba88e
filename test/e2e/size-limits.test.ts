// Temporal's limits, reached from every side: what is too large for a payload goes by reference or is refused with its size
// and a mend. No turn hangs, and what passes through history stays small.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallModelInput, CommitStepInput } from '../../shared/activities.ts';
import { MAX_MESSAGE_BYTES } from '../../shared/user-message.ts';
import { deskOf, openDesk, reader } from '../support/local-tools.ts';
import { type ModelBehaviour, type ModelServer, startModelServer } from '../support/model-server.ts';
import { activitiesOf, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type World } from '../support/turn-world.ts';

const PAYLOAD_LIMIT = 2 * 1024 * 1024;
const words = 'The pilot boards at the outer buoy. ';
const desk = deskOf(
  reader('echo', ({ text }) => `${String(text).length} characters`),
  // Spaces: hundreds of bytes a token, so that much text stays below its pointer's tokens.
  reader('wide', ({ n }) => `${String(n)}${' '.repeat(60_000)}end`),
  reader('spaces', ({ n }) => `${String(n)}${' '.repeat(6_000)}end`),
  reader('bulk', ({ n }) => `${String(n)} ${words.repeat(1_750)}`),
  reader('blocks', ({ count }) => ({
    content: [
      { type: 'text', text: 'The log.' },
      ...Array.from({ length: Number(count) }, (_, index) => ({
        type: 'resource',
        resource: { uri: `file:///log/${index}.txt`, mimeType: 'text/plain', text: `entry ${index}` },
      })),
    ],
  })),
);
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

let world: World;
let verbose: World;
let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
  world = await createWorld({ plugin: { localServers: [desk] } });
  verbose = await createWorld({ plugin: { localServers: [desk], env: { ...process.env, ...server.env } } });
});
afterAll(async () => {
  await Promise.all([world.close(), verbose.close()]);
  await server.close();
});

/** A stream of few and large pieces: what is proved here is size, not patience. */
function streamed(deltas: readonly object[], finish: string): ModelBehaviour {
  const chunk = (delta: object, finish_reason: string | null) => ({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'served-model',
    choices: [{ index: 0, delta, finish_reason }],
  });
  return { type: 'chunks', chunks: [...deltas.map((delta) => chunk(delta, null)), chunk({}, finish)] };
}

function pieces(text: string, key: string): object[] {
  return (text.match(/[^]{1,60000}/g) ?? []).map((piece) => ({ [key]: piece }));
}

function argumentPieces(text: string, index: number): object[] {
  const start = { index, id: `call-${index}`, function: { name: 'desk__echo', arguments: '' } };
  const parts = JSON.stringify({ text }).match(/[^]{1,60000}/g) ?? [];
  return [start, ...parts.map((part) => ({ index, function: { arguments: part } }))].map((one) => ({
    tool_calls: [one],
  }));
}

function largestPayload(turn: EndedTurn): number {
  const types = ['longshoreListTools', 'longshoreCallModel', 'longshoreCallTool', 'longshoreCommitStep'];
  return Math.max(...types.flatMap((type) => activitiesOf(turn.history, type).map((one) => one.bytes)));
}

describe('a model', () => {
  it('that answers 5 MB of text and 2 MB of reasoning: both are whole, and neither is in history', async () => {
    const text = 'It was a long voyage. '.repeat(240_000);
    const reasoning = 'On the one hand; on the other. '.repeat(65_000);
    server.enqueue(streamed([...pieces(reasoning, 'reasoning_content'), ...pieces(text, 'content')], 'stop'));
    const turn = await verbose.run({});
    expect(turn.result).toMatchObject({ status: 'completed', answer: null });
    expect(turn.view.answer).toBe(text);
    expect(turn.view.history.bytes).toBeLessThan(50_000);
    server.enqueue({ type: 'answer', answer: { text: 'done' } });
    await verbose.run({}, { continueFrom: turn.workflowId });
    const assistant = server.requests.at(-1)?.body.messages.find((message) => message.role === 'assistant');
    expect(assistant).toMatchObject({ content: text, reasoning_content: reasoning });
    server.assertDone();
  });

  it('that asks with arguments of 3 MB, and with 50 of 100 KB: all are called with them, and the view shows them', async () => {
    const large = 'long '.repeat(600_000);
    const many = Array.from({ length: 50 }, (_, index) => `${index} ${'x'.repeat(100_000)}`);
    const asking = (texts: readonly string[]) => streamed(texts.flatMap(argumentPieces), 'tool_calls');
    server.enqueue(asking([large]), asking(many), { type: 'answer', answer: { text: 'done' } });
    const turn = await verbose.run(openDesk);
    expect(turn.result).toMatchObject({ error: null, status: 'completed', answer: 'done' });
    const answers = toolTexts(server.requests.at(-1)?.body);
    expect(answers).toEqual([large, ...many].map((text) => `${text.length} characters`));
    server.assertDone();
    expect(turn.view.steps[1]?.toolCalls.map((made) => made.arguments['text'])).toEqual(many);
    expect(turn.view.history.bytes).toBeLessThan(400_000);
  });
});

describe('the start of a turn', () => {
  it('with a message just below its limit runs', async () => {
    const content = 'x'.repeat(MAX_MESSAGE_BYTES - 100);
    const turn = await world.run({}, { text: content, script: inOrder({ text: 'done' }) });
    expect(turn.result.status).toBe('completed');
    expect(largestPayload(turn)).toBeLessThan(PAYLOAD_LIMIT);
  });

  it('with a spec of 700 KB and a message of 1 MB runs', async () => {
    const spec = { instructions: words.repeat(19_000) };
    const turn = await world.run(spec, { text: 'y'.repeat(1_000_000), script: inOrder({ text: 'done' }) });
    expect(turn.result.status).toBe('completed');
    expect(largestPayload(turn)).toBeLessThan(PAYLOAD_LIMIT);
  });

  it('with a session name of kilobytes is refused: it stands in every command', async () => {
    const turn = world.start({}, { text: 'Hello?', session: 's'.repeat(5_000) });
    await expect(turn).rejects.toMatchObject({ type: 'SizeLimit', message: expect.stringContaining('session') });
  });
});

describe('a step', () => {
  it('of 200 results of just under 64 KiB each passes none of them on through history', async () => {
    const spec = {
      ...openDesk,
      config: {
        context_management: { large_tool_response: { per_result_tokens: 100_000, per_step_tokens: 9_000_000 } },
      },
    };
    const toolCalls = Array.from({ length: 200 }, (_, index) => call('bulk', { n: index }));
    const turn = await world.run(spec, { script: inOrder({ toolCalls }, { text: 'done' }) });
    expect(turn.result).toMatchObject({ error: null, status: 'completed', answer: 'done' });
    expect(toolTexts(turn.requests[1]).map((text) => text.split(' ')[0])).toEqual(toolCalls.map((_, n) => `${n}`));
    expect(turn.view.steps[0]?.toolCalls.every((made) => made.placement === 'inline')).toBe(true);
    expect(largestPayload(turn)).toBeLessThan(300_000);
    expect(turn.view.history.bytes).toBeLessThan(1_000_000);
  }, 120_000);

  it('of 20 results that stay below their pointers’ tokens and are 60 KB each does not pass them on either', async () => {
    const toolCalls = Array.from({ length: 20 }, (_, index) => call('wide', { n: index }));
    const turn = await world.run(openDesk, { script: inOrder({ toolCalls }, { text: 'done' }) });
    expect(turn.result.status).toBe('completed');
    expect(largestPayload(turn)).toBeLessThan(300_000);
  });

  it('with a result of 400 blocks keeps their list out of history, and pins and shows every one', async () => {
    const turn = await world.run(openDesk, {
      script: inOrder({ toolCalls: [call('blocks', { count: 400 })] }, { text: 'done' }),
    });
    expect(turn.result.status).toBe('completed');
    expect(largestPayload(turn)).toBeLessThan(20_000);
    expect(turn.view.history.bytes).toBeLessThan(50_000);
    const files = turn.view.steps[0]?.toolCalls[0]?.files ?? [];
    expect(files).toHaveLength(400);
    let pinned = '';
    for await (const key of world.store.listObjects('')) {
      const body = Buffer.from((await world.store.getObject(key))?.body ?? []).toString('utf8');
      if (body.includes(turn.workflowId)) pinned += body;
    }
    expect(files.filter(({ path }) => pinned.includes(path))).toHaveLength(400);
  });

  it('whose commit is too large for one payload is committed in parts, whole, and the turn goes on', async () => {
    // Texts that cost fewer tokens than their pointers would stand in the commit themselves.
    const toolCalls = Array.from({ length: 320 }, (_, index) => call('spaces', { n: index }));
    const turn = await world.run(openDesk, { script: inOrder({ toolCalls }, { text: 'done' }) });
    expect(turn.result).toMatchObject({ error: null, status: 'completed', answer: 'done' });
    expect(toolTexts(turn.requests[1])).toHaveLength(320);
    expect(largestPayload(turn)).toBeLessThan(PAYLOAD_LIMIT);
    expect(turn.view.steps[0]?.toolCalls.every((made) => made.placement !== null)).toBe(true);
    const parts = [
      ...activitiesOf<CommitStepInput>(turn.history, 'longshoreCommitStep'),
      ...activitiesOf<CallModelInput>(turn.history, 'longshoreCallModel'),
    ].flatMap((one) => (one.input.commit ? [one.input.commit.results.length] : []));
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(320);
  }, 120_000);
});
