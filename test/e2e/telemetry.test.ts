// Turns under a real OpenTelemetry SDK with Temporal's own OpenTelemetry interceptors: spans, their parents and attributes,
// metrics and log entries, compared with what history says.
import { SpanKind, SpanStatusCode, type Attributes } from '@opentelemetry/api';
import { Resource } from '@opentelemetry/resources';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryPlugin,
} from '@temporalio/interceptors-opentelemetry';
import { bundleWorkflowCode } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileURLToPath } from 'node:url';
import { replayTurn } from '../../testing/replay.ts';
import type { LogEntry } from '../../worker/log.ts';
import { deskOf, openDesk, reader, writer } from '../support/local-tools.ts';
import { installOpenTelemetry, pointsOf, type MemoryTelemetry } from '../support/open-telemetry.ts';
import { inOrder } from '../support/turn-history.ts';
import { createWorld, type EndedTurn, type World } from '../support/turn-world.ts';

const BIG = 'A word that nobody outside may read. '.repeat(3_000);
const SAID = 'The answer stays between us.';
const ASKED = 'Which ship is the fastest?';
const desk = deskOf(
  reader('big', () => BIG),
  reader('small', () => 'twelve knots'),
  writer('breaks', () => {
    throw new Error('the crane is stuck');
  }),
);
const usage = { inputTokens: 900, outputTokens: 40, cachedInputTokens: 300, reasoningTokens: 7 };
const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));

let telemetry: MemoryTelemetry;
let world: World;
let tracedBundle: { readonly code: string };
let turn: EndedTurn;
let spans: readonly ReadableSpan[];
let metrics: readonly MetricData[];
const entries: LogEntry[] = [];

beforeAll(async () => {
  telemetry = installOpenTelemetry();
  const otel = { resource: Resource.empty(), spanProcessor: telemetry.processor };
  const logger = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
  tracedBundle = await bundleWorkflowCode({ workflowsPath, logger, plugins: [new OpenTelemetryPlugin(otel)] });
  world = await createWorld({
    plugin: { localServers: [desk], log: (entry) => entries.push(entry) },
    worker: {
      workflowBundle: tracedBundle,
      interceptors: { activity: [(context) => ({ inbound: new OpenTelemetryActivityInboundInterceptor(context) })] },
      sinks: { exporter: makeWorkflowExporter(otel.spanProcessor, otel.resource) },
    },
  });
  const call = (tool: string) => ({ name: `desk__${tool}`, arguments: { secretive: SAID } });
  turn = await world.run(
    { name: 'harbour-master', ...openDesk },
    {
      text: ASKED,
      session: 'harbour-1',
      script: inOrder({ toolCalls: ['big', 'small', 'breaks'].map(call), usage }, { text: SAID, usage }),
    },
  );
  await world.worker.stop();
  spans = telemetry.spans();
  metrics = await telemetry.metrics();
});
afterAll(async () => {
  await world.close();
  await telemetry.uninstall();
});

const named = (name: string): readonly ReadableSpan[] => spans.filter((span) => span.name === name);
const model = (): string => `scripted-${turn.workflowId}`;
const parentOf = (span: ReadableSpan | undefined): ReadableSpan | undefined =>
  spans.find((other) => other.spanContext().spanId === span?.parentSpanId);
const sum = (name: string, where: Attributes = {}): number =>
  pointsOf(metrics, name)
    .filter(({ attributes }) => Object.entries(where).every(([key, value]) => attributes[key] === value))
    .reduce((total, point) => total + point.sum, 0);

