// What reaches the wire: messages, images, params, schemas, the form of the answer.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createAskModel } from '../../activities/model/ask.ts';
import type { ModelRequest } from '../../shared/model.ts';
import { type ModelServer, startModelServer, TEST_KEY } from '../support/model-server.ts';
import { modelErrorOf, modelRequest } from '../support/model-server-request.ts';

let server: ModelServer;

beforeEach(async () => {
  server = await startModelServer({ type: 'answer', answer: { text: 'ok' } });
});

afterEach(async () => {
  await server.close();
});

/** The body that one request put on the wire. */
async function bodyOf(given: Partial<ModelRequest>) {
  await createAskModel({ env: server.env })(modelRequest(given));
  server.assertDone();
  const body = server.requests[0]?.body;
  if (body === undefined) throw new Error('Nothing was sent.');
  return body;
}

const png = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);
const pngUrl = `data:image/png;base64,${Buffer.from(png).toString('base64')}`;

describe('messages', () => {
  it('keep their order and roles, reasoning and calls included', async () => {
    const body = await bodyOf({
      messages: [
        { role: 'system', text: 'Be brief.' },
        { role: 'user', parts: [{ type: 'text', text: 'Look.' }] },
        {
          role: 'assistant',
          text: 'I look.',
          reasoning: [{ text: 'Where?' }],
          toolCalls: [{ callId: 'c1', name: 'read', input: { path: 'a' } }],
        },
        { role: 'tool', results: [{ callId: 'c1', name: 'read', isError: true, text: 'no such file', images: [] }] },
      ],
    });
    expect(body.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'Where?',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'no such file' },
    ]);
    expect(body).toMatchObject({ model: 'test-model', stream: true, stream_options: { include_usage: true } });
  });

  it('give a call that failed to parse as an object, and a name that no tool has as one that could be', async () => {
    const body = await bodyOf({
      messages: [
        {
          role: 'assistant',
          text: '',
          reasoning: [],
          toolCalls: [{ callId: 'c', name: 'no such tool!', input: '{"a":' }],
        },
        { role: 'tool', results: [{ callId: 'c', name: 'no such tool!', isError: true, text: 'unknown', images: [] }] },
      ],
    });
    const call = { id: 'c', function: { name: 'no_such_tool_', arguments: '{"invalid_arguments":"{\\"a\\":"}' } };
    expect(body.messages[0]?.tool_calls).toMatchObject([call]);
  });

  it('carry images as data URLs or addresses, and text files under their names', async () => {
    const body = await bodyOf({
      messages: [
        {
          role: 'user',
          parts: [
            { type: 'text', text: 'See:' },
            { type: 'file', mediaType: 'image/png', data: png },
            { type: 'file', mediaType: 'image/png', data: { url: 'https://example.com/a.png' } },
            { type: 'file', mediaType: 'application/json', filename: 'a.json', data: Buffer.from('{"ü":1}') },
          ],
        },
      ],
    });
    expect(body.messages[0]?.content).toEqual([
      { type: 'text', text: 'See:' },
      { type: 'image_url', image_url: { url: pngUrl } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
      { type: 'text', text: 'File a.json:\n\n{"ü":1}' },
    ]);
  });

  it('put images of tool results after all results of the step, each named by its call', async () => {
    const result = (callId: string, images: number) => ({
      callId,
      name: 'shot',
      isError: false,
      text: `result of ${callId}`,
      images: Array.from({ length: images }, () => ({ mediaType: 'image/png', data: png })),
    });
    const body = await bodyOf({
      messages: [{ role: 'tool', results: [result('c1', 1), result('c2', 0), result('c3', 2)] }],
    });
    const image = { type: 'image_url', image_url: { url: pngUrl } };
    expect(body.messages).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'result of c1' },
      { role: 'tool', tool_call_id: 'c2', content: 'result of c2' },
      { role: 'tool', tool_call_id: 'c3', content: 'result of c3' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Image 1 of 1 from the result of shot, call c1:' },
          image,
          { type: 'text', text: 'Image 1 of 2 from the result of shot, call c3:' },
          image,
          { type: 'text', text: 'Image 2 of 2 from the result of shot, call c3:' },
          image,
        ],
      },
    ]);
  });
});

