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
import { ARCHIVE_TEXT, callKeyOf, firstWords, POST_KEY, STEP_CALLS } from './script.ts';

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
  /** What must hold of the write. @default the rules for one that nobody was asked about */
  readonly judgeWrite?: (write: WriteEvidence) => readonly string[];
}

/** What became of the write that honours no idempotency keys. */
export interface WriteEvidence {
  readonly outcome: string | undefined;
  /** Its result, as the model has it. */
  readonly text: string;
  /** Lines of the ledger, each once. */
  readonly done: readonly string[];
  /** How often its request arrived at the server. */
  readonly sent: number;
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
  callKey: callKeyOf('archive'),
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
  const again = [...evidence.executions].filter(([key, count]) => count > 1 && key !== POST_KEY).length;
  const faults = [
    ...(doubled > 0 ? [`${doubled} effects doubled: ${evidence.effects.join(', ')}`] : []),
    ...(lostKeys.length > 0 ? [`results lost: ${lostKeys.join(', ')}`] : []),
    ...faultsOfTurn(evidence),
    ...faultsOfWrites(evidence),
    ...(await faultsOfStore(evidence)),
  ];
  const temps = readdirSync(join(evidence.storeFolder, 'default', 'tmp')).length;
  return { doubled, lost: lostKeys.length, settled: evidence.settledAtKill.length, unknown, again, temps, faults };
}

function faultsOfTurn({ view, lastRequest, continued }: Evidence): string[] {
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

function faultsOfWrites(evidence: Evidence): readonly string[] {
  const { view, lastRequest, effects, executions, judgeWrite = judgeUnasked } = evidence;
  const call = view.steps[0]?.toolCalls.find((one) => one.callKey === POST_KEY);
  const results = (lastRequest?.messages ?? []).filter(({ role }) => role === 'tool');
  const text = String(results[STEP_CALLS.findIndex(({ tool }) => tool === 'post')]?.content);
  const done = effects.filter((line) => line.startsWith('post '));
  const faults = judgeWrite({ outcome: call?.outcome, text, done, sent: countOf(executions, POST_KEY) });
  const orders = effects.filter((line) => line.startsWith('place ')).length;
  return orders === 1 ? faults : [...faults, `the order was placed ${orders} times`];
}

/** A write is `ok` and was done, or `unknown` and says what to do about it; it is never called undone, or sent twice. */
function judgeUnasked({ outcome, text, done, sent }: WriteEvidence): readonly string[] {
  const faults = sent > 1 ? ['the write was sent twice'] : [];
  if (outcome === 'ok' && done.length !== 1) faults.push(`the write is ok, but was done ${done.length} times`);
  const isActionable = /outcome .* is unknown/.test(text) && /not sent again/.test(text) && /Check/.test(text);
  if (outcome === 'unknown' && !isActionable) faults.push(`the model cannot act on: ${text}`);
  return faults;
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
