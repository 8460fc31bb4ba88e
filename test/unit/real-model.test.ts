// The parts of the real model's run that need no model: what the server reads, the grammars it asks for, the prompt. A
// writer that is told what to write stands in for the model.
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { createAskModel } from '../../activities/model/ask.ts';
import { sandboxListing } from '../../activities/sandbox/server.ts';
import {
  argumentsSchema,
  choiceSchema,
  MOST_CALLS,
  toolsToChoose,
  type GrammarSchema,
} from '../../examples/real-model/grammar.ts';
import type { LocalModel, WriteOptions } from '../../examples/real-model/llama.ts';
import { promptOf } from '../../examples/real-model/prompt.ts';
import { parseChatRequest, toolsCalled, type OfferedTool } from '../../examples/real-model/request.ts';
import { startLocalModelServer, type LocalModelServer } from '../../examples/real-model/server.ts';
import type { JsonObject } from '../../shared/json.ts';
import { checkMcpConfig } from '../../shared/mcp-config-schema.ts';
import { checkSpec, checkSpecServers, parseSpecText } from '../../shared/spec-check.ts';
import { modelErrorOf, modelRequest } from '../support/model-server-request.ts';

const readTool = {
  name: 'fs__read_text_file',
  description: 'Reads a file. Use head for its first lines.',
  parameters: {
    type: 'object',
    properties: { head: { type: 'number' }, path: { type: 'string' } },
    required: ['path'],
  },
} satisfies OfferedTool;

const user = { role: 'user', content: 'Which columns?' };
const call = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: readTool.name, arguments: '{"path":"a.csv"}' } }],
};
const result = { role: 'tool', tool_call_id: 'c1', content: 'a,b' };

function bodyWith(given: object): string {
  return JSON.stringify({ model: 'm', stream: true, messages: [user], ...given });
}

describe('the example agent with a real model', () => {
  it('has a valid spec, and its server is configured beside it', () => {
    const file = (name: string): string =>
      readFileSync(new URL(`../../examples/real-model/${name}`, import.meta.url), 'utf8');
    const parsed = parseSpecText(file('agent.yaml'), 'agent.yaml');
    const { spec, faults } = checkSpec('value' in parsed ? parsed.value : null);
    expect(faults).toEqual([]);
    const check = checkMcpConfig(JSON.parse(file('mcp.json')), 'mcp.json');
    if (!spec || !('config' in check)) throw new Error(JSON.stringify(check));
    expect(checkSpecServers(spec, check.config)).toEqual([]);
    expect(spec.config.iteration_limit).toBeGreaterThan(MOST_CALLS + 1);
  });
});

describe('a chat request', () => {
  it('is read with its messages as text, its tools without their wrapping, and 0 for what is not named', () => {
    const parts = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ];
    const body = bodyWith({
      messages: [{ role: 'user', content: parts }, call, result],
      tools: [{ type: 'function', function: readTool }],
      stream_options: { include_usage: true },
    });
    expect(parseChatRequest(body)).toMatchObject({
      messages: [{ role: 'user', content: 'one\ntwo' }, { role: 'assistant', content: '' }, result],
      tools: [readTool],
      temperature: 0,
      seed: 0,
    });
  });

  it.each([
    ['not JSON', '{', 'The body is not JSON.'],
    ['not streamed', bodyWith({ stream: false }), 'This server streams its answers only.'],
    ['without a message', bodyWith({ messages: [] }), 'messages'],
    [
      'with an image',
      bodyWith({ messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }),
      'messages[0].content',
    ],
    ['with an unknown role', bodyWith({ messages: [{ role: 'robot', content: '' }] }), 'messages[0].role'],
  ])('that is %s is refused', (_, body, words) => {
    expect(() => parseChatRequest(body)).toThrow(words);
  });

  it('tells the tools called since the last words of the user, and no earlier ones', () => {
    const messages = [user, call, result, { role: 'assistant', content: 'a and b' }, user];
    expect(toolsCalled(parseChatRequest(bodyWith({ messages })))).toEqual([]);
    expect(toolsCalled(parseChatRequest(bodyWith({ messages: [...messages, call, result] })))).toEqual([readTool.name]);
  });

  it('becomes a prompt with a line for each tool, and with results but not with the calls', () => {
    const messages = [{ role: 'system', content: 'Be brief.' }, user, call, result];
    const tools = [{ type: 'function', function: readTool }];
    expect(promptOf(parseChatRequest(bodyWith({ messages, tools })))).toBe(
      [
        '<|im_start|>system\nBe brief.\n\nTools:\n- fs__read_text_file: Reads a file.<|im_end|>',
        '<|im_start|>user\nWhich columns?<|im_end|>',
        '<|im_start|>user\nResult of fs__read_text_file:\na,b<|im_end|>',
        '<|im_start|>assistant\n',
      ].join('\n'),
    );
  });
});