describe('spans of a turn', () => {
  it('are children of the spans of their Activities, all in one trace with the Workflow', () => {
    const ours = spans.filter(({ instrumentationLibrary }) => instrumentationLibrary.name === 'longshore');
    const turnSpans = ours.filter(({ name }) => /^(chat|execute_tool)/.test(name));
    expect(turnSpans).toHaveLength(5);
    expect(new Set(turnSpans.map((span) => parentOf(span)?.name))).toEqual(
      new Set(['RunActivity:longshoreCallModel', 'RunActivity:longshoreCallTool']),
    );
    const workflow = named('RunWorkflow:longshoreAgentTurn')[0];
    expect(new Set(ours.map((span) => span.spanContext().traceId))).toEqual(new Set([workflow?.spanContext().traceId]));
  });

  it('name model, provider, usage and finish reason of each model call', () => {
    const chats = named(`chat ${model()}`);
    expect(chats).toHaveLength(2);
    expect(chats.map(({ kind, status }) => [kind, status.code])).toEqual([
      [SpanKind.CLIENT, SpanStatusCode.UNSET],
      [SpanKind.CLIENT, SpanStatusCode.UNSET],
    ]);
    const sent = chats.map(({ attributes }) => Number(attributes['longshore.model.sent_tokens']));
    expect(sent.reduce((total, tokens) => total + tokens, 0)).toBe(turn.view.tokens.sent);
    expect(chats.map(({ attributes }) => attributes)).toEqual(
      ['tool-calls', 'stop'].map((reason, step) => ({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': model(),
        'gen_ai.response.model': model(),
        'gen_ai.response.finish_reasons': [reason],
        'gen_ai.usage.input_tokens': 900,
        'gen_ai.usage.output_tokens': 40,
        'gen_ai.usage.cache_read.input_tokens': 300,
        'gen_ai.usage.reasoning.output_tokens': 7,
        'gen_ai.conversation.id': 'harbour-1',
        'longshore.turn.id': turn.workflowId,
        'longshore.turn.ordinal': 1,
        'longshore.step': step,
        'longshore.attempt': 1,
        'longshore.model.sent_tokens': sent[step],
        'longshore.model.definition_tokens': turn.view.discovery.definitionTokens[step],
        'longshore.model.tool_calls': step === 0 ? 3 : 0,
      })),
    );
  });

  it('name tool, call and outcome of each tool call, and mark what went wrong', () => {
    const big = named('execute_tool big')[0];
    expect(big?.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'big',
      'gen_ai.tool.call.id': 't1/0/0',
      'gen_ai.tool.type': 'function',
      'gen_ai.conversation.id': 'harbour-1',
      'longshore.turn.id': turn.workflowId,
      'longshore.turn.ordinal': 1,
      'longshore.step': 0,
      'longshore.attempt': 1,
      'longshore.tool.server': 'desk',
      'longshore.tool.effect': 'read',
      'longshore.tool.outcome': 'ok',
      'longshore.tool.result.bytes': BIG.length,
      'longshore.tool.result.tokens': expect.any(Number),
      'longshore.tool.result.media_type': 'text/plain',
      'longshore.tool.staged_bytes': BIG.length,
    });
    const broken = named('execute_tool breaks')[0];
    expect(broken?.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(broken?.attributes['error.type']).toBe('tool_error');
    expect(broken?.events).toEqual([]);
  });
});

describe('the span of the agent', () => {
  const invocations = () => spans.filter(({ attributes }) => attributes['gen_ai.operation.name'] === 'invoke_agent');
  const msOf = ([seconds, nanoseconds]: ReadableSpan['startTime']): number => seconds * 1_000 + nanoseconds / 1_000_000;

  it('is there once, with agent, model, conversation and how the turn ended', () => {
    expect(invocations().map(({ name, kind, status, attributes }) => ({ name, kind, status, attributes }))).toEqual([
      {
        name: 'invoke_agent harbour-master',
        kind: SpanKind.INTERNAL,
        status: { code: SpanStatusCode.UNSET },
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          'gen_ai.agent.name': 'harbour-master',
          'gen_ai.provider.name': 'openai',
          'gen_ai.request.model': model(),
          'gen_ai.conversation.id': 'harbour-1',
          'longshore.turn.id': turn.workflowId,
          'longshore.turn.ordinal': 1,
          'longshore.turn.status': 'completed',
        },
      },
    ]);
  });

  it("is in the turn's trace, and spans all its model calls and tool calls in time", () => {
    const [invocation] = invocations();
    const calls = spans.filter(({ name }) => /^(chat|execute_tool)/.test(name));
    expect(calls).toHaveLength(5);
    expect(parentOf(invocation)?.name).toBe('RunActivity:longshoreCommitStep');
    for (const span of calls) {
      expect(span.spanContext().traceId).toBe(invocation?.spanContext().traceId);
      // The Workflow's clock has no parts of a millisecond.
      expect(msOf(span.startTime)).toBeGreaterThanOrEqual(msOf(invocation?.startTime ?? [0, 0]) - 1);
      expect(msOf(span.endTime)).toBeLessThanOrEqual(msOf(invocation?.endTime ?? [0, 0]));
    }
  });

  it('is not told again by a replay', async () => {
    const before = telemetry.spans().length;
    await replayTurn(turn.history, { workflows: { workflowBundle: tracedBundle } });
    expect(telemetry.spans()).toHaveLength(before);
  });
});

