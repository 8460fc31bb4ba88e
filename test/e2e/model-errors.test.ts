// What goes wrong between a model and us, over real HTTP: each failure has its type, is tried once and tells no secret.
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createAskModel } from '../../activities/model/ask.ts';
import { type ModelBehaviour, type ModelServer, startModelServer, TEST_KEY } from '../support/model-server.ts';
import { modelErrorOf, modelRequest } from '../support/model-server-request.ts';

let server: ModelServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** Asks once, and proves that one request was made and that no message holds the key. */
async function failWith(behaviour: ModelBehaviour) {
  server = await startModelServer(behaviour);
  const error = await modelErrorOf(createAskModel({ env: server.env })(modelRequest()));
  server.assertDone();
  expect(server.requests).toHaveLength(1);
  expect(server.requests[0]?.headers.authorization).toBe(`Bearer ${TEST_KEY}`);
  const everything = [error.message, error.mend, error.stack, String(error.cause), JSON.stringify(error)].join('\n');
  expect(everything).not.toContain(TEST_KEY);
  return error;
}

const refusal = (status: number, message: string, more: object = {}, headers: Record<string, string> = {}) =>
  failWith({ type: 'body', status, body: { error: { message, type: 'invalid_request_error', ...more } }, headers });

describe('a status', () => {
  it.each([
    [401, 'ModelUnauthorized', false],
    [403, 'ModelUnauthorized', false],
    [404, 'ModelNotFound', false],
    [400, 'ModelRefused', false],
    [402, 'ModelRefused', false],
    [413, 'ModelRefused', false],
    [422, 'ModelRefused', false],
    [408, 'ModelOverloaded', true],
    [409, 'ModelOverloaded', true],
    [425, 'ModelOverloaded', true],
    [429, 'ModelRateLimited', true],
    [500, 'ModelOverloaded', true],
    [503, 'ModelOverloaded', true],
    [529, 'ModelOverloaded', true],
  ])('of %i is %s', async (status, type, retryable) => {
    const error = await refusal(status, `The key ${TEST_KEY} and Bearer ${TEST_KEY} displease.`);
    expect(error).toMatchObject({ type, retryable, httpStatus: status });
    expect(error.message).toContain('displease');
    expect(error.message).toContain('openai/test-model');
    expect(error.mend).not.toBe('');
  });

  it('that redirects nowhere is refused and names the setting', async () => {
    const error = await failWith({ type: 'body', status: 304, body: '' });
    expect(error).toMatchObject({ type: 'ModelRefused', mend: expect.stringContaining('OPENAI_BASE_URL') });
  });

  it('of a redirect that leads back to itself is refused once, with the place, the reason and the setting', async () => {
    const redirects = Array.from({ length: 21 }, (): ModelBehaviour => {
      return { type: 'body', status: 308, body: '', headers: { location: '/v1/chat/completions' } };
    });
    server = await startModelServer(...redirects);
    const error = await modelErrorOf(createAskModel({ env: server.env })(modelRequest()));
    server.assertDone();
    const { host } = new URL(server.baseUrl);
    expect(error).toMatchObject({ type: 'ModelRefused', retryable: false });
    expect(error.message).toContain(`at ${host}/v1/chat/completions redirects in a circle`);
    expect(error.mend).toContain('OPENAI_BASE_URL');
  });

  it('[SECRET-7] tells no secret that was new since the last call', async () => {
    const secrets = ['old-token-1'];
    const body = { error: { message: 'refused: old-token-1 and new-token-2' } };
    server = await startModelServer({ type: 'body', status: 400, body }, { type: 'body', status: 400, body });
    const ask = createAskModel({ env: server.env, secrets: () => secrets });
    expect((await modelErrorOf(ask(modelRequest()))).message).toContain('new-token-2');
    secrets.push('new-token-2');
    expect((await modelErrorOf(ask(modelRequest()))).message).toContain('refused: [redacted] and [redacted]');
  });

  it('of 429 for a used-up quota is final', async () => {
    expect(await refusal(429, 'You exceeded your current quota', { code: 'insufficient_quota' })).toMatchObject({
      type: 'ModelRefused',
      retryable: false,
    });
  });

  it('with a body of 30 KB gives a message of about 2 KB', async () => {
    const error = await refusal(400, 'é'.repeat(15_000));
    expect(Buffer.byteLength(error.message)).toBeLessThan(2300);
    expect(error.message.isWellFormed()).toBe(true);
  });

  it.each([
    ['plain text', 'upstream is down', 'upstream is down'],
    ['an error that is a string', { error: 'model "x" not loaded' }, 'model "x" not loaded'],
    ['a detail', { detail: [{ loc: ['body'], msg: 'field required' }] }, 'field required'],
    ['a web page', '<html><body>502</body></html>', 'an HTML page'],
    ['nothing', '', 'Bad Request'],
  ])('with %s as its body is told in those words', async (_, body, words) => {
    const error = await failWith({ type: 'body', status: 400, body });
    expect(error.message).toContain(words);
  });
});

