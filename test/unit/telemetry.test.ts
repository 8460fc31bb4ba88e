// The interceptor alone: what it tells of attempts that fail, of turns that end, of names that hold secrets, and that it never
// tells a payload nor changes what an Activity does.
import { trace, SpanStatusCode } from '@opentelemetry/api';
import { ApplicationFailure, CancelledFailure, defaultPayloadConverter } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CallModelResult, CallToolInput, CommitStepInput, StepCommit } from '../../shared/activities.ts';
import type { ResultFacts } from '../../shared/facts.ts';
import type { LogEntry } from '../../worker/log.ts';
import { createTelemetry } from '../../worker/telemetry.ts';
import { METRICS } from '../../worker/telemetry/instruments.ts';
import { parentContext } from '../../worker/telemetry/parent-context.ts';
import { installOpenTelemetry, pointsOf, type MemoryTelemetry } from '../support/open-telemetry.ts';

const turn = { workflowId: 'turn-1', session: 'session-1', turn: 2 };
const toolInput: CallToolInput = {
  turn,
  callKey: 't2/4/1',
  server: 'desk',
  tool: 'look',
  arguments: {},
  schemaHash: '',
  effect: 'read',
  generation: 0,
  perResultTokens: 1,
  previewCharacters: 1,
  imageTokens: 1,
};
const facts: ResultFacts = {
  callKey: 't2/4/1',
  outcome: 'ok',
  bytes: 12,
  sha256: '',
  mediaType: 'text/plain',
  tokens: 3,
  tokensAreExact: true,
  estimator: '',
  pointerTokens: 3,
  blocks: [],
  imageBlocks: [],
  attempts: 1,
  durationMs: 1,
};
const answer: CallModelResult = {
  head: { sha256: '', bytes: 0 },
  text: '',
  toolCalls: [],
  finishReason: 'stop',
  modelName: 'answering',
  usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 },
  sentTokens: 1,
  attempts: 1,
  durationMs: 1,
};

let sdk: MemoryTelemetry;
let entries: LogEntry[];
beforeEach(() => {
  sdk = installOpenTelemetry();
  entries = [];
});
afterEach(() => sdk.uninstall());

/** Runs an Activity under the interceptor, with the whole of Temporal's own machinery around it. */
function run(
  activityType: string,
  input: unknown,
  work: () => unknown,
  options: { readonly log?: (entry: LogEntry) => void; readonly attempt?: number } = {},
): Promise<unknown> {
  const telemetry = createTelemetry({
    log: options.log ?? ((entry) => entries.push(entry)),
    redact: (text) => text.replaceAll('hush-hush', '[redacted]'),
  });
  const logger = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
  const environment = new MockActivityEnvironment(
    { activityType, attempt: options.attempt ?? 1 },
    { interceptors: telemetry.interceptors.activity ?? [], logger },
  );
  return environment.run(() => Promise.resolve().then(work), input);
}

