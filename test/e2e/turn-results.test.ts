// Large results end to end: which go to files, by which rule, what stands in context, and reading them back.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getEncoding } from 'js-tiktoken';
import type { ToolCallView } from '../../client/turn-view.ts';
import type { ScriptedToolCall } from '../../testing/scripted-model.ts';
import { deskOf, openDesk, reader, writer } from '../support/local-tools.ts';
import { packagedFile } from '../support/mcp-pools.ts';
import { historyText, inOrder, toolTexts } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type World } from '../support/turn-world.ts';

const o200k = getEncoding('o200k_base');
const count = (text: string): number => o200k.encode(text, [], []).length;
const webhookEvents = JSON.parse(
  readFileSync(packagedFile('@octokit/webhooks-examples/api.github.com/index.json'), 'utf8'),
) as {
  readonly examples: readonly unknown[];
}[];
const webhook = webhookEvents
  .flatMap((event) => event.examples.map((example) => JSON.stringify(example)))
  .find((text) => text.length === 21_370);
const japanese = readFileSync(packagedFile('cldr-localenames-full/main/ja/languages.json'), 'utf8');
const flexbox = readFileSync(packagedFile('caniuse-db/features-json/flexbox.json'), 'utf8');
const caniuse = readFileSync(packagedFile('caniuse-db/data.json'), 'utf8');
const SENTENCE = 'The pilot boards at the outer buoy and leaves at the lock. ';
const textOf = (bytes: number): string => SENTENCE.repeat(Math.ceil(bytes / SENTENCE.length)).slice(0, bytes);
const failure = `Error: cannot dock\n${textOf(30_000)}\nCaused by: the lock is closed until noon`;

const texts: Readonly<Record<string, () => string>> = {
  webhook: () => webhook ?? '',
  japanese: () => japanese,
  flexbox: () => flexbox,
  caniuse: () => caniuse,
  sized21: () => textOf(21_000_000),
};
const desk = deskOf(
  reader('fixture', ({ name }) => texts[String(name)]?.() ?? ''),
  reader('sized', ({ bytes }) => textOf(Number(bytes))),
  reader('spaces', ({ bytes }) => ' '.repeat(Number(bytes))),
  reader('tiny', ({ n }) => `tiny ${String(n)}`),
  reader('fails', () => ({ content: [{ type: 'text', text: failure }], isError: true })),
  reader('throws', () => {
    throw new Error(failure);
  }),
  writer('write_fails', () => ({ content: [{ type: 'text', text: failure }], isError: true })),
  reader('../../x', () => textOf(60_000)),
  reader('a: b', () => textOf(60_000)),
  reader('n'.repeat(200), () => textOf(60_000)),
  reader('検索ツール', () => textOf(60_000)),
);

const call = (tool: string, args: Record<string, unknown> = {}): ScriptedToolCall => ({
  name: `desk__${tool}`,
  arguments: args,
});

let world: World;
beforeAll(async () => {
  world = await createWorld({ plugin: { localServers: [desk] } });
});
afterAll(() => world.close());

interface Answered extends EndedTurn {
  readonly calls: readonly ToolCallView[];
  readonly texts: readonly string[];
}

async function step(spec: Record<string, unknown>, ...toolCalls: readonly ScriptedToolCall[]): Promise<Answered> {
  const turn = await world.run(spec, { script: inOrder({ toolCalls }, { text: 'done' }) });
  expect(turn.result).toMatchObject({ status: 'completed' });
  return { ...turn, calls: turn.view.steps[0]?.toolCalls ?? [], texts: toolTexts(turn.requests[1]) };
}

const stored = async (view: ToolCallView | undefined): Promise<string> =>
  Buffer.from(await world.store.readBlob(view?.sha256 ?? '')).toString('utf8');

const limits = (large: object, more: object = {}) => ({
  mcp_servers: [{ ...openDesk.mcp_servers[0], ...more }],
  config: { context_management: { large_tool_response: large } },
});

