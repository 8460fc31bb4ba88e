// The scripted model as users meet it: over HTTP, streaming and not, and loud when its script fails.
import { afterEach, describe, expect, it } from 'vitest';
import { createAskModel } from '../../activities/model/ask.ts';
import { type ScriptedModel, type ScriptedModelServer, startScriptedModel } from '../../testing/scripted-model.ts';
import { modelErrorOf, modelRequest } from '../support/model-server-request.ts';

let model: ScriptedModelServer | undefined;

afterEach(async () => {
  await model?.close();
  model = undefined;
});

async function start(script: ScriptedModel) {
  model = await startScriptedModel(script);
  return { model, ask: createAskModel({ env: { OPENAI_BASE_URL: model.baseUrl } }) };
}

const post = (baseUrl: string, body: object) =>
  fetch(`${baseUrl}/chat/completions`, { method: 'POST', body: JSON.stringify(body) });

describe('a scripted model', () => {
  it('answers from what it is asked, call after call', async () => {
    const { model, ask } = await start((request, call) => ({
      text: `${call}: ${JSON.stringify(request.messages.at(-1)?.content)}`,
    }));
    expect((await ask(modelRequest())).text).toBe('0: "Hello"');
    expect((await ask(modelRequest())).text).toBe('1: "Hello"');
    expect(model.requests.map((request) => request.model)).toEqual(['test-model', 'test-model']);
    expect(model.errors).toEqual([]);
  });

  it('asks for tools it sees', async () => {
    const { ask } = await start(async (request) => ({
      toolCalls: (request.tools ?? []).map((tool) => ({ name: tool.function.name, arguments: { deep: ['ü', 1] } })),
    }));
    const tools = [{ name: 'one', description: '', inputSchema: { type: 'object' } }];
    expect(await ask(modelRequest({ tools }))).toMatchObject({
      toolCalls: [{ providerCallId: 'call_0_0', name: 'one', inputText: '{"deep":["ü",1]}' }],
      finishReason: 'tool-calls',
    });
  });

  it('reports the script’s usage, or a marked estimate', async () => {
    const usage = { inputTokens: 11, outputTokens: 7, cachedInputTokens: 5, reasoningTokens: 3 };
    const { model, ask } = await start((_, call) => (call === 0 ? { text: 'x', usage } : { text: 'x'.repeat(400) }));
    expect((await ask(modelRequest())).usage).toEqual(usage);
    const estimated = (await ask(modelRequest())).usage;
    expect(estimated.outputTokens).toBeGreaterThanOrEqual(100);
    expect(estimated.inputTokens).toBeGreaterThan(10);
    const whole = await post(model.baseUrl, { model: 'm', messages: [] });
    expect(await whole.json()).toMatchObject({ usage: { estimated: true } });
  });

  it('answers whole where no stream is asked for', async () => {
    const { model } = await start(() => ({
      text: 'hi',
      reasoning: 'hm',
      toolCalls: [{ name: 't', arguments: '{bad', id: 'x' }],
    }));
    const response = await post(model.baseUrl, { model: 'm', messages: [{ role: 'user', content: 'x' }] });
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      model: 'm',
      choices: [
        {
          message: {
            content: 'hi',
            reasoning_content: 'hm',
            tool_calls: [{ id: 'x', function: { name: 't', arguments: '{bad' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
    });
  });

  it('streams whole characters in pieces', async () => {
    const text = '👩‍🚀'.repeat(50);
    const { ask } = await start(() => ({ text }));
    expect((await ask(modelRequest())).text).toBe(text);
  });

  it('that throws answers 500 with the message, and keeps the error', async () => {
    const { model, ask } = await start(() => {
      throw new Error('no step 4 in this script');
    });
    const error = await modelErrorOf(ask(modelRequest()));
    expect(error).toMatchObject({
      type: 'ModelOverloaded',
      message: expect.stringContaining('no step 4 in this script'),
    });
    expect(model.errors.map((kept) => kept.message)).toEqual(['no step 4 in this script']);
  });

  it.each([
    ['no messages', { model: 'm' }],
    ['no model', { messages: [] }],
  ])('refuses a request with %s, loudly', async (_, body) => {
    const { model } = await start(() => ({ text: 'x' }));
    expect((await post(model.baseUrl, body)).status).toBe(500);
    expect(model.errors).toHaveLength(1);
  });

  it('lists itself, and serves nothing else', async () => {
    const { model } = await start(() => ({ text: 'x' }));
    expect(await (await fetch(`${model.baseUrl}/models`)).json()).toMatchObject({ data: [{ id: 'scripted' }] });
    expect((await fetch(`${model.baseUrl}/embeddings`)).status).toBe(500);
  });

  it('gives its port back when closed, open connections or not', async () => {
    const never = Promise.withResolvers<{ text: string }>();
    const arrived = Promise.withResolvers<void>();
    const { model, ask } = await start(() => {
      arrived.resolve();
      return never.promise;
    });
    const call = modelErrorOf(ask(modelRequest()));
    await arrived.promise;
    await model.close();
    expect(await call).toMatchObject({ type: 'ModelUnreachable' });
    const again = await startScriptedModel(() => ({ text: 'y' }), { port: Number(new URL(model.baseUrl).port) });
    expect(again.baseUrl).toBe(model.baseUrl);
    await again.close();
    never.resolve({ text: 'late' });
  });
});