describe('the grammar', () => {
  it('offers the tools and the answer, each tool once a turn, and in the end the answer alone', () => {
    const tools = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ ...readTool, name }));
    expect(choiceSchema(toolsToChoose(tools, ['b']))).toEqual({ enum: ['a', 'c', 'd', 'e', 'answer'] });
    expect(choiceSchema(toolsToChoose(tools, ['b', 'a', 'e'].slice(0, MOST_CALLS)))).toEqual({ enum: ['answer'] });
  });

  it('has the required arguments of a tool and no other', () => {
    expect(argumentsSchema(readTool)).toEqual({
      type: 'object',
      properties: { path: { type: 'string', minLength: 0, maxLength: 160 } },
    });
  });

  it.each([
    ['$ref', { $ref: '#/$defs/x' }],
    ['no type', {}],
    ['nothing', undefined],
  ])('refuses a required argument of %s, with its place', (_, schema) => {
    const parameters = { type: 'object', properties: { deep: schema }, required: ['deep'] };
    expect(() => argumentsSchema({ ...readTool, parameters })).toThrow('fs__read_text_file.deep');
  });

  it('never lets through what the schema of a tool refuses', () => {
    const ajv = new Ajv({ strict: false });
    fc.assert(
      fc.property(
        toolParameters().chain((parameters) =>
          fc.tuple(fc.constant(parameters), fitting(argumentsSchema({ ...readTool, parameters }))),
        ),
        ([parameters, written]) => {
          const isValid = ajv.validate(parameters, written);
          expect(isValid, `${JSON.stringify(parameters)} ${JSON.stringify(written)}`).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('takes every tool of sandbox', () => {
    const { tools } = sandboxListing();
    expect(tools.length).toBeGreaterThan(5);
    for (const { name, description = '', inputSchema } of tools) {
      const { required = [] } = inputSchema;
      const schema = argumentsSchema({ name, description, parameters: inputSchema });
      expect('properties' in schema && Object.keys(schema.properties)).toEqual(required);
    }
  });
});

describe('the server of the real model', () => {
  const open: LocalModelServer[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((server) => server.close()));
  });

  async function serve(model: LocalModel, faults: Error[] = []) {
    const server = await startLocalModelServer(model, (error) => faults.push(error));
    open.push(server);
    return createAskModel({ env: { OPENAI_BASE_URL: server.baseUrl } });
  }

  const tools = [{ name: readTool.name, description: readTool.description, inputSchema: readTool.parameters }];

  it('streams a call that the model chose, with the arguments as they were written', async () => {
    const { model, asked } = writer('"fs__read_text_file"', '{"path": "a.csv"}');
    const ask = await serve(model);
    const answer = await ask(modelRequest({ tools, params: { temperature: 0.5, seed: 7 } }));
    expect(answer).toMatchObject({
      toolCalls: [{ name: 'fs__read_text_file', inputText: '{"path": "a.csv"}' }],
      finishReason: 'tool-calls',
      usage: { inputTokens: asked[0]?.prompt.indexOf('Tool: '), outputTokens: 37 },
    });
    expect(asked.map(({ options }) => options.grammar)).toEqual([
      { enum: ['fs__read_text_file', 'answer'] },
      argumentsSchema(readTool),
    ]);
    expect(asked[1]?.prompt).toMatch(/Tool: "fs__read_text_file"\nArguments: $/);
    expect(asked[1]?.options).toMatchObject({ temperature: 0.5, seed: 7 });
  });

  it('streams an answer that the model chose, or that is all there is to choose', async () => {
    const chosen = writer('"answer"', 'The columns are a and b.');
    await expect((await serve(chosen.model))(modelRequest({ tools }))).resolves.toMatchObject({
      text: 'The columns are a and b.',
      toolCalls: [],
      finishReason: 'stop',
    });
    const alone = writer('Hello.');
    await expect((await serve(alone.model))(modelRequest())).resolves.toMatchObject({ text: 'Hello.' });
  });

  it('says that a text was cut', async () => {
    const { model } = writer({ text: 'and so', isWhole: false });
    await expect((await serve(model))(modelRequest())).resolves.toMatchObject({ finishReason: 'length' });
  });

  it('refuses a conversation beyond the context by the name that clients know', async () => {
    const { model } = writer();
    const text = 'x'.repeat(8000);
    const request = modelRequest({ messages: [{ role: 'user', parts: [{ type: 'text', text }] }] });
    expect((await modelErrorOf((await serve(model))(request))).type).toBe('ModelContextExceeded');
  });

  it('refuses a tool beyond the grammar before it writes anything', async () => {
    const inputSchema = { type: 'object', properties: { deep: { $ref: '#/x' } }, required: ['deep'] };
    const request = modelRequest({ tools: [{ name: 'odd', description: '', inputSchema }] });
    const error = await modelErrorOf((await serve(writer().model))(request));
    expect(error).toMatchObject({ type: 'ModelRefused', message: expect.stringContaining('odd.deep') });
  });

  it('ends the stream with an error when the model fails, and tells it', async () => {
    const faults: Error[] = [];
    const ask = await serve(writer(new Error('out of memory')).model, faults);
    const error = await modelErrorOf(ask(modelRequest()));
    expect(error.message).toContain('out of memory');
    expect(faults.map(({ message }) => message)).toEqual(['out of memory']);
  });

  it('stops the model when the client goes, and serves the next one', async () => {
    const writing = Promise.withResolvers<void>();
    const { model, asked } = writer(writing, 'Second.');
    const faults: Error[] = [];
    const ask = await serve(model, faults);
    const leave = new AbortController();
    const first = ask(modelRequest({ signal: leave.signal })).catch((error: unknown) => error);
    await writing.promise;
    const second = ask(modelRequest());
    leave.abort(new Error('enough'));
    await expect(first).resolves.toMatchObject({ message: 'enough' });
    await expect(second).resolves.toMatchObject({ text: 'Second.' });
    expect(asked[0]?.options.signal.aborted).toBe(true);
    expect(faults).toEqual([]);
  });

  it('lets the model write one text at a time', async () => {
    let now = 0;
    let most = 0;
    const { model } = writer(...Array.from({ length: 4 }, () => 'Done.'));
    const watched: LocalModel = {
      ...model,
      write: async (...given) => {
        most = Math.max(most, (now += 1));
        for (let turn = 0; turn < 50; turn += 1) await setImmediate();
        now -= 1;
        return model.write(...given);
      },
    };
    const ask = await serve(watched);
    await Promise.all(Array.from({ length: 4 }, () => ask(modelRequest())));
    expect(most).toBe(1);
  });
});

/** What to write: a text, one that is cut, a failure, or nothing until the client goes; then it has begun when resolved. */
type Told = string | { readonly text: string; readonly isWhole: boolean } | Error | PromiseWithResolvers<void>;

/** A writer of the texts that it is told, one a call; a token is a character. One call too many fails the request. */
function writer(...told: readonly Told[]) {
  const asked: { readonly prompt: string; readonly options: WriteOptions }[] = [];
  const model: LocalModel = {
    countTokens: (text) => text.length,
    write: async (prompt, options) => {
      const next = told[asked.push({ prompt, options }) - 1];
      if (next === undefined) throw new Error('The writer was asked once too often.');
      if (next instanceof Error) throw next;
      if (typeof next === 'object' && 'resolve' in next) {
        next.resolve();
        return new Promise((_, reject) => {
          options.signal.addEventListener('abort', () => reject(options.signal.reason), { once: true });
        });
      }
      const written = typeof next === 'string' ? { text: next, isWhole: true } : next;
      for (const piece of written.text.match(/.{1,5}/gs) ?? []) options.onText?.(piece);
      return written;
    },
    close: async () => {},
  };
  return { model, asked };
}

/** Schemas of tools, as far as the grammar promises to know them. */
function toolParameters(): fc.Arbitrary<JsonObject> {
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 2 },
      fc.record({ type: fc.constant('string'), minLength: fc.nat(3), maxLength: fc.integer({ min: 3, max: 300 }) }),
      fc.constantFrom<JsonObject>(
        { type: 'number' },
        { type: 'integer' },
        { type: 'boolean' },
        { type: ['string', 'null'] },
        { const: 'jsonata', type: 'string' },
        { enum: ['a', 1, null] },
      ),
      fc.record({ type: fc.constant('array'), items: tie('schema'), maxItems: fc.nat(9) }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      objectOf(tie('schema')),
    ),
  }));
  return objectOf(schema);
}

function objectOf(schema: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> {
  const names = fc.constantFrom('a', 'b', 'c', 'd');
  return fc
    .tuple(
      fc.dictionary(names, schema, { noNullPrototype: true }),
      fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    )
    .map(([properties, isRequired]) => ({
      type: 'object',
      properties,
      required: Object.keys(properties).filter((_, index) => isRequired[index]),
      additionalProperties: false,
    }));
}

/** What a model could write under a grammar. */
function fitting(schema: GrammarSchema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if ('enum' in schema) return fc.constantFrom(...schema.enum);
  if ('oneOf' in schema) return fc.oneof(...schema.oneOf.map(fitting));
  switch (schema.type) {
    case 'string':
      return fc.string({ minLength: schema.minLength, maxLength: schema.maxLength });
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'integer':
      return fc.integer();
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array':
      return fc.array(fitting(schema.items), { minLength: schema.minItems, maxLength: schema.maxItems });
    case 'object':
      return fc.record(
        Object.fromEntries(Object.entries(schema.properties).map(([name, each]) => [name, fitting(each)])),
        {
          noNullPrototype: true,
        },
      );
  }
}
