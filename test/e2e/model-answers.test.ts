// Answers of a model over HTTP: text, tool calls, reasoning, usage, ids, limits, abort.
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { afterEach, describe, expect, it } from 'vitest';
import { createAskModel } from '../../activities/model/ask.ts';
import { type ModelBehaviour, type ModelServer, startModelServer } from '../support/model-server.ts';
import { modelErrorOf, modelRequest } from '../support/model-server-request.ts';

let server: ModelServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(...behaviours: readonly ModelBehaviour[]) {
  server = await startModelServer(...behaviours);
  return { server, ask: createAskModel({ env: server.env }) };
}

const chunk = (delta: object, finish: string | null = null): object => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'served-model',
  choices: [{ index: 0, delta, finish_reason: finish }],
});

describe('text', () => {
  it('is joined from its pieces, whole characters and all', async () => {
    const text = 'Größe 👩‍👩‍👧‍👦 — '.repeat(40);
    const { server, ask } = await start({ type: 'answer', answer: { text } });
    const characters: number[] = [];
    const answer = await ask(modelRequest({ onPart: (part) => characters.push(part.characters) }));
    expect(answer).toEqual({
      text,
      reasoning: [],
      toolCalls: [],
      finishReason: 'stop',
      usage: expect.objectContaining({ inputTokens: 0 }),
      modelName: 'served-model',
    });
    expect(characters.filter((count) => count > 0).length).toBeGreaterThan(10);
    expect(characters.reduce((sum, count) => sum + count, 0)).toBe(text.length);
    server.assertDone();
  });

  it('may be empty', async () => {
    const { ask } = await start({ type: 'answer', answer: {} });
    expect(await ask(modelRequest())).toMatchObject({ text: '', toolCalls: [], finishReason: 'stop' });
  });

  it('that was cut by max_tokens says so', async () => {
    const { ask } = await start({ type: 'answer', answer: { text: 'half', finishReason: 'length' } });
    expect(await ask(modelRequest())).toMatchObject({ text: 'half', finishReason: 'length' });
  });

  it('comes with the reasoning before it, apart from it', async () => {
    const { ask } = await start({
      type: 'answer',
      answer: { reasoning: 'First I think, long enough for pieces.', text: 'Then.' },
    });
    expect(await ask(modelRequest())).toMatchObject({
      text: 'Then.',
      reasoning: [{ text: 'First I think, long enough for pieces.' }],
    });
  });
});

describe('tool calls', () => {
  it('are put together from fragments, in order', async () => {
    const path = `/data/${'x'.repeat(100)}.json`;
    const { ask } = await start({
      type: 'answer',
      answer: {
        text: 'Looking.',
        toolCalls: [
          { name: 'read', arguments: { path } },
          { name: 'list', arguments: {} },
        ],
      },
    });
    expect(await ask(modelRequest())).toMatchObject({
      text: 'Looking.',
      finishReason: 'tool-calls',
      toolCalls: [
        { providerCallId: 'call_0_0', name: 'read', inputText: JSON.stringify({ path }) },
        { providerCallId: 'call_0_1', name: 'list', inputText: '{}' },
      ],
    });
  });

  it('keep interleaved fragments apart by their index', async () => {
    const call = (index: number, fields: object, id?: string) =>
      chunk({ tool_calls: [{ index, ...(id && { id }), function: fields }] });
    const { ask } = await start({
      type: 'chunks',
      chunks: [
        call(0, { name: 'a', arguments: '{"x"' }, 'one'),
        call(1, { name: 'b', arguments: '{"y"' }, 'two'),
        call(0, { arguments: ':1}' }),
        call(1, { arguments: ':2}' }),
        chunk({}, 'tool_calls'),
      ],
    });
    const { toolCalls } = await ask(modelRequest());
    expect(toolCalls.map((made) => made.inputText)).toEqual(['{"x":1}', '{"y":2}']);
  });

  it('have no provider id where it came empty, twice or not at all, and a long one as it came', async () => {
    const long = 'i'.repeat(1500);
    const ids = ['', 'same', 'same', long];
    const { ask } = await start({
      type: 'answer',
      answer: { toolCalls: ids.map((id, index) => ({ id, name: `tool_${index}`, arguments: {} })) },
    });
    const { toolCalls } = await ask(modelRequest());
    expect(toolCalls.map((call) => call.providerCallId)).toEqual(['', 'same', '', long]);
    expect(toolCalls.map((call) => call.name)).toEqual(['tool_0', 'tool_1', 'tool_2', 'tool_3']);
  });

  it('keep arguments that are no JSON as they came', async () => {
    const { ask } = await start({ type: 'answer', answer: { toolCalls: [{ name: 'a', arguments: '{"path": /etc' }] } });
    expect((await ask(modelRequest())).toolCalls[0]?.inputText).toBe('{"path": /etc');
  });

  it('that are announced and missing make the answer invalid', async () => {
    const { ask } = await start({ type: 'answer', answer: { finishReason: 'tool_calls' } });
    expect(await modelErrorOf(ask(modelRequest()))).toMatchObject({ type: 'ModelAnswerInvalid', retryable: true });
  });

  it('bring the provider’s metadata, which goes back with the next request', async () => {
    const signed = {
      index: 0,
      id: 'g',
      function: { name: 'a', arguments: '{}' },
      extra_content: { google: { thought_signature: 'sig==' } },
    };
    const { server, ask } = await start(
      { type: 'chunks', chunks: [chunk({ tool_calls: [signed] }), chunk({}, 'tool_calls')] },
      { type: 'answer', answer: { text: 'done' } },
    );
    const [call] = (await ask(modelRequest())).toolCalls;
    const metadata = call?.providerMetadata ?? null;
    await ask(
      modelRequest({
        messages: [
          { role: 'user', parts: [{ type: 'text', text: 'go' }] },
          {
            role: 'assistant',
            text: '',
            reasoning: [],
            toolCalls: [{ callId: 'g', name: 'a', input: {}, providerMetadata: metadata }],
          },
          { role: 'tool', results: [{ callId: 'g', name: 'a', isError: false, text: 'ok', images: [] }] },
        ],
      }),
    );
    expect(server.requests[1]?.body.messages[1]?.tool_calls).toMatchObject([{ extra_content: signed.extra_content }]);
  });
});

