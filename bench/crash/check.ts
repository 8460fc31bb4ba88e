// What must hold after a trial, whatever was killed: nothing doubled, nothing lost, one result a call, the same path.
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defaultPayloadConverter } from '@temporalio/common';
import type { History } from '@temporalio/common/lib/proto-utils.js';
import { createLocalStore } from '../../activities/store/local.ts';
import type { TurnView } from '../../client/turn-view.ts';
import type { CallToolInput } from '../../shared/activities.ts';
import { resultPath } from '../../shared/call-key.ts';
import type { ScriptedRequest } from '../../testing/scripted-model.ts';
import { ARCHIVE_TEXT, firstWords, STEP_CALLS } from './script.ts';

/** What a trial left. */
export interface Evidence {
  readonly view: TurnView;
  /** The request that was answered with the turn's last words. */
  readonly lastRequest: ScriptedRequest | undefined;
  /** The first request of the turn that continued this one. */
  readonly continued: ScriptedRequest | undefined;
  readonly effects: readonly string[];
  /** Call keys that had a result in history when the Worker was killed. */
  readonly settledAtKill: readonly string[];
  /** Executions by call key, at the kill and at the end. */
  readonly executionsAtKill: ReadonlyMap<string, number>;
  readonly executions: ReadonlyMap<string, number>;
  readonly storeFolder: string;
}

/** The figures of a trial. */
export interface Verdict {
  /** Effects beyond the first of their key. */
  readonly doubled: number;
  /** Calls that had a result when the Worker was killed, and were made again or ended differently. */
  readonly lost: number;
  /** Calls that had a result when the Worker was killed. */
  readonly settled: number;
  /** Writes whose outcome is `unknown`. */
  readonly unknown: number;
  /** Reads, and writes with honoured keys, that were made again. */
  readonly again: number;
  /** Temporary files of the killed process: out of sight, removed after an hour. */
  readonly temps: number;
  /** All that does not hold, in words. */
  readonly faults: readonly string[];
}

/** The path of the large result, computed from its content alone. */
export const ARCHIVE_PATH = resultPath({
  callKey: `t1/0/${STEP_CALLS.length - 1}`,
  tool: 'archive',
  sha256: createHash('sha256').update(ARCHIVE_TEXT).digest('hex'),
  extension: 'txt',
});

/** Looks at all that a trial left. */
export async function judge(evidence: Evidence): Promise<Verdict> {
  const calls = evidence.view.steps.flatMap((step) => step.toolCalls);
  const doubled = evidence.effects.length - new Set(evidence.effects).size;
  const lostKeys = evidence.settledAtKill.filter((key) => {
    const call = calls.find((one) => one.callKey === key);
    return call?.outcome !== 'ok' || countOf(evidence.executions, key) !== countOf(evidence.executionsAtKill, key);
  });
  const unknown = calls.filter((call) => call.outcome === 'unknown').length;
  const again = [...evidence.executions.values()].filter((count) => count > 1).length;
  const faults = [
    ...(doubled > 0 ? [`${doubled} effects doubled: ${evidence.effects.join(', ')}`] : []),
    ...(lostKeys.length > 0 ? [`results lost: ${lostKeys.join(', ')}`] : []),
    ...faultsOfTurn(evidence),
    ...faultsOfWrite(evidence),
    ...(await faultsOfStore(evidence)),
  ];
  const temps = readdirSync(join(evidence.storeFolder, 'default', 'tmp')).length;
  return { doubled, lost: lostKeys.length, settled: evidence.settledAtKill.length, unknown, again, temps, faults };
}

