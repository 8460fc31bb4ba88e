// What one does with turns from outside: start, watch, read, list, cancel, continue.
import type { Client, WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { defineSearchAttributeKey, type SearchAttributePair } from '@temporalio/common';
import type { AgentSpec } from '../shared/agent-spec.ts';
import type { ContinueFrom } from '../shared/activities.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { FileStore } from '../shared/file-store.ts';
import type { UserMessage } from '../shared/messages.ts';
import {
  AGENT_TURN_WORKFLOW,
  DEFAULT_TASK_QUEUE,
  type AgentTurnInput,
  type AgentTurnResult,
  type TurnStatus,
} from '../shared/turn.ts';
import { requireUserMessage } from '../shared/user-message.ts';
import { endOf, isNotFound, turnClosed, turnNotFound } from './errors.ts';
import { readHistory } from './history.ts';
import { requireStartFits } from './start-size.ts';
import { TurnRecorder, type TurnNews, type TurnRecord } from './turn-record.ts';
import { referencedTexts, viewOf, type TurnView } from './turn-view.ts';

/** A turn to start. */
export interface StartTurnOptions {
  readonly workflowId: string;
  readonly spec: AgentSpec;
  readonly message?: UserMessage;
  readonly session?: string;
  /** The id of a closed turn to go on from. */
  readonly continueFrom?: string;
  /** @default longshore */
  readonly taskQueue?: string;
}

/** Raises `MessageEmpty` where there is nothing to answer: no message, and none in the spec. */
export function requireQuestion(spec: AgentSpec, message: UserMessage | null | undefined): void {
  if (message || spec.messages.length > 0) return;
  throw new LongshoreError(
    'MessageEmpty',
    'There is nothing to answer: no message is given and the spec has none',
    'Give one with --message, or seed `messages` in the spec.',
  );
}

/**
 * A turn's input, with what it continues looked up. Raises `TurnNotFound`, `TurnRunning`, `TurnNotContinuable`, and before
 * anything is sent `MessageEmpty`, `MessageTooLarge`, `MessageInvalid`, `SizeLimit`.
 */
export async function turnInput(client: Client, options: StartTurnOptions): Promise<AgentTurnInput> {
  const { spec, message, session } = options;
  requireQuestion(spec, message);
  if (message) requireUserMessage(message);
  const registered = await registeredAttributes(client);
  const searchAttributes = SEARCHED.every((name) => registered.has(name));
  const reminderAttribute = searchAttributes && registered.has('LongshoreRemindedAt');
  const continueFrom = options.continueFrom === undefined ? null : await lookUpEnd(client, options.continueFrom);
  const input: AgentTurnInput = {
    version: 1,
    spec,
    searchAttributes,
    deferral: 1,
    ...(reminderAttribute && { reminderAttribute }),
    ...(message && { message }),
    ...(session !== undefined && { session }),
    ...(continueFrom && { continueFrom }),
  };
  requireStartFits(input);
  return input;
}

/** Starts a turn. The id must be new. */
export async function startTurn(
  client: Client,
  options: StartTurnOptions,
): Promise<WorkflowHandleWithFirstExecutionRunId<(input: AgentTurnInput) => Promise<AgentTurnResult>>> {
  const input = await turnInput(client, options);
  const session = input.session ?? input.continueFrom?.session ?? options.workflowId;
  return client.workflow.start<(input: AgentTurnInput) => Promise<AgentTurnResult>>(AGENT_TURN_WORKFLOW, {
    workflowId: options.workflowId,
    taskQueue: options.taskQueue ?? DEFAULT_TASK_QUEUE,
    args: [input],
    workflowIdReusePolicy: 'REJECT_DUPLICATE',
    ...(input.searchAttributes && { typedSearchAttributes: attributes(session, options.spec.name) }),
    staticSummary: `${options.spec.name} (${options.spec.model.name})`.slice(0, 100),
  });
}

/** Follows a turn until it ends; `onNews` hears of each thing as history tells it. */
export async function watchTurn(
  client: Client,
  workflowId: string,
  options: { readonly onNews?: (news: TurnNews, record: TurnRecord) => void; readonly signal?: AbortSignal } = {},
): Promise<TurnRecord> {
  const recorder = new TurnRecorder(client, workflowId);
  const { onNews, signal } = options;
  for await (const events of readHistory(client, { workflowId, follow: true, ...(signal && { signal }) })) {
    for (const event of events) {
      for (const news of await recorder.add(event)) onNews?.(news, recorder.record);
    }
  }
  return recorder.record;
}

/** A turn as its history tells it now. Raises `TurnNotFound`. */
export async function readTurnRecord(client: Client, workflowId: string): Promise<TurnRecord> {
  const recorder = new TurnRecorder(client, workflowId);
  for await (const events of readHistory(client, { workflowId })) {
    for (const event of events) await recorder.add(event);
  }
  return recorder.record;
}

/** A turn in the form of `turns show --json`; `store` resolves large arguments and answers. */
export async function readTurn(client: Client, workflowId: string, store?: FileStore): Promise<TurnView> {
  const record = await readTurnRecord(client, workflowId);
  return describeTurn(client, record, store);
}

/** The view of a record, with the execution's id and size looked up. */
export async function describeTurn(client: Client, record: TurnRecord, store?: FileStore): Promise<TurnView> {
  const description = await client.workflow.getHandle(record.workflowId).describe();
  const texts = new Map<string, string>();
  for (const hash of store ? referencedTexts(record) : []) {
    texts.set(hash, Buffer.from((await store?.readBlob(hash)) ?? []).toString('utf8'));
  }
  return viewOf(record, { runId: description.runId, historyBytes: description.historySize ?? 0, texts });
}

/**
 * Asks a turn to cancel: it ends every open call in a result and completes with status `cancelled`.
 * Raises `TurnNotFound`, `TurnClosed`.
 */
export async function cancelTurn(client: Client, workflowId: string): Promise<void> {
  const handle = client.workflow.getHandle(workflowId);
  try {
    const described = await handle.describe();
    if (described.status.name === 'RUNNING') await handle.cancel();
    else throw turnClosed(workflowId, endOf(described));
  } catch (error) {
    throw isNotFound(error) ? turnNotFound(workflowId) : error;
  }
}

/** A line of `turns list`. */
export interface TurnListing {
  readonly workflowId: string;
  readonly runId: string;
  readonly session: string | null;
  readonly agent: string | null;
  /** `completed` and what ends otherwise are told apart only where the Search Attributes are registered. */
  readonly status: TurnStatus;
  readonly startedAt: string;
  readonly closedAt: string | null;
}

/** The turns of a namespace, newest first. Of a turn with several runs, as after a reset, the newest run. */
export async function* listTurns(client: Client): AsyncGenerator<TurnListing> {
  const listed = new Set<string>();
  for await (const info of client.workflow.list({ query: `WorkflowType = '${AGENT_TURN_WORKFLOW}'` })) {
    if (listed.has(info.workflowId)) continue;
    listed.add(info.workflowId);
    const attribute = (name: string): string | null => firstText(info.searchAttributes?.[name]);
    yield {
      workflowId: info.workflowId,
      runId: info.runId,
      session: attribute('LongshoreSession'),
      agent: attribute('LongshoreAgent'),
      status: listedStatus(info.status.name, attribute('LongshoreStatus')),
      startedAt: info.startTime.toISOString(),
      closedAt: info.closeTime?.toISOString() ?? null,
    };
  }
}

function listedStatus(execution: string, attribute: string | null): TurnStatus {
  if (execution === 'RUNNING') return attribute === 'waiting' ? 'waiting' : 'running';
  if (execution !== 'COMPLETED') return execution === 'CANCELLED' ? 'cancelled' : 'failed';
  const ends: readonly TurnStatus[] = ['completed', 'failed', 'cancelled', 'iteration_limit', 'budget'];
  return ends.find((end) => end === attribute) ?? 'completed';
}

function firstText(value: unknown): string | null {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === 'string' ? first : null;
}

function attributes(session: string, agent: string): SearchAttributePair[] {
  return [
    { key: defineSearchAttributeKey('LongshoreStatus', 'KEYWORD'), value: 'running' },
    { key: defineSearchAttributeKey('LongshoreSession', 'KEYWORD'), value: session },
    { key: defineSearchAttributeKey('LongshoreAgent', 'KEYWORD'), value: agent },
  ];
}

/** Without these none is set; `LongshoreRemindedAt` is set only where it is registered beside them. */
const SEARCHED = ['LongshoreStatus', 'LongshoreSession', 'LongshoreAgent', 'LongshoreWaitingSince'] as const;

/** Whether the server knows the Search Attributes that turns are found by. */
export async function hasSearchAttributes(client: Client): Promise<boolean> {
  const registered = await registeredAttributes(client);
  return SEARCHED.every((name) => registered.has(name));
}

async function registeredAttributes(client: Client): Promise<ReadonlySet<string>> {
  try {
    const { namespace } = client.options;
    const response = await client.connection.operatorService.listSearchAttributes({ namespace });
    return new Set(Object.keys(response.customAttributes ?? {}));
  } catch {
    // A server that does not answer this (no permission, an older one) is used without them; nothing depends on it.
    return new Set();
  }
}

async function lookUpEnd(client: Client, workflowId: string): Promise<ContinueFrom> {
  const record = await readTurnRecord(client, workflowId);
  const { result, closed } = record;
  if (!result && !closed) {
    throw new LongshoreError(
      'TurnRunning',
      `Turn \`${workflowId}\` is still running`,
      'Wait for its end, or cancel it with `longshore turns cancel`.',
    );
  }
  if (!result?.head) {
    const why = closed?.message ?? 'it ended before anything was said';
    throw new LongshoreError(
      'TurnNotContinuable',
      `Turn \`${workflowId}\` has no transcript to continue: ${why}`,
      'Continue the turn before it, or start a new one.',
    );
  }
  const { session, turn, head, grants } = result;
  return { workflowId, session, turn, head, ...(grants && { grants }) };
}
