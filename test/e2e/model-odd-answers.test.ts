// Good answers with something odd around them, and refusals that ask for no wait: neither costs a turn its answer.
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createAskModel } from '../../activities/model/ask.ts';
import { asFinal } from '../../activities/model/finality.ts';
import { MODEL_UNREACHABLE_ATTEMPTS } from '../../shared/activity-options.ts';
import type { LongshoreError } from '../../shared/errors.ts';
import type { ModelAnswer } from '../../shared/model.ts';
import { type ModelBehaviour, type ModelServer, startModelServer } from '../support/model-server.ts';
import { modelErrorOf, modelRequest } from '../support/model-server-request.ts';
import { createWorld, type World } from '../support/turn-world.ts';

let server: ModelServer;
let world: World;
beforeAll(async () => {
  server = await startModelServer();
  world = await createWorld({ plugin: { env: { ...process.env, ...server.env } } });
});
afterEach(() => server.assertDone());
afterAll(async () => {
  await world.close();
  await server.close();
});

const chunk = (delta: object, more: object = {}, finish: string | null = null): object => ({
  id: 'c',
  created: 0,
  model: 'served-model',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});

/** The answer to a stream of these texts, sent as they are. */
async function answerTo(...events: readonly string[]): Promise<ModelAnswer> {
  const body = `${events.map((event) => `data: ${event}\n\n`).join('')}data: [DONE]\n\n`;
  server.enqueue({ type: 'body', status: 200, body, headers: { 'content-type': 'text/event-stream' } });
  return createAskModel({ env: server.env })(modelRequest());
}

const good = JSON.stringify(chunk({ content: 'good' }));
const end = (more: object): string => JSON.stringify(chunk({}, more, 'stop'));

describe('a good answer', () => {
  it.each<readonly [string, unknown, object]>([
    ['a total that is a text', { total_tokens: 'x', prompt_tokens: 7 }, { inputTokens: 7 }],
    ['counts that are texts', { prompt_tokens: '7', completion_tokens: {} }, { inputTokens: 0, outputTokens: 0 }],
    ['details that are none', { prompt_tokens_details: 'x', completion_tokens: 3 }, { outputTokens: 3 }],
    ['details with odd counts', { prompt_tokens_details: { cached_tokens: [] } }, { cachedInputTokens: 0 }],
    ['a usage that is a text', 'much', { inputTokens: 0 }],
    ['a usage that is a list', [1, 2], { inputTokens: 0 }],
  ])('with %s is taken, and what was no count is 0', async (_what, usage, expected) => {
    const answer = await answerTo(good, end({ usage }));
    expect(answer).toMatchObject({ text: 'good', usage: expected });
  });

  it('always survives whatever stands for its usage, its id, its time and its name', async () => {
    const odd = fc.jsonValue({ maxDepth: 2 });
    await fc.assert(
      fc.asyncProperty(odd, odd, odd, async (usage, count, name) => {
        const counts = { prompt_tokens: count, total_tokens: count, completion_tokens_details: count };
        const answer = await answerTo(
          good,
          end({ usage, id: name, created: name, model: name }),
          end({ usage: counts }),
        );
        expect(answer.text).toBe('good');
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    ['at the top', `{"__proto__":{"a":1},${good.slice(1)}`],
    ['inside, spelt with escapes', good.replace('"delta":{', '"delta":{"\\u005f_proto__":{"a":1},')],
    ['as a constructor', `{"constructor":{"prototype":{}},${good.slice(1)}`],
  ])('with a suspect key %s is taken without the key', async (_where, event) => {
    expect(await answerTo(event, end({}))).toMatchObject({ text: 'good' });
    expect(Object.prototype).not.toHaveProperty('a');
  });

  it('with a last chunk of usage alone, without choices, is taken', async () => {
    const answer = await answerTo(good, end({}), '{"usage":{"prompt_tokens":5}}');
    expect(answer).toMatchObject({ text: 'good', usage: { inputTokens: 5 } });
  });
});

describe('an event that is no part of an answer', () => {
  it.each(['{"choices":"none"}', '{"choices":[{"delta":{"content":5}}]}', '[]', '{"odd":'])(
    '(%s) is told as it came, without the rules that it breaks',
    async (event) => {
      const error = await modelErrorOf(answerTo(good, event));
      expect(error.type).toBe('ModelStreamBroken');
      expect(error.message).not.toMatch(/invalid_|"path"|"expected"|Error message/);
      expect(error.message).toContain('no part of an answer');
      expect(error.message.length).toBeLessThan(500);
    },
  );
});

describe('an address that leads to something else', () => {
  it.each<readonly [string, Extract<ModelBehaviour, { type: 'body' }>]>([
    [
      'a web page',
      { type: 'body', status: 200, body: '<html>Sign in</html>', headers: { 'content-type': 'text/html' } },
    ],
    ['a JSON document', { type: 'body', status: 200, body: { ok: true } }],
    ['status 204', { type: 'body', status: 204, body: '' }],
  ])('(%s) is given up after few attempts, and the mend names OPENAI_BASE_URL', async (_what, behaviour) => {
    server.enqueue(behaviour);
    const error = await modelErrorOf(createAskModel({ env: server.env })(modelRequest()));
    expect(error).toMatchObject({ type: 'ModelAnswerInvalid', mend: expect.stringContaining('OPENAI_BASE_URL') });
    const isFinal = (attempt: number): boolean => !(asFinal(error, attempt) as LongshoreError).retryable;
    expect(isFinal(MODEL_UNREACHABLE_ATTEMPTS - 1)).toBe(false);
    expect(isFinal(MODEL_UNREACHABLE_ATTEMPTS)).toBe(true);
  });
});

describe('a provider that limits requests and asks for no wait', () => {
  const limited = (retryAfter: string): ModelBehaviour => ({
    type: 'body',
    status: 429,
    body: { error: { message: 'slow down' } },
    headers: { 'retry-after': retryAfter },
  });

  it.each([
    ['0 seconds', '0'],
    ['a moment that has passed', 'Mon, 30 Nov 2020 11:00:00 GMT'],
  ])('(%s) is asked again, and the turn completes', async (_what, retryAfter) => {
    server.enqueue(limited(retryAfter), limited(retryAfter), { type: 'answer', answer: { text: 'fine' } });
    const { result, view } = await world.run({});
    expect(result).toMatchObject({ status: 'completed', answer: 'fine' });
    expect(view.steps[0]?.model.attempts).toBe(3);
  });
});