describe('a result above its limit', () => {
  it.each([
    ['size-1', 'webhook', 6_067],
    ['size-2', 'japanese', 7_654],
    ['size-7', 'flexbox', 6_377],
  ])('[PLACE-1] goes to a file by its tokens, not its characters (%s: %s)', async (_row, name, tokens) => {
    const payload = texts[name]?.() ?? '';
    const { calls, texts: seen } = await step(openDesk, call('fixture', { name }));
    expect(calls[0]).toMatchObject({ placement: 'file', rule: 'per-result', tokens, tokensAreExact: true });
    expect(await stored(calls[0])).toBe(payload);
    expect(calls[0]?.bytes).toBe(Buffer.byteLength(payload));
    expect(seen[0]).toContain(calls[0]?.path);
    expect(count(seen[0] ?? '')).toBeLessThanOrEqual(300);
    expect(count(seen[0] ?? '')).toBe(calls[0]?.pointerTokens);
  });

  it('[PLACE-2] leaves a pointer that says path, size, tokens, type, shape, how to inspect, and both ends', async () => {
    const { texts: seen, calls } = await step(openDesk, call('fixture', { name: 'flexbox' }));
    const pointer = seen[0] ?? '';
    expect(pointer).toContain(calls[0]?.path);
    expect(pointer).toContain('17,983');
    expect(pointer).toContain('6,377');
    expect(pointer).toContain('application/json');
    expect(pointer).toMatch(/title/);
    expect(pointer).toMatch(/infer_schema|query_json/);
    expect(pointer).toContain(flexbox.slice(0, 20).split('\n')[0]);
  });

  it('[PLACE-3] never passes through history, and is whole in the store: 4.7 MB and 21 MB (size-5, size-8)', async () => {
    const { calls, view, history } = await step(
      openDesk,
      call('fixture', { name: 'caniuse' }),
      call('fixture', { name: 'sized21' }),
    );
    expect(calls.map((one) => [one.placement, one.rule, one.attempts])).toEqual([
      ['file', 'per-result', 1],
      ['file', 'per-result', 1],
    ]);
    expect((await stored(calls[0])).length).toBe(caniuse.length);
    expect(await stored(calls[0])).toBe(caniuse);
    expect(calls[1]?.bytes).toBe(21_000_000);
    expect((await stored(calls[1])) === textOf(21_000_000)).toBe(true);
    expect(view.history.bytes).toBeLessThan(60_000);
    expect(historyText(history).length).toBeLessThan(120_000);
  });
});

describe('the results of one step', () => {
  it('[PLACE-4] of 51, 36, 23 and 40 KB leave at most the step limit in context, pointers counted (size-4)', async () => {
    const spec = limits({ per_result_tokens: 20_000, per_step_tokens: 10_000 });
    const { calls, texts: seen } = await step(
      spec,
      ...[51, 36, 23, 40].map((kb) => call('sized', { bytes: kb * 1_000 })),
    );
    const inContext = seen.reduce((sum, text) => sum + count(text), 0);
    expect(inContext).toBeLessThanOrEqual(10_000);
    // Largest first, until what remains is below the limit.
    const weights = [51, 36, 23, 40].map((kb) => count(textOf(kb * 1_000)));
    expect(calls.map((one) => one.tokens)).toEqual(weights);
    const order = weights.map((_, index) => index).sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0));
    let total = weights.reduce((a, b) => a + b, 0);
    const files = new Set<number>();
    for (const index of order) {
      if (total <= 10_000) break;
      total -= (weights[index] ?? 0) - (calls[index]?.pointerTokens ?? 0);
      files.add(index);
    }
    expect(calls.map((one) => [one.placement, one.rule])).toEqual(
      weights.map((_, index) => (files.has(index) ? ['file', 'per-step'] : ['inline', 'fits'])),
    );
    expect(total).toBe(inContext);
  });

  it('[PLACE-5] never put a result in a file that is smaller than its pointer', async () => {
    const spec = limits({ per_result_tokens: 1, per_step_tokens: 1 });
    const { calls, texts: seen } = await step(spec, ...[1, 2, 3].map((n) => call('tiny', { n })));
    expect(calls.map((one) => [one.placement, one.rule])).toEqual([1, 2, 3].map(() => ['inline', 'fits']));
    expect(seen).toEqual(['tiny 1', 'tiny 2', 'tiny 3']);
  });
});