describe('an attempt that fails', () => {
  const refuse = () => {
    throw ApplicationFailure.create({ type: 'ModelRateLimited', message: 'slow down, said the provider' });
  };

  it('is a warning and an error span with its type, and never its message; the failure goes on unchanged', async () => {
    const input = { turn, step: 3, head: null, messages: [] };
    await expect(run('longshoreCallModel', input, refuse, { attempt: 2 })).rejects.toMatchObject({
      type: 'ModelRateLimited',
      message: 'slow down, said the provider',
    });
    const [span] = sdk.spans();
    expect(span?.name).toBe('chat');
    expect(span?.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(span?.attributes).toMatchObject({ 'error.type': 'ModelRateLimited', 'longshore.attempt': 2 });
    expect(entries).toEqual([
      {
        level: 'warn',
        message: 'attempt of a model call failed',
        workflowId: 'turn-1',
        session: 'session-1',
        turn: 2,
        step: 3,
        errorType: 'ModelRateLimited',
        isFinal: false,
        attempt: 2,
        durationMs: expect.any(Number),
      },
    ]);
    const metrics = await sdk.metrics();
    expect(pointsOf(metrics, 'longshore.attempts.failed')).toMatchObject([
      { sum: 1, attributes: { 'error.type': 'ModelRateLimited', 'longshore.activity': 'model call' } },
    ]);
    expect(pointsOf(metrics, 'gen_ai.client.operation.duration')).toMatchObject([
      { count: 1, attributes: { 'error.type': 'ModelRateLimited', 'gen_ai.operation.name': 'chat' } },
    ]);
    expect(JSON.stringify([span?.attributes, span?.events, entries, metrics])).not.toContain('slow down');
  });

  it('is told without a warning, and not counted as failed, when it was cancelled', async () => {
    const cancel = () => {
      throw new CancelledFailure('cancelled');
    };
    await expect(run('longshoreCallTool', toolInput, cancel)).rejects.toThrow(CancelledFailure);
    expect(entries).toMatchObject([{ level: 'info', message: 'tool call cancelled', callKey: 't2/4/1', step: 4 }]);
    expect(pointsOf(await sdk.metrics(), 'longshore.attempts.failed')).toEqual([]);
    expect(sdk.spans()[0]?.attributes['error.type']).toBe('cancelled');
  });
});

describe('a turn that ends', () => {
  const input: CommitStepInput = {
    turn,
    head: null,
    messages: [],
    ended: 'iteration_limit',
    invocation: { agent: 'harbour', model: 'openai/gpt/x', startedMs: 1_700_000_000_000 },
  };

  it('is one span from its start, with agent, conversation and how it ended', async () => {
    await run('longshoreCommitStep', input, () => ({ head: null }));
    const [span] = sdk.spans();
    expect(span?.name).toBe('invoke_agent harbour');
    expect(span?.startTime).toEqual([1_700_000_000, 0]);
    expect(span?.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'harbour',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt/x',
      'gen_ai.conversation.id': 'session-1',
      'longshore.turn.id': 'turn-1',
      'longshore.turn.ordinal': 2,
      'longshore.turn.status': 'iteration_limit',
      'error.type': 'iteration_limit',
    });
    expect(entries).toMatchObject([{ message: 'turn ended', status: 'iteration_limit' }]);
  });

  it('has no span while its last commit fails, so that it never has two', async () => {
    const fail = () => {
      throw new Error('disk');
    };
    await expect(run('longshoreCommitStep', input, fail)).rejects.toThrow('disk');
    expect(sdk.spans()).toEqual([]);
  });
});