describe('params', () => {
  it('all reach the body, known and unknown, as written', async () => {
    const params = {
      max_tokens: 500,
      temperature: 0,
      top_p: 0.9,
      top_k: 40,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      seed: 7,
      stop: ['END'],
      reasoning_effort: 'ultra',
      parallel_tool_calls: false,
      max_completion_tokens: 600,
      logit_bias: { '50256': -100 },
      user: 'someone',
      provider: { order: ['a', 'b'], allow_fallbacks: false },
      chat_template_kwargs: { enable_thinking: false },
    };
    expect(await bodyOf({ params })).toMatchObject(params);
  });

  it('of a wrong type reach the provider, who refuses them', async () => {
    expect(await bodyOf({ params: { temperature: 'hot', stop: 3 } })).toMatchObject({ temperature: 'hot', stop: 3 });
  });

  it('choose a tool in every form', async () => {
    const tools = [{ name: 'a', description: '', inputSchema: { type: 'object' } }];
    const named = { type: 'function', function: { name: 'a' } };
    expect(await bodyOf({ params: { tool_choice: named }, tools })).toMatchObject({ tool_choice: named });
    server.enqueue({ type: 'answer', answer: { text: 'ok' } });
    await createAskModel({ env: server.env })(modelRequest({ params: { tool_choice: 'required' }, tools }));
    expect(server.requests[1]?.body).toMatchObject({ tool_choice: 'required' });
  });

  it.each(['model', 'messages', 'tools', 'stream'])('never overwrite the request’s own %s', async (name) => {
    const error = await modelErrorOf(createAskModel({ env: server.env })(modelRequest({ params: { [name]: false } })));
    expect(error).toMatchObject({ type: 'ModelRefused', message: expect.stringContaining(`model.params.${name}`) });
    expect(server.requests).toEqual([]);
  });
});

describe('schemas', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { node: { $ref: '#/$defs/node' } },
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, 'x-own': [1, null] } },
    required: ['node'],
  };

  it('of tools reach the wire unchanged', async () => {
    const body = await bodyOf({ tools: [{ name: 'walk', description: 'Walks.', inputSchema: schema }] });
    expect(body.tools).toEqual([
      { type: 'function', function: { name: 'walk', description: 'Walks.', parameters: schema } },
    ]);
  });

  it.each([
    [undefined, false],
    [true, true],
  ])('of the answer reach the wire with strict %s as %s', async (strict, sent) => {
    const json_schema = { name: 'walk', description: 'A walk.', schema, ...(strict === undefined ? {} : { strict }) };
    const body = await bodyOf({ responseFormat: { type: 'json_schema', json_schema } });
    expect(body['response_format']).toEqual({ type: 'json_schema', json_schema: { ...json_schema, strict: sent } });
    expect(body).not.toHaveProperty('strictJsonSchema');
  });

  it('are not needed for a JSON object', async () => {
    expect(await bodyOf({ responseFormat: { type: 'json_object' } })).toMatchObject({
      response_format: { type: 'json_object' },
    });
  });
});

describe('a provider of the configuration', () => {
  it('whose chat model is wrapped gets images of tool results as parts that follow, too', async () => {
    const inner = createOpenAICompatible({ name: 'acme', baseURL: server.baseUrl })('large');
    const wrapped: LanguageModelV4 = {
      specificationVersion: 'v4',
      provider: 'acme.chat',
      modelId: 'large',
      supportedUrls: {},
      doGenerate: (options) => inner.doGenerate(options),
      doStream: (options) => inner.doStream(options),
    };
    const results = [
      { callId: 'c', name: 'shot', isError: false, text: 'ok', images: [{ mediaType: 'image/png', data: png }] },
    ];
    const ask = createAskModel({ providers: { acme: () => wrapped } });
    await ask(modelRequest({ model: 'acme/large', messages: [{ role: 'tool', results }] }));
    expect(server.requests[0]?.body.messages).toMatchObject([{ role: 'tool', content: 'ok' }, { role: 'user' }]);
  });

  it('is asked in its own name, with unknown params and without the built-in key', async () => {
    const ask = createAskModel({
      env: { ...server.env, ACME_URL: server.baseUrl },
      providers: {
        acme: ({ model, env }) => createOpenAICompatible({ name: 'acme-cloud', baseURL: env['ACME_URL'] ?? '' })(model),
      },
    });
    const answer = await ask(modelRequest({ model: 'acme/org/large', params: { top_k: 5, own: { a: 1 } } }));
    expect(answer.text).toBe('ok');
    expect(server.requests[0]?.body).toMatchObject({ model: 'org/large', top_k: 5, own: { a: 1 } });
    expect(JSON.stringify(server.requests)).not.toContain(TEST_KEY);
  });
});
