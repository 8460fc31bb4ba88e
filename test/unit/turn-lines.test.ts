// What people read of a turn: figures with separators, and arguments as they came.
import { describe, expect, it } from 'vitest';
import { progressPrinter, type ProgressSink } from '../../cli/progress.ts';
import { turnLines } from '../../cli/turn-lines.ts';
import type { StepRecord, TurnRecord } from '../../client/turn-record.ts';
import type { ToolCallView, TurnView } from '../../client/turn-view.ts';
import type { ProposedCall } from '../../shared/activities.ts';
import type { ServerCatalogFacts } from '../../shared/catalog.ts';

const paint: ProgressSink['paint'] = (_style, text) => text;
const FAR_TOO_LONG = `{"page": 1,\n "note": ${'x'.repeat(180)}`;

const call: ToolCallView = {
  callKey: 't1/0/0',
  server: 'desk',
  tool: 'page',
  arguments: {},
  outcome: 'ok',
  bytes: 1_234_567,
  sha256: 'f'.repeat(64),
  mediaType: 'text/plain',
  tokens: 345_678,
  tokensAreExact: true,
  placement: 'file',
  rule: 'per-result',
  path: '/sandbox/tool-results/t1.0.0-page.txt',
  pointerTokens: 200,
  files: [{ path: '/sandbox/notes.md', sha256: 'e'.repeat(64), bytes: 98_765, mediaType: 'text/markdown' }],
  attempts: 1,
  durationMs: 5,
};

function viewOf(toolCall: ToolCallView): TurnView {
  const usage = { inputTokens: 1_111_111, outputTokens: 22_222, cachedInputTokens: 33_333, reasoningTokens: 4_444 };
  const model = { name: 'm', ...usage, finishReason: 'stop', durationMs: 55_555, attempts: 1 };
  return {
    workflowId: 'turn-1',
    runId: 'r',
    session: 's',
    status: 'completed',
    answer: 'Done.',
    error: null,
    steps: [{ index: 0, model, toolCalls: [toolCall] }],
    tokens: { original: 345_678, inline: 200, sent: 1_111_111, reported: 1_111_111 },
    discovery: {
      servers: [],
      definitionTokens: [],
      calls: 0,
      tokens: 0,
      roundTrips: 0,
      toolsCalled: [],
      firstUsefulCall: null,
      failures: [],
    },
    history: { bytes: 12_345, events: 1_024, runs: 1 },
  };
}

function printed(proposed: Partial<ProposedCall>): string {
  const lines: string[] = [];
  const print = progressPrinter({ line: (line) => lines.push(line), live: () => {}, paint });
  const whole: ProposedCall = {
    callKey: 't1/0/0',
    callId: 'c',
    name: 'desk__page',
    server: 'desk',
    tool: 'page',
    arguments: {},
    argumentsDigest: '',
    schemaHash: '',
    tags: [],
    effect: 'read',
    ...proposed,
  };
  const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 };
  const model = { toolCalls: [whole], usage, modelName: 'm', durationMs: 1 };
  // All that the line is made of.
  const step = { index: 0, model, calls: [{ proposed: whole }] } as unknown as StepRecord;
  const record = { steps: [step], asked: { waiting: () => [] } } as unknown as TurnRecord;
  print({ type: 'model-answered', step }, record);
  return lines.join('\n');
}

describe('the lines of a turn', () => {
  it('have separators in every figure above 999', () => {
    const text = turnLines(viewOf(call), paint).join('\n');
    for (const figure of ['1,234,567 bytes', '345,678 tokens', '98,765 bytes', '1,111,111 tokens in', '55,555 ms']) {
      expect(text).toContain(figure);
    }
    for (const figure of ['33,333 cached', '22,222 out', '4,444 reasoning']) expect(text).toContain(figure);
    expect(text).not.toMatch(/\d{4}/);
  });

  it('show arguments that were no JSON object as they came, on one line, cut short', () => {
    const text = turnLines(viewOf({ ...call, argumentsText: FAR_TOO_LONG }), paint).join('\n');
    expect(text).toMatch(/ {4}arguments that are no JSON object: \{"page": 1, "note": x+…$/m);
    expect(turnLines(viewOf(call), paint).join('\n')).not.toContain('no JSON object');
  });
});

describe('the lines of a server that is asked in the middle of a turn', () => {
  const facts = { server: 'crm', ref: { sha256: 'a', bytes: 1 }, hash: 'b', toolCount: 4, definitionTokens: 9 };
  it.each<readonly [string, Partial<ServerCatalogFacts>, readonly string[]]>([
    ['are none where all is well', {}, []],
    [
      'say why nothing of it can be called',
      { unavailable: 'no `delete_recrod`' },
      ['  crm: not available: no `delete_recrod`'],
    ],
    [
      'name tools that were left out',
      { problems: [{ tool: 'odd', problem: 'no schema' }] },
      ['  crm: asked now', '    left out odd: no schema'],
    ],
  ])('%s', (_, more, expected) => {
    const lines: string[] = [];
    const print = progressPrinter({ line: (line) => lines.push(line), live: () => {}, paint });
    const record = { steps: [], asked: { waiting: () => [] } } as unknown as TurnRecord;
    print({ type: 'loaded', facts: { ...facts, problems: [], ...more } }, record);
    expect(lines).toEqual(expected);
  });
});

describe('the line of a call while it runs', () => {
  it.each([
    ['arguments', { arguments: { page: 1 } }, 't1/0/0 desk.page {"page":1}'],
    ['arguments that were no JSON object', { argumentsText: 'page: 1\n' }, 't1/0/0 desk.page page: 1 '],
    ['large ones', { argumentsRef: { sha256: 'a', bytes: 12_345 } }, 't1/0/0 desk.page (12,345 bytes of arguments)'],
  ] as const)('shows %s', (_, proposed, line) => {
    expect(printed(proposed).split('\n').at(-1)?.trimStart()).toBe(line);
  });

  it('is short, whatever came', () => {
    const line = printed({ argumentsText: FAR_TOO_LONG }).split('\n').at(-1) ?? '';
    expect(line).toContain('{"page": 1, "note": x');
    expect(line.length).toBeLessThan(120);
    expect(line.endsWith('…')).toBe(true);
  });
});