describe('telemetry', () => {
  it('leaves other Activities alone, whatever they are called', async () => {
    for (const name of ['greet', 'longshoreOther', 'constructor', '__proto__']) {
      expect(await run(name, { any: 'thing' }, () => 42)).toBe(42);
    }
    expect([sdk.spans(), entries]).toEqual([[], []]);
  });

  it('never makes an Activity fail: a log that throws costs its own entry alone', async () => {
    const log = () => {
      throw new Error('the log is full');
    };
    expect(await run('longshoreCallTool', toolInput, () => facts, { log })).toBe(facts);
    expect(sdk.spans()).toHaveLength(1);
  });

  it('follows a meter provider that is set later', async () => {
    const telemetry = createTelemetry({ log: () => {}, redact: (text) => text });
    const call = () =>
      new MockActivityEnvironment(
        { activityType: 'longshoreCallTool' },
        { interceptors: telemetry.interceptors.activity ?? [] },
      ).run(() => Promise.resolve(facts), toolInput);
    await sdk.uninstall();
    await call();
    sdk = installOpenTelemetry();
    await call();
    expect(pointsOf(await sdk.metrics(), 'longshore.tool.result.size')).toMatchObject([{ count: 1, sum: 12 }]);
  });

  it('takes secrets out of the names of tools, servers and models', async () => {
    const input = { ...toolInput, tool: 'look-hush-hush', server: 'hush-hush' };
    await run('longshoreCallTool', input, () => facts);
    const reply = { ...answer, modelName: 'answering-hush-hush', finishReason: 'hush-hush' };
    await run('longshoreCallModel', { turn, step: 0, head: null, messages: [] }, () => reply);
    const spans = sdk.spans().map(({ name, attributes }) => ({ name, attributes }));
    const all = JSON.stringify([spans, entries, await sdk.metrics()]);
    expect(all).toContain('execute_tool look-[redacted]');
    expect(all).toContain('answering-[redacted]');
    expect(all).not.toContain('hush-hush');
  });

  it('never tells anything of arguments, answers, results or messages', async () => {
    const payload = fc.string({ minLength: 1, maxLength: 20 }).map((text) => `payload<${text}>`);
    await fc.assert(
      fc.asyncProperty(payload, fc.boolean(), async (secret, isFile) => {
        const commit = commitOf(secret, isFile);
        const messages = [{ type: 'user.message' as const, content: secret }];
        const args = { [secret]: secret };
        await run('longshoreCallTool', { ...toolInput, arguments: args }, () => ({
          ...facts,
          inlineText: secret,
          pointer: secret,
          note: secret,
        }));
        await run('longshoreCallModel', { turn, step: 0, head: null, messages, commit }, () => ({
          ...answer,
          text: secret,
          toolCalls: [{ arguments: args, name: secret, fault: { text: secret } }],
        }));
        await run('longshoreCommitStep', { turn, head: null, messages, commit, ended: 'completed' }, () => ({}));
      }),
      { numRuns: 25 },
    );
    const spans = sdk.spans().map(({ name, attributes, events }) => ({ name, attributes, events }));
    const all = JSON.stringify([spans, entries, await sdk.metrics()]);
    expect(all).toContain('per-step');
    expect(all).not.toContain('payload<');
  });

  it('describes every metric with a unit', () => {
    for (const metric of Object.values(METRICS)) expect(metric.unit).toMatch(/^(s|By|\{[a-z]+\})$/);
  });
});

describe("the parent of a call's span", () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const headers = { '_tracer-data': defaultPayloadConverter.toPayload({ traceparent }) };

  it('comes from the headers of the Activity where no span is active', () => {
    expect(trace.getSpanContext(parentContext(headers))).toMatchObject({ spanId: 'b7ad6b7169203331', isRemote: true });
    expect(trace.getSpanContext(parentContext({}))).toBeUndefined();
    const encrypted = { metadata: { encoding: Buffer.from('binary/encrypted') }, data: Buffer.from('?') };
    for (const payload of [defaultPayloadConverter.toPayload(['no carrier']), encrypted]) {
      expect(trace.getSpanContext(parentContext({ '_tracer-data': payload }))).toBeUndefined();
    }
  });

  it('is the active span where there is one', () => {
    const active = trace.getTracer('test').startActiveSpan('active', (span) => {
      const parent = trace.getSpanContext(parentContext(headers));
      span.end();
      return [parent?.spanId, span.spanContext().spanId];
    });
    expect(active[0]).toBe(active[1]);
  });
});

function commitOf(secret: string, isFile: boolean): StepCommit {
  const file = { path: secret, sha256: secret, bytes: 9, mediaType: secret };
  return {
    step: 0,
    results: [
      {
        callKey: 't2/0/0',
        callId: secret,
        name: secret,
        server: secret,
        tool: secret,
        outcome: 'ok',
        placement: isFile ? 'file' : 'inline',
        rule: isFile ? 'per-step' : 'fits',
        context: { text: secret },
        tokens: 5,
        ...(isFile && { inlineTokens: 50, file }),
        images: [],
        blocks: [],
        written: [],
      },
    ],
  };
}
