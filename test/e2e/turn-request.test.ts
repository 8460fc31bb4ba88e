// What of a spec and of a user's message reaches the model, seen on the wire.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deskOf, openDesk, reader } from '../support/local-tools.ts';
import { contentText, inOrder } from '../support/turn-history.ts';
import { createWorld, type World } from '../support/turn-world.ts';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PDF = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64');

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [deskOf(reader('echo', ({ text }) => String(text)))] } });
});
afterAll(() => world.close());

const answer = inOrder({ text: 'ok' });

describe('a request', () => {
  it('[WIRE-1] carries instructions as the system message, seed messages first, then the message', async () => {
    const { requests } = await world.run(
      {
        instructions: 'Answer like a pilot.',
        messages: [
          { type: 'user.message', content: 'The ship is the Aurora.' },
          { type: 'user.message', content: 'She is at anchor.' },
        ],
      },
      { text: 'Where is she?', script: answer },
    );
    const [system, ...others] = requests[0]?.messages ?? [];
    expect(system?.role).toBe('system');
    expect(contentText(system)).toContain('Answer like a pilot.');
    expect(others.map((message) => message.role)).toEqual(['user', 'user', 'user']);
    expect(others.map(contentText)).toEqual(['The ship is the Aurora.', 'She is at anchor.', 'Where is she?']);
  });

  it('[WIRE-2] is made from the seed messages alone where no message is given', async () => {
    const started = await world.start(
      { messages: [{ type: 'user.message', content: 'Only me.' }] },
      { script: answer },
    );
    const { result, requests } = await started.ended();
    expect(result.status).toBe('completed');
    expect(contentText(requests[0]?.messages.at(-1))).toBe('Only me.');
  });

  it('[WIRE-2] is refused before anything starts where there is nothing to answer', async () => {
    await expect(world.start({}, { script: answer })).rejects.toMatchObject({ type: 'MessageEmpty' });
  });

  it('[WIRE-3] carries the params of the spec, known and unknown, by the names of the wire', async () => {
    const params = { temperature: 0, max_tokens: 321, top_p: 0.5, reasoning_effort: 'low', frobnicate: { deep: [1] } };
    const { requests } = await world.run({ model: { params } }, { script: answer });
    expect(requests[0]).toMatchObject(params);
  });

  it('[WIRE-4] carries the response_format with its schema', async () => {
    const schema = { type: 'object', properties: { port: { type: 'string' } }, required: ['port'] };
    const { requests } = await world.run(
      { response_format: { type: 'json_schema', json_schema: { name: 'berth', schema } } },
      { script: inOrder({ text: '{"port":"Bremen"}' }) },
    );
    expect(requests[0]?.['response_format']).toMatchObject({
      type: 'json_schema',
      json_schema: { name: 'berth', schema },
    });
    const object = await world.run({ response_format: { type: 'json_object' } }, { script: inOrder({ text: '{}' }) });
    expect(object.requests[0]?.['response_format']).toEqual({ type: 'json_object' });
  });

  it('[WIRE-5] carries image and file parts of a user message, data and addresses', async () => {
    const { requests } = await world.run(
      {},
      {
        message: {
          type: 'user.message',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
            { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
            { type: 'file', file: { file_data: `data:application/pdf;base64,${PDF}`, filename: 'log.pdf' } },
          ],
        },
        script: answer,
      },
    );
    const content = requests[0]?.messages.at(-1)?.content;
    expect(content).toMatchObject([
      { type: 'text', text: 'What is this?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
      { type: 'image_url', image_url: { url: 'https://pictures.example/a.png' } },
      { type: 'file', file: { filename: 'log.pdf', file_data: `data:application/pdf;base64,${PDF}` } },
    ]);
  });

  it('[WIRE-6] offers the same tool array, byte for byte, with every model call of a turn', async () => {
    const { requests } = await world.run(openDesk, {
      script: inOrder(
        { toolCalls: [{ name: 'desk__echo', arguments: { text: 'a' } }] },
        { toolCalls: [{ name: 'desk__echo', arguments: { text: 'b' } }] },
        { text: 'done' },
      ),
    });
    const arrays = requests.map((request) => JSON.stringify(request.tools));
    expect(arrays).toHaveLength(3);
    expect(new Set(arrays).size).toBe(1);
    const names = requests[0]?.tools?.map((tool) => tool.function.name) ?? [];
    expect(names).toContain('desk__echo');
    expect(names).toContain('sandbox__read_file');
    expect(names).toEqual([...names].sort());
  });

  it('[WIRE-7] keeps the beginning of the request, byte for byte, from step to step', async () => {
    const { requests } = await world.run(openDesk, {
      script: inOrder({ toolCalls: [{ name: 'desk__echo', arguments: { text: 'a' } }] }, { text: 'done' }),
    });
    const [first, second] = requests.map((request) => request.messages.map((message) => JSON.stringify(message)));
    expect(second?.slice(0, first?.length)).toEqual(first);
  });
});