describe('limits', () => {
  it('[PLACE-6] can be set for one tool and for one server', async () => {
    const toolOnly = limits({}, { tool_settings: { sized: { per_result_tokens: 500 } } });
    const { calls } = await step(toolOnly, call('sized', { bytes: 4_000 }), call('fixture', { name: 'flexbox' }));
    expect(calls.map((one) => one.placement)).toEqual(['file', 'file']);
    const wide = limits({}, { tool_settings: { fixture: { per_result_tokens: 9_000 } } });
    const wider = await step(wide, call('sized', { bytes: 4_000 }), call('fixture', { name: 'flexbox' }));
    expect(wider.calls.map((one) => one.placement)).toEqual(['inline', 'inline']);
    const server = await step(limits({}, { per_result_tokens: 500 }), call('sized', { bytes: 4_000 }));
    expect(server.calls[0]).toMatchObject({ placement: 'file', rule: 'per-result' });
  });

  it('[PLACE-7] do not act where large_tool_response is disabled; above 64 KiB a result still goes to a file', async () => {
    const off = limits({ enabled: false });
    const { calls, texts: seen } = await step(
      off,
      call('fixture', { name: 'flexbox' }),
      call('sized', { bytes: 60_000 }),
    );
    expect(calls.map((one) => [one.placement, one.rule])).toEqual([
      ['inline', 'exempt'],
      ['inline', 'exempt'],
    ]);
    expect(seen).toEqual([flexbox, textOf(60_000)]);
    const large = await step(off, call('sized', { bytes: 70_000 }));
    expect(large.calls[0]).toMatchObject({ placement: 'file', rule: 'per-result' });
  });

  it('[PLACE-8] a result of over 64 KiB goes to a file whatever its tokens', async () => {
    const { calls } = await step(
      limits({ per_result_tokens: 90_000, per_step_tokens: 90_000 }),
      call('spaces', { bytes: 65_537 }),
    );
    expect(calls[0]).toMatchObject({ placement: 'file', rule: 'per-result', bytes: 65_537 });
    const just = await step(
      limits({ per_result_tokens: 90_000, per_step_tokens: 90_000 }),
      call('sized', { bytes: 65_536 }),
    );
    expect(just.calls[0]).toMatchObject({ placement: 'inline', rule: 'fits' });
    expect(just.texts[0]).toBe(textOf(65_536));
  });

  it('[PLACE-9] preview_characters sets how much of both ends a pointer shows', async () => {
    const short = await step(limits({ preview_characters: 10 }), call('sized', { bytes: 60_000 }));
    const long = await step(limits({ preview_characters: 200 }), call('sized', { bytes: 60_000 }));
    expect(short.texts[0]).toContain(textOf(10).trim());
    expect(short.texts[0]).not.toContain(textOf(60));
    expect(long.texts[0]).toContain(textOf(150).trim());
  });
});

describe('an error of 30 KB', () => {
  it.each(['fails', 'throws', 'write_fails'])(
    '[PLACE-10] keeps its flag, both ends inline, the whole in a file (size-6: %s)',
    async (tool) => {
      const { calls, texts: seen } = await step(openDesk, call(tool));
      expect(calls[0]).toMatchObject({ outcome: 'error', placement: 'file' });
      expect(seen[0]).toContain('Error: cannot dock');
      expect(seen[0]).toContain('Caused by: the lock is closed until noon');
      expect(seen[0]).toContain(calls[0]?.path);
      expect(await stored(calls[0])).toContain(failure);
    },
  );
});

describe('names of tools', () => {
  it('[PLACE-11] that are hostile stay inside the folder, readable and distinct (name-2)', async () => {
    const offered = await world.run(openDesk, { script: inOrder({ text: 'ok' }) });
    const names = (offered.requests[0]?.tools ?? [])
      .map((tool) => tool.function)
      .filter((tool) => /Reads: (\.\.|a: b|n{200}|検)/.test(tool.description ?? ''))
      .map((tool) => tool.name);
    expect(names).toHaveLength(4);
    expect(names.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name))).toBe(true);
    const { calls } = await step(openDesk, ...names.map((name) => ({ name, arguments: {} })));
    const paths = calls.map((one) => one.path ?? '');
    expect(new Set(paths).size).toBe(4);
    for (const path of paths) {
      expect(path).toMatch(/^\/sandbox\/tool-results\/t1\.0\.\d-[A-Za-z0-9_-]{1,40}-[0-9a-f]{16}\.txt$/);
    }
    expect(new Set(calls.map((one) => one.tool))).toEqual(new Set(['../../x', 'a: b', 'n'.repeat(200), '検索ツール']));
  });
});