describe('metrics of a turn', () => {
  it("follow the conventions, with the conventions' buckets", () => {
    const tokens = pointsOf(metrics, 'gen_ai.client.token.usage');
    expect(tokens.map(({ sum: total, count }) => [total, count])).toEqual([
      [1_800, 2],
      [80, 2],
    ]);
    expect(tokens[0]?.boundaries).toEqual([
      1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
    ]);
    expect(tokens[0]?.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.token.type': 'input',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': model(),
      'gen_ai.response.model': model(),
    });
    const durations = pointsOf(metrics, 'gen_ai.client.operation.duration');
    expect(durations[0]?.boundaries).toEqual([
      0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    ]);
    const counts = durations.map(({ attributes, count }) => [attributes['gen_ai.operation.name'], count]);
    expect(counts).toEqual([
      ['chat', 2],
      ['execute_tool', 1],
      ['execute_tool', 1],
      ['execute_tool', 1],
    ]);
  });

  it('agree with history about placements, tokens and bytes', () => {
    const calls = turn.view.steps[0]?.toolCalls ?? [];
    const [big] = calls;
    expect(big).toMatchObject({ placement: 'file', rule: 'per-result' });
    expect(sum('longshore.placements', { 'longshore.placement': 'inline', 'longshore.placement.rule': 'fits' })).toBe(
      2,
    );
    expect(sum('longshore.placements', { 'longshore.placement.rule': 'per-result' })).toBe(1);
    const { original, inline } = turn.view.tokens;
    expect(sum('longshore.tokens.kept_out')).toBe(original - inline);
    expect(sum('longshore.tokens.in_context')).toBe(inline);
    expect(sum('longshore.tool.result.size')).toBe(calls.reduce((total, { bytes }) => total + bytes, 0));
    expect(sum('longshore.tool.staged.size')).toBe(BIG.length);
    expect(sum('longshore.model.sent_tokens')).toBe(turn.view.tokens.sent);
    expect(sum('longshore.turns', { 'longshore.turn.status': 'completed' })).toBe(1);
    expect(sum('longshore.attempts.failed')).toBe(0);
  });
});

describe('log entries of a turn', () => {
  it('tell each model call, tool call and placement once, with turn, step and call', () => {
    const label = { workflowId: turn.workflowId, session: 'harbour-1', turn: 1 };
    const told = entries.filter(({ workflowId }) => workflowId === turn.workflowId);
    expect(told.filter(({ message }) => message === 'tool call ended')).toHaveLength(3);
    expect(told.filter(({ message }) => message !== 'tool call ended').map(({ message }) => message)).toEqual([
      'tools listed',
      'model call ended',
      'step placed',
      'model call ended',
      'turn ended',
    ]);
    expect(told.find(({ callKey }) => callKey === 't1/0/0')).toMatchObject({
      ...label,
      level: 'info',
      step: 0,
      server: 'desk',
      tool: 'big',
      outcome: 'ok',
      bytes: BIG.length,
    });
    const { original, inline } = turn.view.tokens;
    expect(told.find(({ message }) => message === 'step placed')).toMatchObject({
      ...label,
      step: 0,
      rules: { fits: 2, 'per-result': 1 },
      tokensKeptOut: original - inline,
      files: [{ callKey: 't1/0/0', rule: 'per-result', tokensKeptOut: original - inline }],
    });
  });
});

describe('nothing of all this', () => {
  it('holds a word of what was asked, called with, said or answered', () => {
    const ours = spans.filter(({ instrumentationLibrary }) => instrumentationLibrary.name === 'longshore');
    const all = JSON.stringify([
      ours.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
      metrics,
      entries,
    ]);
    expect(all).toContain('per-result');
    for (const text of [ASKED, SAID, 'A word that nobody', 'twelve knots', 'crane']) expect(all).not.toContain(text);
  });
});
