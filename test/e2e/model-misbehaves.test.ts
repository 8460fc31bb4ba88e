// Models that misbehave, over whole turns: broken streams, doubled answers, ends that do not fit, refusals, silence. A turn
// goes on or ends in a typed result; no half of a call is ever made.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CallToolInput } from '../../shared/activities.ts';
import { deskOf, openDesk, reader, writer } from '../support/local-tools.ts';
import { type ModelBehaviour, type ModelServer, startModelServer } from '../support/model-server.ts';
import { activitiesOf, toolTexts } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type World } from '../support/turn-world.ts';

const made: string[] = [];
const desk = deskOf(
  writer('post', ({ text }) => {
    made.push(String(text));
    return `posted ${String(text)}`;
  }),
  reader('look', ({ n }) => {
    made.push(String(n));
    return `seen ${String(n)}`;
  }),
);
const IDLE_MS = 1_000;

let server: ModelServer;
let world: World;
let impatient: World;
beforeAll(async () => {
  server = await startModelServer();
  const env = { ...process.env, ...server.env };
  world = await createWorld({ plugin: { localServers: [desk], env } });
  impatient = await createWorld({ plugin: { localServers: [desk], env, modelIdleTimeoutMs: IDLE_MS } });
});
beforeEach(() => {
  made.length = 0;
});
afterEach(() => server.assertDone());
afterAll(async () => {
  await Promise.all([world.close(), impatient.close()]);
  await server.close();
});

const run = (...behaviours: readonly ModelBehaviour[]): Promise<EndedTurn> => {
  server.enqueue(...behaviours);
  return world.run(openDesk);
};
const lastRequest = () => server.requests.at(-1)?.body;
const post = (text: string) => ({ name: 'desk__post', arguments: { text } });
const fine: ModelBehaviour = { type: 'answer', answer: { text: 'fine' } };
const chunk = (delta: object, finish: string | null = null, index = 0): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'served-model',
  choices: [{ index, delta, finish_reason: finish }],
});
const callDelta = (text: string, id = 'one') => ({
  tool_calls: [{ index: 0, id, function: { name: 'desk__post', arguments: JSON.stringify({ text }) } }],
});

describe('a refusal', () => {
  it('[BOUND-6] with a body of 9 KB is on record with its type, its status and its first words while it is asked again', async () => {
    const body = { error: { message: `the cluster is draining ${'é'.repeat(4_500)}` } };
    const turn = await run({ type: 'body', status: 503, body }, fine);
    expect(turn.result).toMatchObject({ status: 'completed', answer: 'fine' });
    const failures = turn.history.events?.flatMap(
      (event) => event.activityTaskStartedEventAttributes?.lastFailure ?? [],
    );
    expect(failures).toHaveLength(1);
    expect(failures?.[0]?.applicationFailureInfo?.type).toBe('ModelOverloaded');
    expect(failures?.[0]?.message).toMatch(/status 503\): the cluster is draining é+…/);
  });
});

describe('a stream that is cut', () => {
  // The first chunk opens the message, the second names the call, then come pieces of its arguments.
  it.each<readonly [string, number, 'end' | 'reset']>([
    ['after the name of a call', 2, 'end'],
    ['after half of its arguments', 3, 'end'],
    ['after half of its arguments, with the connection', 3, 'reset'],
    ['after the whole call, before the answer says that it is complete', 5, 'end'],
  ])('%s is asked for again, and nothing of it is called', async (_where, after, how) => {
    const half = { toolCalls: [post('a text that is long enough for some pieces')] };
    const turn = await run(
      { type: 'cut', answer: half, after, how },
      { type: 'answer', answer: { toolCalls: [post('whole')] } },
      fine,
    );
    expect(turn.result).toMatchObject({ status: 'completed', answer: 'fine' });
    expect(turn.view.steps[0]?.model.attempts).toBe(2);
    expect(made).toEqual(['whole']);
    expect(activitiesOf<CallToolInput>(turn.history, 'longshoreCallTool')).toHaveLength(1);
  });
});

describe('two answers in one', () => {
  it('as two choices: the first is the answer', async () => {
    const chunks = [
      chunk({ content: 'fi' }),
      chunk({ content: 'other' }, null, 1),
      chunk({ content: 'ne' }),
      chunk({}, 'stop', 1),
      chunk({}, 'stop'),
    ];
    expect((await run({ type: 'chunks', chunks })).result).toMatchObject({ status: 'completed', answer: 'fine' });
  });

  it('as two choices with tool calls in the second: asked again, then a typed end, and no call is made', async () => {
    const chunks = [chunk(callDelta('first')), chunk(callDelta('second', 'two'), null, 1), chunk({}, 'tool_calls')];
    const twice: ModelBehaviour = { type: 'chunks', chunks };
    const { result } = await run(twice, twice, twice);
    expect(result).toMatchObject({ status: 'failed', error: { type: 'ModelAnswerInvalid' } });
    expect(result.error?.message).toContain('several answers');
    expect(made).toEqual([]);
  });

  it('as text after the end, and an end again: one text, and the last end counts', async () => {
    const chunks = [chunk({ content: 'It is ' }), chunk({}, 'length'), chunk({ content: 'fine.' }), chunk({}, 'stop')];
    expect((await run({ type: 'chunks', chunks })).result).toMatchObject({
      status: 'completed',
      answer: 'It is fine.',
    });
  });

  it('as text and calls after an end: the calls are made once', async () => {
    const chunks = [chunk({ content: 'Well.' }), chunk({}, 'stop'), chunk(callDelta('late')), chunk({}, 'tool_calls')];
    const { result } = await run({ type: 'chunks', chunks }, fine);
    expect(result).toMatchObject({ status: 'completed', answer: 'fine', steps: 2 });
    expect(made).toEqual(['late']);
  });
});

