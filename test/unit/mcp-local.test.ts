// Local tools: functions of the user's own, reached as one more MCP server.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { defineLocalServer, defineLocalTool, type LocalServer, type LocalTool } from '../../activities/mcp/local.ts';
import { call, firstText, testPool, testServer } from '../support/mcp-pools.ts';

const city = z.object({ city: z.string().describe('Its name'), days: z.number().int().default(3) });

function serverOf(...tools: readonly LocalTool[]): LocalServer {
  return defineLocalServer({ name: 'mine', description: 'My tools', tools });
}

function returning(output: ReturnType<LocalTool['run']>): LocalServer {
  return serverOf(
    defineLocalTool({ name: 'give', description: 'Gives', inputSchema: z.object({}), run: () => output }),
  );
}

describe('a local tool', () => {
  it('is listed with its schema and annotations', async () => {
    const tool = defineLocalTool({
      name: 'forecast',
      description: 'Tells the weather',
      inputSchema: city,
      annotations: { readOnlyHint: true },
      run: ({ city, days }) => `${city}: ${days}`,
    });
    const { pool } = testPool({}, { localServers: [serverOf(tool)] });
    const { tools, problems } = await pool.server('mine').listTools(AbortSignal.timeout(5_000));
    expect(problems).toEqual([]);
    expect(tools).toMatchObject([
      {
        name: 'forecast',
        description: 'Tells the weather',
        annotations: { readOnlyHint: true },
        inputSchema: { type: 'object', properties: { city: { type: 'string', description: 'Its name' } } },
      },
    ]);
    expect(firstText(await call(pool, ['mine', 'forecast'], { city: 'Lisbon' }))).toBe('Lisbon: 3');
  });

  it('is not called with arguments that do not fit; the model gets the reason', async () => {
    let calls = 0;
    const tool = defineLocalTool({
      name: 'forecast',
      description: '',
      inputSchema: city,
      run: () => {
        calls += 1;
        return 'sun';
      },
    });
    const { pool } = testPool({}, { localServers: [serverOf(tool)] });
    const response = await call(pool, ['mine', 'forecast'], { city: 7 });
    expect(response.isError).toBe(true);
    expect(firstText(response)).toContain('Invalid arguments');
    expect(calls).toBe(0);
  });

  it('gets its idempotency key and can extend its deadline', async () => {
    const tool = defineLocalTool({
      name: 'slow',
      description: '',
      inputSchema: z.object({}),
      run: async (_, { idempotencyKey, progress }) => {
        await progress('half');
        return idempotencyKey;
      },
    });
    const { pool } = testPool({}, { localServers: [serverOf(tool)] });
    const messages: unknown[] = [];
    const onProgress = (sign: { readonly message?: string }): void => {
      messages.push(sign.message);
    };
    const response = await call(pool, ['mine', 'slow'], {}, { idempotencyKey: 'wf:t1/0/0:2', onProgress });
    expect(firstText(response)).toBe('wf:t1/0/0:2');
    expect(messages).toEqual(['half']);
  });

  it('hears of a cancellation', async () => {
    const started = Promise.withResolvers<void>();
    const heard = Promise.withResolvers<void>();
    const tool = defineLocalTool({
      name: 'wait',
      description: '',
      inputSchema: z.object({}),
      run: (_, { signal }) => {
        signal.addEventListener('abort', () => heard.resolve());
        started.resolve();
        return heard.promise.then(() => 'over');
      },
    });
    const { pool } = testPool({}, { localServers: [serverOf(tool)] });
    const controller = new AbortController();
    const waiting = call(pool, ['mine', 'wait'], {}, { signal: controller.signal });
    await started.promise;
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await heard.promise;
  });

  it('that throws gives an error result', async () => {
    const tool = defineLocalTool({
      name: 'fail',
      description: '',
      inputSchema: z.object({}),
      run: () => {
        throw new Error('The printer is on fire');
      },
    });
    const { pool } = testPool({}, { localServers: [serverOf(tool)] });
    expect(await call(pool, ['mine', 'fail'])).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'The printer is on fire' }],
    });
  });

  it.each([
    ['text', 'plain', { content: [{ type: 'text', text: 'plain' }] }],
    ['a list', [1, 2], { content: [{ type: 'text', text: '[1,2]' }] }],
    ['an object', { a: 1 }, { content: [{ type: 'text', text: '{"a":1}' }], structuredContent: { a: 1 } }],
    ['nothing', null, { content: [{ type: 'text', text: 'null' }] }],
    [
      'a whole result',
      { content: [{ type: 'image', data: 'AAEC', mimeType: 'image/png' }], isError: true },
      { content: [{ type: 'image', data: 'AAEC', mimeType: 'image/png' }], isError: true },
    ],
  ])('may return %s', async (_, output, response) => {
    const { pool } = testPool({}, { localServers: [returning(output)] });
    expect(await call(pool, ['mine', 'give'])).toEqual(response);
  });
});

describe('a local server', () => {
  it('has settings like a configured one', () => {
    const local = { ...returning('x'), timeoutMs: 5, honoursIdempotencyKeys: true };
    const { pool } = testPool({}, { localServers: [local] });
    expect(pool.names()).toEqual(['mine']);
    expect(pool.settings('mine')).toEqual({
      timeoutMs: 5,
      description: 'My tools',
      honoursIdempotencyKeys: true,
      annotations: {},
    });
  });

  it('that defines a tool twice is unavailable', async () => {
    const [tool] = returning('x').tools;
    const { pool } = testPool({}, { localServers: [serverOf(...(tool ? [tool, tool] : []))] });
    await expect(call(pool, ['mine', 'give'])).rejects.toMatchObject({
      type: 'McpServerUnavailable',
      message: expect.stringContaining('already registered'),
    });
  });

  it('gives only what JSON can hold', async () => {
    const output = { at: new Date(0), gone: undefined } as unknown as string;
    const { pool } = testPool({}, { localServers: [returning(output)] });
    expect(await call(pool, ['mine', 'give'])).toMatchObject({ structuredContent: { at: '1970-01-01T00:00:00.000Z' } });
  });

  it('is refused under the name of a configured one', () => {
    expect(() => testPool({ mine: testServer('plain') }, { localServers: [returning('x')] })).toThrow(
      expect.objectContaining({ type: 'ToolServerClash' }),
    );
  });
});
