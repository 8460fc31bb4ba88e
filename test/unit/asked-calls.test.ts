// What a turn's history tells of calls that waited, event by event: from stored histories, without a server and without a Worker.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defaultPayloadConverter } from '@temporalio/common';
import { defaultDataConverter } from '@temporalio/common/lib/converter/data-converter.js';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, it } from 'vitest';
import type { HistoryEvent } from '../../client/history.ts';
import { TurnRecorder, type TurnRecord } from '../../client/turn-record.ts';
import { viewOf, type ToolCallView } from '../../client/turn-view.ts';

const folder = fileURLToPath(new URL('../histories/', import.meta.url));
const client = { options: { loadedDataConverter: defaultDataConverter } } as ConstructorParameters<
  typeof TurnRecorder
>[0];

function eventsOf(name: string): readonly HistoryEvent[] {
  return historyFromJSON(JSON.parse(readFileSync(`${folder}/${name}.json`, 'utf8'))).events ?? [];
}

/** The record after each event. */
async function* records(events: readonly HistoryEvent[]): AsyncGenerator<TurnRecord> {
  const recorder = new TurnRecorder(client, 'turn-of-history');
  for (const event of events) {
    await recorder.add(event);
    yield recorder.record;
  }
}

function viewNow(record: TurnRecord): ReturnType<typeof viewOf> {
  return viewOf(record, { runId: 'r', historyBytes: 0, texts: new Map() });
}

/** How the outcome of the first step's calls went, and the last view. */
async function follow(
  name: string,
): Promise<{ readonly waited: readonly string[]; readonly calls: readonly ToolCallView[] }> {
  const waited: string[] = [];
  let calls: readonly ToolCallView[] = [];
  for await (const record of records(eventsOf(name))) {
    const view = viewNow(record);
    calls = view.steps[0]?.toolCalls ?? [];
    const now = record.asked
      .waiting()
      .map(({ call }) => call.callKey)
      .join(' ');
    if (now !== (waited.at(-1) ?? '')) waited.push(now);
    // Waiting by the record, the status and the calls' own outcomes are one thing.
    expect(view.status === 'waiting').toBe(now !== '');
    expect(
      calls
        .filter(({ outcome }) => outcome === 'waiting')
        .map(({ callKey }) => callKey)
        .join(' '),
    ).toBe(now);
  }
  return { waited, calls };
}

describe('the record of a turn that waited', () => {
  it('[APPR-15] tells what was approved and denied, by whom, and that nothing waits in the end', async () => {
    const { waited, calls } = await follow('ask-approved-and-denied');
    expect(waited[0]).toBe('t1/0/1 t1/0/2');
    expect(waited.at(-1)).toBe('');
    expect(calls.map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'denied', 'ok']);
    expect(calls.map(({ decisions = [] }) => decisions.map(({ decision }) => decision).join())).toEqual([
      '',
      'approve',
      'deny',
      '',
    ]);
    for (const { decisions = [] } of calls) {
      for (const { approver, decidedAt } of decisions) {
        expect(approver).not.toBe('');
        expect(decidedAt).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
      }
    }
  });

  it('[APPR-15] tells of one after another, and of an approval for the session', async () => {
    const { waited, calls } = await follow('ask-one-after-another');
    expect(waited).toEqual(['t1/0/0 t1/0/1', 't1/0/0', '']);
    expect(calls[1]?.decisions).toMatchObject([{ decision: 'approve', forSession: true }]);
  });

  it('[APPR-15] keeps the arguments that the model asked for beside those that ran', async () => {
    const { calls } = await follow('ask-changed-arguments');
    expect(calls[0]).toMatchObject({ arguments: { n: 1 }, decisions: [{ changedArguments: { n: 7 } }], outcome: 'ok' });
  });

  it('[APPR-15] tells expiry and cancellation from a denial: nobody decided', async () => {
    const expired = await follow('ask-expired');
    expect(expired.calls[0]).toMatchObject({ outcome: 'expired' });
    expect(expired.calls[0]).not.toHaveProperty('decisions');
    const cancelled = await follow('ask-cancelled');
    expect(cancelled.calls[0]).toMatchObject({ outcome: 'cancelled' });
    expect(cancelled.calls[0]).not.toHaveProperty('decisions');
    for (const { waited } of [expired, cancelled]) expect(waited.at(-1)).toBe('');
  });

  it('[APPR-15] tells of a question and its answer', async () => {
    const { waited, calls } = await follow('ask-question');
    expect(waited).toEqual(['t1/0/0', '']);
    expect(calls[0]).toMatchObject({ outcome: 'ok', decisions: [{ decision: 'answer', answer: 'North' }] });
  });

  it('[APPR-15] has no new keys where nobody was asked: what was published stays as it was', async () => {
    const { calls } = await follow('main');
    expect(calls.length).toBeGreaterThan(0);
    for (const call of calls) {
      for (const key of ['waiting', 'decisions', 'generation', 'earlier']) expect(call).not.toHaveProperty(key);
    }
  });
});

