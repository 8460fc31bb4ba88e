// A typed result for every way in which a model can end a turn, and retries where they help.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { TEST_KEY, startModelServer, type ModelBehaviour, type ModelServer } from '../support/model-server.ts';
import { historyText } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type StartedTurn, type World } from '../support/turn-world.ts';

let server: ModelServer;
let world: World;
let nowhere: World;
let lost: StartedTurn;

beforeAll(async () => {
  server = await startModelServer();
  world = await createWorld({ plugin: { env: { ...process.env, ...server.env } } });
  const env = {
    ...process.env,
    OPENAI_BASE_URL: `http://127.0.0.1:${await closedPort()}/v1`,
    OPENAI_API_KEY: TEST_KEY,
  };
  nowhere = await createWorld({ plugin: { env } });
  // Begins first, since it takes the longest: the last test looks at its end.
  lost = await nowhere.start({}, { text: 'Hello?' });
});
afterEach(() => server.assertDone());
afterAll(async () => {
  await Promise.all([world.close(), nowhere.close()]);
  await server.close();
});

async function closedPort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  // A server that listens on TCP has an address with a port.
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

const run = (...behaviours: readonly ModelBehaviour[]): Promise<EndedTurn> => {
  server.enqueue(...behaviours);
  return world.run({});
};
const refusal = (status: number, message: string, extra: object = {}): ModelBehaviour => ({
  type: 'body',
  status,
  body: { error: { message, type: 'invalid_request_error', ...extra } },
});
const fine: ModelBehaviour = { type: 'answer', answer: { text: 'fine' } };

/** Milliseconds from the scheduling of the last Activity of a type to the start of its last attempt. */
function waitedMs(history: History): number {
  const events = history.events ?? [];
  const scheduled = events.findLast(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'longshoreCallModel',
  );
  const started = events.find(
    (event) => String(event.activityTaskStartedEventAttributes?.scheduledEventId) === String(scheduled?.eventId),
  );
  const ms = (event: typeof scheduled): number =>
    Number(event?.eventTime?.seconds ?? 0) * 1_000 + (event?.eventTime?.nanos ?? 0) / 1e6;
  return ms(started) - ms(scheduled);
}

describe('a turn whose model', () => {
  it.each<readonly [string, ModelBehaviour, string, string]>([
    ['refuses the request', refusal(400, 'temperature must be below 2'), 'ModelRefused', 'temperature must be below 2'],
    ['does not know the key', refusal(401, 'Incorrect API key'), 'ModelUnauthorized', 'Incorrect API key'],
    [
      'is not there by that name',
      refusal(404, 'The model does not exist', { code: 'model_not_found' }),
      'ModelNotFound',
      'openai/scripted',
    ],
    [
      'cannot take so much',
      refusal(400, 'maximum context length is 8192 tokens', { code: 'context_length_exceeded' }),
      'ModelContextExceeded',
      '8192',
    ],
    [
      'stops at its output limit',
      { type: 'answer', answer: { text: 'And then', finishReason: 'length' } },
      'ModelAnswerTruncated',
      'output limit',
    ],
    [
      'has its answer filtered',
      { type: 'answer', answer: { text: '', finishReason: 'content_filter' } },
      'ModelAnswerFiltered',
      'filtered',
    ],
  ])('[END-1] %s fails with its type, after one request', async (_what, behaviour, type, said) => {
    const { result } = await run(behaviour);
    expect(result).toMatchObject({ status: 'failed', error: { type } });
    expect(result.error?.message).toContain(said);
    expect(result.error?.mend).not.toBe('');
  });

  it('[END-2] answers nothing is asked once more, then fails', async () => {
    const empty: ModelBehaviour = { type: 'answer', answer: { text: '' } };
    expect((await run(empty, empty)).result).toMatchObject({ status: 'failed', error: { type: 'ModelAnswerEmpty' } });
    expect((await run(empty, fine)).result).toMatchObject({ status: 'completed', answer: 'fine' });
  });

  it('[END-3] limits it (429) is asked again when its Retry-After says, not before', async () => {
    const { result, history, view } = await run(
      { type: 'body', status: 429, body: { error: { message: 'slow down' } }, headers: { 'retry-after': '3' } },
      fine,
    );
    expect(result).toMatchObject({ status: 'completed', answer: 'fine' });
    expect(view.steps[0]?.model.attempts).toBe(2);
    expect(waitedMs(history)).toBeGreaterThanOrEqual(2_900);
    expect(waitedMs(history)).toBeLessThan(8_000);
  });

  it.each<readonly [string, ModelBehaviour]>([
    ['answers 500', { type: 'body', status: 500, body: 'oops' }],
    [
      'cuts its stream',
      { type: 'cut', answer: { text: 'a long answer that is cut somewhere' }, after: 2, how: 'reset' },
    ],
    [
      'ends its stream before the answer is complete',
      { type: 'cut', answer: { text: 'a long answer' }, after: 2, how: 'end' },
    ],
    ['sends garbage', { type: 'garbage', answer: { text: 'hello' }, after: 1, text: 'data: {"choi\n\n' }],
  ])('[END-4] %s is asked again, and nothing of the broken answer stays', async (_what, behaviour) => {
    const { result, view } = await run(behaviour, fine);
    expect(result).toMatchObject({ status: 'completed', answer: 'fine', steps: 1 });
    expect(view.steps[0]?.model.attempts).toBe(2);
  });

  it('[END-5] gives its answer with the status completed, the head and the number of steps', async () => {
    const { result } = await run(fine);
    expect(result).toMatchObject({ status: 'completed', answer: 'fine', error: null, steps: 1, turn: 1 });
    expect(result.head?.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it('[END-5] gives an answer of 300 KB by reference, whole in the view', async () => {
    const text = 'It was a long voyage. '.repeat(14_000);
    const { result, view } = await run({ type: 'answer', answer: { text } });
    expect(result).toMatchObject({ status: 'completed', answer: null });
    expect(view.answer).toBe(text);
  });

  it('[END-1] of a provider that nobody has fails before any request', async () => {
    const { result } = await world.run({ model: { name: 'nobody/some-model' } });
    expect(result).toMatchObject({ status: 'failed', error: { type: 'ModelUnknown' } });
  });

  it('[SECRET-1] shows the key in its error puts it neither in the result nor in history', async () => {
    const turn = await run(refusal(401, `Incorrect API key provided: ${TEST_KEY}`));
    expect(JSON.stringify(turn.result)).not.toContain(TEST_KEY);
    expect(historyText(turn.history)).not.toContain(TEST_KEY);
  });

  it('[END-6] is not reachable is tried some times and then given up, with the address and a mend', async () => {
    const { result } = await lost.ended();
    expect(result).toMatchObject({ status: 'failed', error: { type: 'ModelUnreachable' } });
    expect(result.error?.message).toContain('127.0.0.1');
    expect(result.error?.mend).not.toBe('');
  });
});
