// Temporal's limits, reached: a turn ends in a result or goes on, and never hangs on a payload that is too large.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineLocalTool } from '../../activities/mcp/local.ts';
import { deskOf, openDesk, reader } from '../support/local-tools.ts';
import { activitiesOf, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type World, type WorldTurn } from '../support/turn-world.ts';

const PAYLOAD_LIMIT = 2 * 1024 * 1024;
/** Far above what any of these takes on a busy machine: a turn that hangs does so for ever. */
const DEADLINE_MS = 240_000;

const desk = deskOf(
  reader('blocks', ({ count }) => ({
    content: Array.from({ length: Number(count) }, (_, index) => ({
      type: 'resource',
      resource: {
        uri: `file:///harbour/${'log/of/the/pilots/'.repeat(16)}${index}.txt`,
        mimeType: 'text/plain',
        text: `entry ${index}`,
      },
    })),
  })),
  reader('long_uri', () => ({
    content: [
      { type: 'text', text: 'See there.' },
      { type: 'resource_link', uri: `https://x.example/${'a'.repeat(3_000_000)}`, name: 'long' },
    ],
  })),
  reader('medium', () => 'The pilot boards at the outer buoy. '.repeat(50)),
  defineLocalTool({
    name: 'wide',
    description: 'Has a schema of 4 KB.',
    inputSchema: z.object({ note: z.string().describe('what the pilot saw, '.repeat(190)) }),
    annotations: { readOnlyHint: true },
    run: ({ note }) => note,
  }),
  reader('echo', ({ text }) => String(text).slice(0, 20)),
);
const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

/** A turn that must end before the deadline; one that hangs is terminated and fails the test. */
async function runWithin(turn: WorldTurn): Promise<EndedTurn> {
  const started = await world.start(openDesk, { text: 'Go.', ...turn });
  const timer = setTimeout(() => {
    world.client.workflow
      .getHandle(started.workflowId)
      .terminate('it hangs')
      .catch(() => {});
  }, DEADLINE_MS);
  try {
    return await started.ended();
  } finally {
    clearTimeout(timer);
  }
}

function largestPayload(turn: EndedTurn): number {
  const types = ['longshoreCallModel', 'longshoreCallTool', 'longshoreCommitStep'];
  return Math.max(...types.flatMap((type) => activitiesOf(turn.history, type).map((one) => one.bytes)));
}

describe.concurrent('a turn in which', { timeout: 270_000 }, () => {
  it('[BOUND-1] four results of 1,000 blocks each meet in one step does not hang', async () => {
    const toolCalls = Array.from({ length: 4 }, () => call('blocks', { count: 1_000 }));
    const turn = await runWithin({ script: inOrder({ toolCalls }, { text: 'done' }) });
    expect(turn.result).toMatchObject({ status: 'completed', answer: 'done' });
    expect(largestPayload(turn)).toBeLessThan(PAYLOAD_LIMIT);
    expect(turn.view.steps[0]?.toolCalls.map((one) => one.outcome)).toEqual(toolCalls.map(() => 'ok'));
    // Each names its blocks, or says in words that their list could not be recorded.
    const texts = toolTexts(turn.requests[1]);
    expect(texts).toHaveLength(4);
    const isTold = /saved as \/sandbox\/tool-results\/|1000 further content blocks.*not available/;
    expect(texts.filter((text) => !isTold.test(text))).toEqual([]);
  });

  it('[BOUND-2] a link has an address of 3 MB ends, and its address is not in history', async () => {
    const turn = await runWithin({ script: inOrder({ toolCalls: [call('long_uri')] }, { text: 'done' }) });
    expect(turn.result.status).toBe('completed');
    expect(turn.view.history.bytes).toBeLessThan(200_000);
  });

  it('[BOUND-3] the model asks for 700 calls at once, none of which can be made, goes on', async () => {
    const toolCalls = Array.from({ length: 700 }, () => ({ name: 'desk__wide', arguments: 'oops' }));
    const turn = await runWithin({ script: inOrder({ toolCalls }, { text: 'done' }) });
    expect(turn.result).toMatchObject({ status: 'completed', answer: 'done' });
    expect(toolTexts(turn.requests[1])).toHaveLength(700);
    expect(toolTexts(turn.requests[1])[0]).toContain('what the pilot saw');
    expect(largestPayload(turn)).toBeLessThan(PAYLOAD_LIMIT);
  });

  it('[BOUND-4] the model asks for 120 calls at once runs them all, results in call order', async () => {
    const toolCalls = Array.from({ length: 120 }, (_, index) => call('echo', { text: `n${index}` }));
    const turn = await runWithin({ script: inOrder({ toolCalls }, { text: 'done' }) });
    expect(turn.result.status).toBe('completed');
    expect(toolTexts(turn.requests[1])).toEqual(toolCalls.map((_, index) => `n${index}`));
  });

  it('[BOUND-5] arguments are of 3 MB passes them by reference, not through history', async () => {
    const toolCalls = [call('echo', { text: 'long '.repeat(600_000) })];
    const turn = await runWithin({ script: inOrder({ toolCalls }, { text: 'done' }) });
    expect(turn.result.status).toBe('completed');
    expect(toolTexts(turn.requests[1])).toEqual(['long long long long ']);
    expect(turn.view.history.bytes).toBeLessThan(100_000);
    expect(JSON.stringify(turn.view.steps[0]?.toolCalls[0]?.arguments).length).toBeGreaterThan(3_000_000);
  });

  it('[BOUND-5] a message of 10 MB is refused before anything starts', async () => {
    const message = { type: 'user.message' as const, content: 'x'.repeat(10_000_000) };
    await expect(world.start(openDesk, { message })).rejects.toMatchObject({ type: 'MessageTooLarge' });
  });
});