describe('a call that was made anew', () => {
  it('[APPR-15] shows the newest result, its generation, and the earlier result beside it', async () => {
    const recorder = new TurnRecorder(client, 'turn-a');
    const turn = { workflowId: 'turn-a', session: 'turn-a', turn: 1 };
    const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0 };
    const proposed = { callKey: 't1/0/0', callId: 'c', name: 'x', server: 's', tool: 'x', arguments: {} };
    const model = {
      modelName: 'm',
      usage,
      finishReason: 'tool-calls',
      durationMs: 1,
      attempts: 1,
      toolCalls: [proposed],
    };
    const facts = (sha256: string, bytes: number) => ({
      outcome: 'ok',
      bytes,
      sha256,
      mediaType: 'text/plain',
      tokens: 1,
      tokensAreExact: true,
      pointerTokens: 0,
      blocks: [],
      imageBlocks: [],
      attempts: 1,
      durationMs: 1,
    });
    const committed = {
      callKey: 't1/0/0',
      outcome: 'ok',
      placement: 'inline',
      rule: 'fits',
      context: { text: '' },
      tokens: 1,
    };
    const call = { turn, callKey: 't1/0/0', server: 's', tool: 'x', arguments: {} };
    const steps: readonly (readonly [string, object, object])[] = [
      ['longshoreCallModel', { turn, step: 0, messages: [] }, model],
      ['longshoreCallTool', { ...call, generation: 0 }, facts('old', 3)],
      [
        'longshoreCallModel',
        { turn, step: 1, messages: [], commit: { step: 0, results: [committed] } },
        { ...model, toolCalls: [] },
      ],
      ['longshoreCallTool', { ...call, generation: 1 }, facts('new', 5)],
    ];
    let eventId = 0;
    const play = async (name: string, input: object, result: object): Promise<void> => {
      const payloads = (value: object) => ({ payloads: [defaultPayloadConverter.toPayload(value)] });
      const scheduledEventId = ++eventId;
      const scheduled = { activityType: { name }, input: payloads(input) };
      await recorder.add({ eventId: scheduledEventId, activityTaskScheduledEventAttributes: scheduled } as never);
      const completed = { scheduledEventId, result: payloads(result) };
      await recorder.add({ eventId: ++eventId, activityTaskCompletedEventAttributes: completed } as never);
    };
    for (const [name, input, result] of steps) await play(name, input, result);
    const view = (): ToolCallView | undefined => viewNow(recorder.record).steps[0]?.toolCalls[0];
    const earlier = [{ generation: 0, outcome: 'ok', bytes: 3, sha256: 'old', path: null }];
    expect(view()).toMatchObject({ sha256: 'new', bytes: 5, placement: null, generation: 1, earlier });
    const retried = [{ result: { ...committed, generation: 1 }, by: 'ann' }];
    await play('longshoreCallModel', { turn, step: 2, messages: [], retried }, { ...model, toolCalls: [] });
    expect(view()).toMatchObject({ sha256: 'new', placement: 'inline', generation: 1, earlier });
  });
});