describe('usage', () => {
  it('has cached and reasoning tokens as the provider reports them', async () => {
    const usage = { inputTokens: 1200, outputTokens: 340, cachedInputTokens: 1024, reasoningTokens: 200 };
    const { ask } = await start({ type: 'answer', answer: { text: 'x', usage } });
    expect((await ask(modelRequest())).usage).toEqual(usage);
  });

  it('is zero where the provider reports none', async () => {
    const { ask } = await start({ type: 'answer', answer: { text: 'x' }, withoutUsage: true });
    const zero = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };
    expect((await ask(modelRequest())).usage).toEqual(zero);
  });
});

describe('a sign of life', () => {
  it('is every comment that keeps the connection while the model thinks', async () => {
    const { ask } = await start({ type: 'hang', text: ': still thinking\n\n' });
    const controller = new AbortController();
    const alive = Promise.withResolvers<number>();
    const onPart = (part: { characters: number }) => alive.resolve(part.characters);
    const call = ask(modelRequest({ signal: controller.signal, onPart }));
    expect(await alive.promise).toBe(0);
    controller.abort(new Error('seen'));
    await expect(call).rejects.toThrow('seen');
  });
});

describe('limits', () => {
  it('end an answer above 8 MiB', async () => {
    const piece = chunk({ content: 'x'.repeat(1024 * 1024) });
    const { ask } = await start({ type: 'chunks', chunks: [...Array<object>(9).fill(piece), chunk({}, 'stop')] });
    expect(await modelErrorOf(ask(modelRequest()))).toMatchObject({ type: 'ModelAnswerTooLarge', retryable: false });
  });

  it('end an answer with more than 1,000 tool calls', async () => {
    const toolCalls = Array.from({ length: 1001 }, (_, index) => ({ name: `t${index}`, arguments: {} }));
    const { ask } = await start({ type: 'answer', answer: { toolCalls } });
    expect(await modelErrorOf(ask(modelRequest()))).toMatchObject({ type: 'ModelAnswerTooLarge' });
  });

  it('end a stream whose line never ends', async () => {
    const body = `data: ${'x'.repeat(33 * 1024 * 1024)}`;
    const { ask } = await start({ type: 'body', status: 200, body, headers: { 'content-type': 'text/event-stream' } });
    expect(await modelErrorOf(ask(modelRequest()))).toMatchObject({ type: 'ModelAnswerTooLarge' });
  });
});

describe('an abort', () => {
  it('ends a call that has had no byte, with the signal’s own reason', async () => {
    const { server, ask } = await start({ type: 'hang' });
    const controller = new AbortController();
    const call = ask(modelRequest({ signal: controller.signal }));
    await server.hanging();
    const reason = new Error('the turn was cancelled');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await server.abandoned();
  });

  it('ends a call in the middle of its answer, and closes the connection', async () => {
    const { server, ask } = await start({ type: 'hang', answer: { text: 'half an answer' }, after: 2 });
    const controller = new AbortController();
    const reason = new Error('the Worker shuts down');
    const onPart = (part: { characters: number }) => part.characters > 0 && controller.abort(reason);
    await expect(ask(modelRequest({ signal: controller.signal, onPart }))).rejects.toBe(reason);
    await server.abandoned();
  });

  it('cancels the stream of a provider that does not heed the signal', async () => {
    const cancelled = Promise.withResolvers<unknown>();
    const begun = Promise.withResolvers<void>();
    const stream = new ReadableStream<LanguageModelV4StreamPart>(
      { pull: () => begun.resolve(), cancel: cancelled.resolve },
      { highWaterMark: 0 },
    );
    const deaf: LanguageModelV4 = {
      specificationVersion: 'v4',
      provider: 'deaf',
      modelId: 'x',
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('not asked')),
      doStream: () => Promise.resolve({ stream }),
    };
    const controller = new AbortController();
    const ask = createAskModel({ providers: { deaf: () => deaf } });
    const call = ask(modelRequest({ model: 'deaf/x', signal: controller.signal }));
    await begun.promise;
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(await cancelled.promise).toBe(reason);
  });

  it('before the call makes no request', async () => {
    const { server, ask } = await start();
    await expect(ask(modelRequest({ signal: AbortSignal.abort('gone') }))).rejects.toBe('gone');
    expect(server.requests).toEqual([]);
  });
});

describe('the address', () => {
  it('may give a stream a wrong type', async () => {
    const body = `data: ${JSON.stringify(chunk({ content: 'hi' }))}\n\ndata: ${JSON.stringify(chunk({}, 'stop'))}\n\n`;
    const { ask } = await start({ type: 'body', status: 200, body, headers: { 'content-type': 'application/json' } });
    expect((await ask(modelRequest())).text).toBe('hi');
  });

  it('needs no key where it is not OpenAI’s own', async () => {
    const { server } = await start({ type: 'answer', answer: { text: 'hi' } });
    const ask = createAskModel({ env: { OPENAI_BASE_URL: `${server.baseUrl}/` } });
    expect((await ask(modelRequest())).text).toBe('hi');
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
  });
});