function faultsOfTurn({ view, lastRequest, continued, executions }: Evidence): string[] {
  const faults: string[] = [];
  const results = (lastRequest?.messages ?? []).filter(({ role }) => role === 'tool');
  const ids = new Set(results.map((message) => message.tool_call_id));
  const quoted = results.map(({ content }) => firstWords(content)).join('\n');
  if (view.status !== 'completed') faults.push(`the turn ended ${view.status}: ${view.error?.message ?? ''}`);
  if (view.answer !== quoted) faults.push(`the answer does not quote the results: ${view.answer ?? ''}`);
  if (view.steps.length !== 2) faults.push(`the turn has ${view.steps.length} steps`);
  if (results.length !== STEP_CALLS.length || ids.size !== STEP_CALLS.length) {
    faults.push(`${results.length} results for ${ids.size} of ${STEP_CALLS.length} calls`);
  }
  for (const [index, { tool, effect }] of STEP_CALLS.entries()) {
    const call = view.steps[0]?.toolCalls[index];
    const mayBeUnknown = effect === 'write';
    if (call?.tool !== tool) faults.push(`call ${index} is ${call?.tool ?? 'missing'}, not ${tool}`);
    else if (call.outcome !== 'ok' && !(mayBeUnknown && call.outcome === 'unknown')) {
      faults.push(`${tool} ended ${call.outcome}: ${String(results[index]?.content)}`);
    }
  }
  const [, , post] = STEP_CALLS.keys();
  if (countOf(executions, `t1/0/${post ?? 2}`) > 1) faults.push('the write was sent twice');
  const archive = view.steps[0]?.toolCalls.at(-1);
  const pointer = String(results.at(-1)?.content);
  if (archive?.path !== ARCHIVE_PATH || !pointer.includes(ARCHIVE_PATH)) {
    faults.push(`the path is ${archive?.path ?? 'none'}, not ${ARCHIVE_PATH}`);
  }
  const heard = (continued?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => content);
  if (JSON.stringify(heard) !== JSON.stringify(results.map(({ content }) => content))) {
    faults.push('the turn that continues does not see the same results');
  }
  return faults;
}

/** A write is `ok` and was done, or `unknown` and says what to do about it; it is never called undone. */
function faultsOfWrite({ view, lastRequest, effects }: Evidence): string[] {
  const done = effects.filter((line) => line.startsWith('post ')).length;
  const outcome = view.steps[0]?.toolCalls[2]?.outcome;
  const text = String((lastRequest?.messages ?? []).filter(({ role }) => role === 'tool')[2]?.content);
  if (outcome === 'ok' && done !== 1) return [`the write is ok, but was done ${done} times`];
  const isActionable = /outcome .* is unknown/.test(text) && /not sent again/.test(text) && /Check/.test(text);
  if (outcome === 'unknown' && !isActionable) return [`the model cannot act on: ${text}`];
  const orders = effects.filter((line) => line.startsWith('place ')).length;
  return orders === 1 ? [] : [`the order was placed ${orders} times`];
}

/** Whatever a listing shows can be read whole: reads are verified by hash. */
async function faultsOfStore({ storeFolder }: Evidence): Promise<string[]> {
  const store = createLocalStore({ folder: storeFolder, namespace: 'default' });
  const faults: string[] = [];
  try {
    for await (const blob of store.listBlobs()) await store.readBlob(blob.sha256);
    for (const prefix of ['manifests', 'journal']) {
      for await (const key of store.listObjects(prefix)) {
        const stored = await store.getObject(key);
        JSON.parse(Buffer.from(stored?.body ?? []).toString('utf8'));
      }
    }
  } catch (error) {
    faults.push(`the store shows what cannot be read: ${String(error)}`);
  }
  return faults;
}

function countOf(counts: ReadonlyMap<string, number>, key: string): number {
  return counts.get(key) ?? 0;
}

/** The keys of tool calls whose results stand in a history. */
export function settledCalls(history: History): readonly string[] {
  const keys = new Map<string, string>();
  const settled: string[] = [];
  for (const event of history.events ?? []) {
    const scheduled = event.activityTaskScheduledEventAttributes;
    const payload = scheduled?.activityType?.name === 'longshoreCallTool' && scheduled.input?.payloads?.[0];
    if (payload) keys.set(String(event.eventId), defaultPayloadConverter.fromPayload<CallToolInput>(payload).callKey);
    const key = keys.get(String(event.activityTaskCompletedEventAttributes?.scheduledEventId));
    if (key !== undefined) settled.push(key);
  }
  return settled;
}

/** How often each call was executed, from lines that end in idempotency keys (`workflow:call:generation`). */
export function executionsOf(lines: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const key = line.split(':').at(-2) ?? line;
    counts.set(key, countOf(counts, key) + 1);
  }
  return counts;
}
