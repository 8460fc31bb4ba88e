// Whole turns on the real server: the way of a message to its answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineLocalServer, defineLocalTool } from '../../activities/mcp/local.ts';
import { replayTurn } from '../../testing/replay.ts';
import { createWorld, type World } from '../support/turn-world.ts';

const big = 'word '.repeat(8_000);
const server = defineLocalServer({
  name: 'desk',
  tools: [
    defineLocalTool({
      name: 'echo',
      description: 'Says it back.',
      inputSchema: z.object({ text: z.string() }),
      annotations: { readOnlyHint: true },
      run: ({ text }) => text,
    }),
    defineLocalTool({
      name: 'big',
      description: 'A large text.',
      inputSchema: z.object({}),
      annotations: { readOnlyHint: true },
      run: () => big,
    }),
  ],
});

describe('a turn', () => {
  let world: World;
  beforeAll(async () => {
    world = await createWorld({
      script: ({ messages }) => {
        const last = messages.at(-1);
        if (last?.role === 'user') {
          return {
            toolCalls: [
              { name: 'desk__echo', arguments: { text: 'hello' } },
              { name: 'desk__big', arguments: {} },
            ],
          };
        }
        const path = /\/sandbox\/tool-results\/\S+\.txt/.exec(String(last?.content))?.[0];
        return { text: `done: ${path}` };
      },
      plugin: { localServers: [server] },
    });
  });
  afterAll(() => world.close());

  it('runs tool calls in parallel, places the large result in a file, and answers', async () => {
    const { result, view, history } = await world.run({ mcp_servers: [{ name: 'desk', preload: true }] });
    expect(result.error).toBeNull();
    expect(result.status).toBe('completed');
    const [echo, large] = view.steps[0]?.toolCalls ?? [];
    expect(echo).toMatchObject({ outcome: 'ok', placement: 'inline', rule: 'fits', bytes: 5, path: null });
    expect(large).toMatchObject({ outcome: 'ok', placement: 'file', rule: 'per-result', bytes: big.length });
    expect(result.answer).toBe(`done: ${large?.path}`);
    const blob = await world.store.readBlob(large?.sha256 ?? '');
    expect(Buffer.from(blob).toString()).toBe(big);
    await replayTurn(history);
  });
});
