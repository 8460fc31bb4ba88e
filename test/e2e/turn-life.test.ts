// The life of a turn on the real server: what passes through history, parallel calls, the order of results, its ends.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { CallModelInput, CallToolInput, CommitStepInput } from '../../shared/activities.ts';
import type { ScriptedModel } from '../../testing/scripted-model.ts';
import { deskOf, Gates, openDesk, reader } from '../support/local-tools.ts';
import { activitiesOf, historyText, inOrder, occurrences, toolTexts } from '../support/turn-history.ts';
import { createWorld, type World } from '../support/turn-world.ts';

const FILLER = 'The tide turns twice a day, and the harbour master writes it down. ';
const MARKER = 'marker-7f3a9c';
const filled = (characters: number): string => {
  const half = FILLER.repeat(Math.ceil(characters / 2 / FILLER.length));
  return `${half}${MARKER}${half}`;
};

const gates = new Gates();
let barrier = Promise.withResolvers<void>();
let waiting = 0;

const desk = deskOf(
  reader('page', ({ n }) => `${String(n)}: ${FILLER.repeat(75)}`),
  reader('marked', ({ characters }) => filled(Number(characters))),
  reader('meet', async () => {
    waiting += 1;
    if (waiting === 2) barrier.resolve();
    await barrier.promise;
    return 'met';
  }),
  reader('gated', async ({ gate }, { signal }) => {
    await gates.pass(String(gate), signal);
    return `passed ${String(gate)}`;
  }),
  reader('echo', ({ text }) => String(text)),
);

const call = (tool: string, args: Record<string, unknown> = {}) => ({ name: `desk__${tool}`, arguments: args });

/** Asks for one page a step, so many times, then answers. */
function pages(count: number): ScriptedModel {
  return (_request, n) => (n < count ? { toolCalls: [call('page', { n })] } : { text: 'read' });
}

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

describe('what passes through history', () => {
  it('[TURN-1] gives a model call the head and what is new, so that history grows by what is new', async () => {
    const bytes: number[] = [];
    for (const steps of [4, 8, 16]) {
      const { history, result } = await world.run(openDesk, { script: pages(steps) });
      expect(result.status).toBe('completed');
      const inputs = activitiesOf<CallModelInput>(history, 'longshoreCallModel');
      expect(inputs).toHaveLength(steps + 1);
      expect(inputs[0]?.input).toMatchObject({ head: null, messages: [{ type: 'user.message', content: 'Go on.' }] });
      for (const { input } of inputs.slice(1)) {
        expect(input.head?.sha256).toMatch(/^[0-9a-f]{64}$/);
        expect(input).toMatchObject({ messages: [] });
        expect(input.commit?.results).toHaveLength(1);
        expect(input).not.toHaveProperty('frame');
      }
      const later = inputs.slice(1).map((one) => one.bytes);
      expect(Math.max(...later) - Math.min(...later)).toBeLessThan(100);
      bytes.push(historyText(history).length);
    }
    const [four = 0, eight = 0, sixteen = 0] = bytes;
    expect((sixteen - eight) / (eight - four)).toBeCloseTo(2, 1);
  });

  it('[TURN-2] lets the content of a staged result pass history once, and of a large one never', async () => {
    const inline = await world.run(openDesk, {
      script: inOrder({ toolCalls: [call('marked', { characters: 4_000 })] }, { text: 'done' }),
    });
    expect(inline.view.steps[0]?.toolCalls[0]).toMatchObject({ placement: 'inline', rule: 'fits' });
    expect(toolTexts(inline.requests[1])[0]).toBe(filled(4_000));
    expect(occurrences(historyText(inline.history), MARKER)).toBe(1);
    const large = await world.run(openDesk, {
      script: inOrder({ toolCalls: [call('marked', { characters: 200_000 })] }, { text: 'done' }),
    });
    expect(large.view.steps[0]?.toolCalls[0]).toMatchObject({ placement: 'file', rule: 'per-result' });
    expect(occurrences(historyText(large.history), MARKER)).toBe(0);
  });

  it('[TURN-3] records every decision as data in the input of the next Activity, and at the end in the commit', async () => {
    const script = inOrder(
      { toolCalls: [call('marked', { characters: 200_000 }), call('echo', { text: 'hi' })] },
      { toolCalls: [call('echo', { text: 'last' })] },
    );
    const { history, view } = await world.run({ ...openDesk, config: { iteration_limit: 2 } }, { script });
    const [, second] = activitiesOf<CallModelInput>(history, 'longshoreCallModel');
    const path = view.steps[0]?.toolCalls[0]?.path;
    expect(path).toMatch(/^\/sandbox\/tool-results\/t1\.0\.0-marked-[0-9a-f]{16}\.txt$/);
    expect(second?.input.commit).toMatchObject({
      step: 0,
      results: [
        { callKey: 't1/0/0', outcome: 'ok', placement: 'file', rule: 'per-result', file: { path } },
        { callKey: 't1/0/1', outcome: 'ok', placement: 'inline', rule: 'fits' },
      ],
    });
    const commits = activitiesOf<CommitStepInput>(history, 'longshoreCommitStep');
    expect(commits).toHaveLength(1);
    expect(commits[0]?.input).toMatchObject({
      ended: 'iteration_limit',
      commit: { step: 1, results: [{ callKey: 't1/1/0', placement: 'inline', rule: 'fits' }] },
    });
  });
});