describe('a request too long for the context', () => {
  it.each([
    [
      400,
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      '2000 too many',
    ],
    [400, 'prompt is too long: 213,500 tokens > 200,000 maximum', '13500 too many'],
    [400, 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).', '151424 too many'],
    [400, 'request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it', '904 too many'],
    [413, 'Prompt is too long', 'cannot take a request this long'],
    [422, 'Please reduce the length of the messages', 'cannot take a request this long'],
    [429, 'Request too large for m on tokens per min (TPM): Limit 10000, Requested 12000.', '2000 too many'],
  ])('of status %i says by how much: %s', async (status, message, words) => {
    const error = await refusal(status, message);
    expect(error).toMatchObject({ type: 'ModelContextExceeded', retryable: false });
    expect(error.message).toContain(words);
  });
});

describe('the wait', () => {
  it.each([
    [429, { 'retry-after': '7' }, 7000],
    [503, { 'retry-after': '1.5' }, 1500],
    [429, { 'retry-after-ms': '250' }, 250],
    [429, { 'retry-after': '86400' }, 3_600_000],
    [
      429,
      { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m2s', 'x-ratelimit-reset-tokens': '9m' },
      62_000,
    ],
  ])('of a %i with %o is read', async (status, headers, retryAfterMs) => {
    expect(await refusal(status, 'later', {}, headers)).toMatchObject({ retryAfterMs });
  });

  it('until a date is counted from now', async () => {
    const inTwoMinutes = new Date(Date.now() + 120_000).toUTCString();
    const error = await refusal(429, 'later', {}, { 'retry-after': inTwoMinutes });
    expect(error.retryAfterMs).toBeGreaterThan(90_000);
    expect(error.retryAfterMs).toBeLessThanOrEqual(120_000);
  });

  it('is absent where nobody asks for one', async () => {
    expect((await refusal(500, 'down')).retryAfterMs).toBeUndefined();
  });
});

describe('a stream', () => {
  const answer = { text: 'An answer that takes several pieces to stream.' };

  it.each(['end', 'reset'] as const)('cut in the middle by %s is broken', async (how) => {
    expect(await failWith({ type: 'cut', answer, after: 2, how })).toMatchObject({
      type: 'ModelStreamBroken',
      retryable: true,
    });
  });

  it.each([
    ['no JSON', 'data: {"choices": [oops\n\n'],
    ['JSON of another kind', 'data: {"choices": "none"}\n\n'],
    ['no event', 'Segmentation fault'],
  ])('with %s in it is broken', async (_, text) => {
    expect(await failWith({ type: 'garbage', answer, after: 2, text })).toMatchObject({ type: 'ModelStreamBroken' });
  });

  it.each([
    ['a relay’s 429', { message: 'slow down', code: 429 }, 'ModelRateLimited'],
    ['an overload', { message: 'busy', type: 'overloaded_error' }, 'ModelOverloaded'],
    ['a bad request', { message: 'bad', type: 'invalid_request_error' }, 'ModelRefused'],
    ['a full context', { message: 'too long', code: 'context_length_exceeded' }, 'ModelContextExceeded'],
    ['something unnamed', { message: 'oops' }, 'ModelStreamBroken'],
  ])('that tells of %s is classified by it', async (_, error, type) => {
    const text = `data: ${JSON.stringify({ error })}\n\n`;
    const failure = await failWith({ type: 'garbage', answer, after: 2, text });
    expect(failure).toMatchObject({ type, message: expect.stringContaining(error.message) });
  });
});

describe('an answer that is no stream', () => {
  it.each([
    ['a web page', 'text/html', '<html>Sign in</html>', 'an HTML page'],
    ['a whole completion', 'application/json', '{"choices":[{"message":{"content":"hi"}}]}', 'application/json'],
    ['nothing', 'text/plain', '', 'nothing'],
  ])('but %s is invalid and says what came', async (_, type, body, words) => {
    const error = await failWith({ type: 'body', status: 200, body, headers: { 'content-type': type } });
    expect(error).toMatchObject({ type: 'ModelAnswerInvalid', mend: expect.stringContaining('OPENAI_BASE_URL') });
    expect(error.message).toContain(words);
  });

  it('but an error with status 200 is classified by the error', async () => {
    const body = { error: { message: 'limit', code: 429 } };
    expect(await failWith({ type: 'body', status: 200, body })).toMatchObject({ type: 'ModelRateLimited' });
  });
});

describe('a provider out of reach', () => {
  const failAt = (baseUrl: string, key = TEST_KEY) =>
    modelErrorOf(createAskModel({ env: { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: key } })(modelRequest()));

  it('because nothing listens is named by host, port and setting', async () => {
    const closed = await startModelServer();
    await closed.close();
    const port = new URL(closed.baseUrl).port;
    const error = await failAt(closed.baseUrl);
    expect(error).toMatchObject({
      type: 'ModelUnreachable',
      retryable: true,
      mend: expect.stringContaining('OPENAI_BASE_URL'),
    });
    expect(error.message).toContain(`127.0.0.1:${port}`);
    expect(error.message).toContain('ECONNREFUSED');
  });

  it('because its name does not resolve', async () => {
    const error = await failAt('http://no-such-host.invalid/v1');
    expect(error).toMatchObject({
      type: 'ModelUnreachable',
      message: expect.stringContaining('no-such-host.invalid:80'),
    });
  });

  it('because it speaks no TLS, or no HTTP', async () => {
    const plain = createServer((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH_9\r\n')));
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const address = plain.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    expect(await failAt(`https://127.0.0.1:${port}/v1`)).toMatchObject({ type: 'ModelUnreachable' });
    expect(await failAt(`http://127.0.0.1:${port}/v1`)).toMatchObject({ type: 'ModelUnreachable' });
    await new Promise((resolve) => plain.close(resolve));
  });

  it.each(['sk-secret\u0000with-control', 'sk-secret\nof-two-lines', 'secret—with-a-dash'])(
    'does not show the key %j that no header can hold',
    async (key) => {
      const error = await failAt('http://127.0.0.1:9/v1', key);
      expect(error).toMatchObject({ type: 'ModelUnauthorized', message: expect.stringContaining('OPENAI_API_KEY') });
      expect(JSON.stringify([error.message, error.mend, error.stack])).not.toContain('secret');
    },
  );
});

describe('a name', () => {
  const fail = (model: string, env: Record<string, string> = {}, providers = {}) =>
    modelErrorOf(createAskModel({ env, providers })(modelRequest({ model })));

  it('with an unknown provider lists the known ones', async () => {
    const error = await fail('acme/large', {}, { zeta: () => Promise.reject(new Error('not asked')) });
    expect(error).toMatchObject({
      type: 'ModelUnknown',
      exitCode: 2,
      message: expect.stringContaining('known: openai, zeta'),
    });
  });

  it.each(['gpt', '/x', 'openai/', '', 'constructor/x'])('of the form "%s" is refused', async (model) => {
    expect(await fail(model)).toMatchObject({ type: 'ModelUnknown' });
  });

  it('of OpenAI’s own host without a key says which setting is missing', async () => {
    expect(await fail('openai/x')).toMatchObject({
      type: 'ModelUnauthorized',
      message: expect.stringContaining('OPENAI_API_KEY'),
    });
  });

  it.each(['localhost:8080', 'not a url', 'http://user:hunter22@host/v1'])(
    'at the address "%s" is refused',
    async (url) => {
      const error = await fail('openai/x', { OPENAI_BASE_URL: url });
      expect(error).toMatchObject({ type: 'ModelUnknown', message: expect.stringContaining('OPENAI_BASE_URL') });
      expect(error.message).not.toContain('hunter22');
    },
  );

  it('whose factory fails or gives an old model says so', async () => {
    expect(
      await fail(
        'a/x',
        {},
        {
          a: () => {
            throw new Error('no region');
          },
        },
      ),
    ).toMatchObject({ type: 'ModelUnknown', message: expect.stringContaining('no region') });
    expect(await fail('a/x', {}, { a: () => ({ specificationVersion: 'v2' }) })).toMatchObject({
      type: 'ModelUnknown',
      message: expect.stringContaining('v2'),
    });
  });
});