describe('an end that does not fit', () => {
  it.each(['stop', 'length', 'something_new'])('(%s) to tool calls: they are made', async (finishReason) => {
    const { result } = await run({ type: 'answer', answer: { toolCalls: [post('x')], finishReason } }, fine);
    expect(result).toMatchObject({ status: 'completed', answer: 'fine' });
    expect(made).toEqual(['x']);
  });

  it('to an answer cut in the middle of a call: the call is an error with the schema, and is not made', async () => {
    const cut = { name: 'desk__post', arguments: '{"text": "half of' };
    const { result } = await run({ type: 'answer', answer: { toolCalls: [cut], finishReason: 'length' } }, fine);
    expect(result).toMatchObject({ status: 'completed' });
    expect(toolTexts(lastRequest())[0]).toMatch(/not a JSON object.*schema/s);
    expect(made).toEqual([]);
  });

  it('(`tool_calls` without any) is asked again, then a typed end', async () => {
    const none: ModelBehaviour = { type: 'answer', answer: { text: 'I call…', finishReason: 'tool_calls' } };
    expect((await run(none, fine)).result).toMatchObject({ status: 'completed', answer: 'fine' });
    const { result } = await run(none, none, none);
    expect(result).toMatchObject({ status: 'failed', error: { type: 'ModelAnswerInvalid' } });
  });
});

describe('a refusal', () => {
  it('in a field of its own ends the turn with its words, asked once', async () => {
    const chunks = [chunk({ refusal: 'I cannot ' }), chunk({ refusal: 'help with that.' }), chunk({}, 'stop')];
    const { result } = await run({ type: 'chunks', chunks });
    expect(result).toMatchObject({ status: 'failed', answer: 'I cannot help with that.' });
    expect(result.error).toMatchObject({ type: 'ModelAnswerFiltered' });
    expect(result.error?.message).toContain('I cannot help with that.');
  });

  it('by a filter ends the turn with what there was, and no call of it is made', async () => {
    const answer = { text: 'Step one:', toolCalls: [post('bad')], finishReason: 'content_filter' };
    const { result } = await run({ type: 'answer', answer });
    expect(result).toMatchObject({ status: 'failed', answer: 'Step one:', error: { type: 'ModelAnswerFiltered' } });
    expect(made).toEqual([]);
  });
});

describe('a context that is too long', () => {
  const refusal = (message: string): ModelBehaviour => ({
    type: 'body',
    status: 400,
    body: { error: { message, code: 'context_length_exceeded' } },
  });

  it('ends the turn and says by how much, where the provider tells', async () => {
    const told = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.";
    const { error } = (await run(refusal(told))).result;
    expect(error).toMatchObject({ type: 'ModelContextExceeded' });
    expect(error?.message).toContain('808 too many');
    expect(error?.message).not.toContain('By our count');
  });

  it('says it by our own count, where the provider tells its limit alone', async () => {
    const { error } = (await run(refusal('The context length is 16 tokens.'))).result;
    expect(error?.message).toMatch(/By our count the request has about (\d+) tokens, \d+ above its limit of 16\./);
  });

  it('tells our own count, where the provider says nothing', async () => {
    const { error } = (await run(refusal('Too long.'))).result;
    expect(error?.message).toMatch(/By our count the request has about [1-9]\d* tokens\./);
  });
});

describe('silence', () => {
  it.each<readonly [string, ModelBehaviour]>([
    ['from the first byte', { type: 'hang' }],
    ['in the middle of a call', { type: 'hang', answer: { toolCalls: [post('never')] }, after: 3 }],
  ])('%s is given up after the idle time, and the model is asked again', async (_when, hang) => {
    server.enqueue(hang, fine);
    const { result, view } = await impatient.run(openDesk);
    expect(result).toMatchObject({ status: 'completed', answer: 'fine' });
    expect(view.steps[0]?.model.attempts).toBe(2);
    expect(made).toEqual([]);
  });
});

describe('200 calls in one step', () => {
  it('are all made, one result each, in call order, within Temporal’s limits', async () => {
    const toolCalls = Array.from({ length: 200 }, (_, index) => ({
      name: 'desk__look',
      arguments: { n: index },
      id: index % 3 === 0 ? '' : index % 3 === 1 ? 'same' : 'i'.repeat(1_500),
    }));
    const turn = await run({ type: 'answer', answer: { toolCalls } }, fine);
    expect(turn.result).toMatchObject({ status: 'completed' });
    expect(made).toHaveLength(200);
    expect(toolTexts(lastRequest())).toEqual(toolCalls.map((_, index) => `seen ${index}`));
    const commands = activitiesOf(turn.history, 'longshoreCallTool').map((one) => one.bytes);
    expect(commands.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(1_000_000);
  });
});