describe('the calls of a step', () => {
  it('[TURN-4] run in parallel: two that wait for each other both end', async () => {
    waiting = 0;
    barrier = Promise.withResolvers<void>();
    const { result, requests } = await world.run(openDesk, {
      script: inOrder({ toolCalls: [call('meet'), call('meet')] }, { text: 'done' }),
    });
    expect(result.status).toBe('completed');
    expect(toolTexts(requests[1])).toEqual(['met', 'met']);
  });

  it('[TURN-5] are Activities of their own, each with a summary, a heartbeat, timeouts and a retry policy', async () => {
    const { history } = await world.run(openDesk, {
      script: inOrder({ toolCalls: [call('echo', { text: 'a' }), call('echo', { text: 'b' })] }, { text: 'done' }),
    });
    const calls = activitiesOf<CallToolInput>(history, 'longshoreCallTool');
    expect(calls.map((one) => one.summary)).toEqual(['t1/0/0 desk.echo', 't1/0/1 desk.echo']);
    const models = activitiesOf<CallModelInput>(history, 'longshoreCallModel');
    expect(models.every((one) => one.summary !== '')).toBe(true);
    for (const { attributes } of [...calls, ...models]) {
      expect(Number(attributes.startToCloseTimeout?.seconds)).toBeGreaterThan(0);
      const heartbeatSeconds = Number(attributes.heartbeatTimeout?.seconds);
      expect(heartbeatSeconds).toBeGreaterThan(0);
      expect(heartbeatSeconds).toBeLessThanOrEqual(30);
      expect(attributes.retryPolicy?.maximumAttempts).toBeGreaterThan(1);
    }
  });

  it('[TURN-6] give exactly one result each in call order, whatever the order in which they finish', async () => {
    const orders = fc
      .integer({ min: 1, max: 6 })
      .chain((count) => fc.shuffledSubarray([...Array(count).keys()], { minLength: count, maxLength: count }));
    let run = 0;
    await fc.assert(
      fc.asyncProperty(orders, async (order) => {
        run += 1;
        const gate = (index: number): string => `order-${run}-${index}`;
        const toolCalls = order.map((_, index) => call('gated', { gate: gate(index) }));
        const started = await world.start(openDesk, { text: 'Go.', script: inOrder({ toolCalls }, { text: 'done' }) });
        await Promise.all(order.map((index) => gates.reached(gate(index))));
        for (const index of order) {
          gates.open(gate(index));
          const key = `t1/0/${index}`;
          await vi.waitUntil(async () => !(await started.state()).openCalls.includes(key), { timeout: 10_000 });
        }
        const { requests, view } = await started.ended();
        expect(toolTexts(requests[1])).toEqual(order.map((_, index) => `passed ${gate(index)}`));
        expect(view.steps[0]?.toolCalls.map((one) => one.callKey)).toEqual(order.map((_, index) => `t1/0/${index}`));
      }),
      { numRuns: 8 },
    );
  });
});

describe('a turn ends', () => {
  it('[TURN-7] at its iteration_limit with a result that says so, the last step committed', async () => {
    const { result, view, requests } = await world.run(
      { ...openDesk, config: { iteration_limit: 3 } },
      { script: pages(100) },
    );
    expect(result).toMatchObject({ status: 'iteration_limit', steps: 3, error: { type: 'IterationLimit' } });
    expect(result.error?.mend).not.toBe('');
    expect(requests).toHaveLength(3);
    expect(view.steps.map((step) => step.toolCalls[0]?.placement)).toEqual(['inline', 'inline', 'inline']);
  });

  it('[TURN-8] when its token budget is used up, before the next model call', async () => {
    const script: ScriptedModel = (_request, n) => ({
      toolCalls: [call('echo', { text: `${n}` })],
      usage: { inputTokens: 400, outputTokens: 100 },
    });
    const { result, requests } = await world.run({ ...openDesk, config: { budgets: { tokens: 1_000 } } }, { script });
    expect(result).toMatchObject({ status: 'budget', error: { type: 'BudgetExhausted' }, steps: 2 });
    expect(result.error?.message).toContain('1000');
    expect(requests).toHaveLength(2);
  });

  it('[TURN-8] when its wall time is used up', async () => {
    const started = await world.start(
      { ...openDesk, config: { budgets: { wall_time: '1s' } } },
      { text: 'Go.', script: () => ({ toolCalls: [call('gated', { gate: 'wall' })] }) },
    );
    await gates.reached('wall');
    const timer = setTimeout(() => gates.open('wall'), 1_100);
    const { result } = await started.ended();
    clearTimeout(timer);
    expect(result).toMatchObject({ status: 'budget', error: { type: 'BudgetExhausted' } });
  });

  it('[TURN-9] with what it cost counted, cached and reasoning tokens included', async () => {
    const usage = { inputTokens: 900, outputTokens: 70, cachedInputTokens: 512, reasoningTokens: 33 };
    const { view } = await world.run(openDesk, { script: inOrder({ text: 'done', usage }) });
    expect(view.steps[0]?.model).toMatchObject({ ...usage, finishReason: 'stop', attempts: 1 });
    expect(view.tokens.reported).toBe(900);
  });
});
