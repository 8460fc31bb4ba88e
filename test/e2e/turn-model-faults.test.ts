// What a model may get wrong: names, arguments, ids. It comes back to it as a result; the turn goes on.
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineLocalServer, defineLocalTool } from '../../activities/mcp/local.ts';
import type { CallToolInput } from '../../shared/activities.ts';
import type { ScriptedToolCall } from '../../testing/scripted-model.ts';
import { activitiesOf, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type World } from '../support/turn-world.ts';

const desk = defineLocalServer({
  name: 'desk',
  tools: [
    defineLocalTool({
      name: 'find_order',
      description: 'Where an order is.',
      inputSchema: z.object({ order_id: z.string().describe('Such as A-17'), limit: z.int().optional() }),
      annotations: { readOnlyHint: true },
      run: ({ order_id }) => `order ${order_id} is at sea`,
    }),
  ],
});
const spec = { mcp_servers: [{ name: 'desk', preload: true }] };

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

/** One step with these calls, then the answer. */
async function answered(
  ...toolCalls: readonly ScriptedToolCall[]
): Promise<EndedTurn & { readonly texts: readonly string[] }> {
  const turn = await world.run(spec, { script: inOrder({ toolCalls }, { text: 'done' }) });
  expect(turn.result).toMatchObject({ status: 'completed', answer: 'done' });
  return { ...turn, texts: toolTexts(turn.requests[1]) };
}

describe('a call that cannot be made', () => {
  it('[FAULT-1] of a tool nobody has comes back as an error with the nearest name and its schema, without an Activity', async () => {
    const { texts, view, history } = await answered({ name: 'desk__find_ordre', arguments: { order_id: 'A-1' } });
    expect(view.steps[0]?.toolCalls[0]).toMatchObject({ outcome: 'error', placement: 'inline', rule: 'exempt' });
    expect(texts[0]).toContain('desk__find_ordre');
    expect(texts[0]).toContain('desk__find_order');
    expect(texts[0]).toContain('"order_id"');
    expect(activitiesOf(history, 'longshoreCallTool')).toHaveLength(0);
  });

  it.each([
    ['no JSON', '{"order_id": "A-1"'],
    ['a list', '["A-1"]'],
    ['a text', '"A-1"'],
    ['null', 'null'],
    ['prose', 'the order A-1, please'],
  ])('[FAULT-2] with arguments that are no object (%s) comes back as an error with the schema', async (_what, text) => {
    const { texts, view, history } = await answered({ name: 'desk__find_order', arguments: text });
    expect(view.steps[0]?.toolCalls[0]).toMatchObject({ outcome: 'error', arguments: {}, argumentsText: text });
    expect(texts[0]).toMatch(/not a JSON object/);
    expect(texts[0]).toContain('"order_id"');
    expect(activitiesOf(history, 'longshoreCallTool')).toHaveLength(0);
  });

  it.each([
    ['a missing key', {}],
    ['a wrong type', { order_id: 17 }],
    ['a fraction', { order_id: 'A', limit: 1.5 }],
  ])(
    '[FAULT-3] with arguments that do not fit the schema (%s) says what does not, with the schema',
    async (_what, args) => {
      const { texts, view, history } = await answered({ name: 'desk__find_order', arguments: args });
      expect(view.steps[0]?.toolCalls[0]).toMatchObject({ outcome: 'error', arguments: args });
      expect(texts[0]).toMatch(/order_id|limit/);
      expect(texts[0]).toContain('Such as A-17');
      expect(activitiesOf(history, 'longshoreCallTool')).toHaveLength(0);
    },
  );

  it('[FAULT-2] of a tool nobody has, with arguments that are no object, keeps them for people and for the model', async () => {
    const { view, requests } = await answered({ name: 'nobody', arguments: 'oops'.repeat(100) });
    expect(view.steps[0]?.toolCalls[0]).toMatchObject({ arguments: {}, argumentsText: 'oops'.repeat(50) });
    expect(JSON.stringify(requests[1]?.messages)).toContain('oops'.repeat(100));
  });

  it('[FAULT-4] holds no sibling up, and results stay in call order', async () => {
    const { texts, history } = await answered(
      { name: 'nobody', arguments: {} },
      { name: 'desk__find_order', arguments: { order_id: 'B-4' } },
      { name: 'desk__find_order', arguments: 'oops' },
    );
    expect(texts).toHaveLength(3);
    expect(texts[0]).toContain('no tool');
    expect(texts[1]).toBe('order B-4 is at sea');
    expect(texts[2]).toContain('not a JSON object');
    expect(activitiesOf<CallToolInput>(history, 'longshoreCallTool').map((one) => one.input.callKey)).toEqual([
      't1/0/1',
    ]);
  });
});

describe('ids of calls', () => {
  it('[FAULT-5] that are empty, doubled, too long or odd are made anew: distinct, bounded, and in no path (name-1)', async () => {
    const ids = ['', '', 'twice', 'twice', 'x'.repeat(1_500), 'a.b', 'a_b', 'ünï', '../../etc', 'fine-1'];
    const toolCalls = ids.map((id, index) => ({
      name: 'desk__find_order',
      arguments: { order_id: `${index}` },
      id,
    }));
    const { requests, texts } = await answered(...toolCalls);
    const assistant = requests[1]?.messages.find((message) => message.role === 'assistant');
    const sent = assistant?.tool_calls?.map((call) => call.id) ?? [];
    const answeredIds = requests[1]?.messages
      .filter((message) => message.role === 'tool')
      .map((one) => one.tool_call_id);
    expect(answeredIds).toEqual(sent);
    expect(new Set(sent).size).toBe(ids.length);
    expect(sent.every((id) => /^[A-Za-z0-9_.:-]{1,64}$/.test(id))).toBe(true);
    expect([sent[5], sent[6], sent[9]]).toEqual(['a.b', 'a_b', 'fine-1']);
    expect(texts).toEqual(ids.map((_, index) => `order ${index} is at sea`));
  });

  it('[FAULT-5] that were used in an earlier step or turn are made anew', async () => {
    const again = { name: 'desk__find_order', arguments: { order_id: 'A' }, id: 'same' };
    const first = await world.run(spec, {
      script: inOrder({ toolCalls: [again] }, { toolCalls: [again] }, { text: 'done' }),
    });
    const next = await world.run(spec, {
      continueFrom: first.workflowId,
      script: inOrder({ toolCalls: [again] }, { text: 'done' }),
    });
    const ids = next.requests[1]?.messages.flatMap((message) => message.tool_calls?.map((call) => call.id) ?? []) ?? [];
    expect(ids).toHaveLength(3);
    expect(ids[0]).toBe('same');
    expect(new Set(ids).size).toBe(3);
  });
});
