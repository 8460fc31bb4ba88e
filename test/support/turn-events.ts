// A turn's history made by hand, event by event, for what reads histories.
import { defaultPayloadConverter } from '@temporalio/common';
import { defaultDataConverter } from '@temporalio/common/lib/converter/data-converter.js';
import { msNumberToTs } from '@temporalio/common/lib/time.js';
import type { HistoryEvent } from '../../client/history.ts';
import { TurnRecorder, type TurnRecord } from '../../client/turn-record.ts';
import type { CallModelResult, ProposedCall } from '../../shared/activities.ts';
import type { BlobRef } from '../../shared/file-store.ts';
import type { ResultFacts } from '../../shared/facts.ts';

/** What a recorder needs of a client. */
export const recorderClient = { options: { loadedDataConverter: defaultDataConverter } } as ConstructorParameters<
  typeof TurnRecorder
>[0];

/** The turn of these events. */
export const eventTurn = { workflowId: 'w', session: 'w', turn: 1 };

/** A reference to some blob. */
export const someRef: BlobRef = { sha256: 'a'.repeat(64), bytes: 2 };

/** Events in order, one millisecond apart from second 1. */
export class TurnEvents {
  readonly list: HistoryEvent[] = [];

  /** The turn's first event. */
  started(input: unknown): void {
    this.add({ workflowExecutionStartedEventAttributes: { input: payloads(input) } });
  }

  /** An Activity that was asked for, and its result. */
  activity(name: string, input: unknown, result: unknown): void {
    const scheduledEventId = this.add({
      activityTaskScheduledEventAttributes: { activityType: { name }, input: payloads(input) },
    });
    this.add({
      // Ids are numbers on the wire; the recorder takes them as text.
      activityTaskCompletedEventAttributes: { scheduledEventId: scheduledEventId as never, result: payloads(result) },
    });
  }

  /** A model call with its answer; the step is counted. */
  model(step: number, toolCalls: readonly ProposedCall[], sent: { tokens: number; definitions?: number }): void {
    this.activity('longshoreCallModel', { turn: eventTurn, step }, answerOf(toolCalls, sent));
  }

  /** A tool call with its result. */
  call(call: ProposedCall, outcome: ResultFacts['outcome'], more: Partial<ResultFacts> = {}): void {
    const { callKey, server, tool } = call;
    const input = { turn: eventTurn, callKey, server, tool, generation: 0 };
    this.activity('longshoreCallTool', input, factsOf(call, outcome, more));
  }

  /** The record of them all. */
  async record(): Promise<TurnRecord> {
    const recorder = new TurnRecorder(recorderClient, 'w');
    for (const event of this.list) await recorder.add(event);
    return recorder.record;
  }

  private add(event: Partial<HistoryEvent>): number {
    const eventId = this.list.length + 1;
    this.list.push({ eventTime: msNumberToTs(1_000 + eventId), ...event, eventId: eventId as never });
    return eventId;
  }
}

/** A call as a model asked for it; `index` is its key without the turn. */
export function proposedCall(
  index: string,
  server: string,
  tool: string,
  more: Partial<ProposedCall> = {},
): ProposedCall {
  const callKey = `t1/${index}`;
  const known = { tags: [], effect: 'read', argumentsDigest: '', schemaHash: 's' } as const;
  return { callKey, callId: callKey, name: tool, server, tool, arguments: {}, ...known, ...more };
}

function payloads(value: unknown): { payloads: ReturnType<typeof defaultPayloadConverter.toPayload>[] } {
  return { payloads: [defaultPayloadConverter.toPayload(value)] };
}

function answerOf(
  toolCalls: readonly ProposedCall[],
  { tokens, definitions }: { readonly tokens: number; readonly definitions?: number },
): CallModelResult {
  const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };
  const known = { head: someRef, text: '', finishReason: 'stop', modelName: 'm', usage, attempts: 1, durationMs: 1 };
  const definitionTokens = definitions === undefined ? {} : { definitionTokens: definitions };
  return { ...known, toolCalls, sentTokens: tokens, ...definitionTokens };
}

function factsOf(call: ProposedCall, outcome: ResultFacts['outcome'], more: Partial<ResultFacts>): ResultFacts {
  return {
    callKey: call.callKey,
    outcome,
    bytes: 1,
    sha256: '',
    mediaType: 'text/plain',
    tokens: 10,
    tokensAreExact: true,
    estimator: '',
    pointerTokens: 0,
    blocks: [],
    imageBlocks: [],
    attempts: 1,
    durationMs: 1,
    ...more,
  };
}
