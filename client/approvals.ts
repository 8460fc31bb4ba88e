// What waits for people, across all turns and one by one: read from histories, so that no Worker is needed.
import type { Client } from '@temporalio/client';
import {
  approvalId,
  executionsOfTurn,
  parseApprovalId,
  type OnDeadline,
  type WaitingCall,
  type WaitingKind,
} from '../shared/approvals.ts';
import type { ToolTag } from '../shared/catalog.ts';
import { LongshoreError } from '../shared/errors.ts';
import type { BlobRef, FileStore } from '../shared/file-store.ts';
import type { JsonObject } from '../shared/json.ts';
import type { ToolOutcome } from '../shared/messages.ts';
import { AGENT_TURN_WORKFLOW } from '../shared/turn.ts';
import type { AskedCall } from './asked-calls.ts';
import { decisionView, isoTime, type DecisionView } from './decision-view.ts';
import { isNotFound, turnNotFound } from './errors.ts';
import type { TurnRecord } from './turn-record.ts';
import { hasSearchAttributes, readTurnRecord } from './turns.ts';

/** One call that waits for a person. */
export interface Approval {
  /** Opaque; what every decision names. */
  readonly id: string;
  readonly workflowId: string;
  readonly callKey: string;
  /** `approval`: may the call run; `question`: of the agent; `outcome`: what became of an approved call. */
  readonly kind: WaitingKind;
  readonly server: string;
  readonly tool: string;
  /** Whole; empty where they are large and no store was given: then `argumentsRef` names them. */
  readonly arguments: JsonObject;
  readonly argumentsRef?: BlobRef;
  /** What a decision is bound to. */
  readonly digest: string;
  /** Sandbox paths that the arguments name. */
  readonly files: readonly string[];
  readonly waitingSince: string;
  readonly expiresAt: string | null;
  /** What happens then. */
  readonly onDeadline: OnDeadline;
  /** When the reminder was due; null before that. */
  readonly remindedAt: string | null;
  readonly session: string;
  readonly agent: string | null;
  readonly tags: readonly ToolTag[];
  /** The selector of the spec that gates the call; null for questions and outcomes. */
  readonly selector: string | null;
  /** Of a question. */
  readonly question?: { readonly text: string; readonly options: readonly string[] };
  /** Of an outcome: what is known of the call, in words. */
  readonly known?: string;
  /** Of a call that was made already and is to be made again: who asked for that, and why. */
  readonly again?: { readonly by: string; readonly reason?: string };
  /** An earlier run of the turn, which was reset, had sent this very call. Approved, it is not sent again. */
  readonly sentBefore?: true;
}

/** One call with all that a person needs to decide, or how it was decided. */
export interface ApprovalDetails extends Approval {
  /** `decided` until the call has its result, then `ended`. */
  readonly state: AskedCall['state'];
  /** What the model wrote before it asked for the call. */
  readonly said: string;
  /** In order; empty while nobody decided. */
  readonly decisions: readonly DecisionView[];
  /** The call's result, once it has one. */
  readonly outcome: ToolOutcome | null;
}

/** Which to list. */
export interface ListApprovalsOptions {
  /** Of this turn alone: read from its history at once, while listings lag behind by moments. */
  readonly workflowId?: string;
  readonly session?: string;
  /** Resolves large arguments. */
  readonly store?: FileStore;
}

/** As many histories are read at once. */
const HISTORIES_AT_ONCE = 8;

/**
 * All that waits, the longest first. Finds turns by the Search Attribute `LongshoreStatus` where the server has it, else by
 * looking at every turn that runs. Raises `TurnNotFound` for an unknown `workflowId`.
 */
export async function listApprovals(client: Client, options: ListApprovalsOptions = {}): Promise<readonly Approval[]> {
  const { workflowId, session, store } = options;
  const found: Approval[] = [];
  const add = async (record: TurnRecord): Promise<void> => {
    for (const asked of record.asked.waiting()) {
      if (session !== undefined && asked.turn.session !== session) continue;
      found.push(await approvalOf(asked, record, store));
    }
  };
  if (workflowId === undefined) await forEachWaiting(client, add);
  else await add((await readRecordOfTurn(client, workflowId)).record);
  return found
    .filter(
      (approval) => workflowId === undefined || approval.workflowId === workflowId || isInside(approval, workflowId),
    )
    .toSorted((a, b) => compare(a.waitingSince, b.waitingSince) || compare(a.id, b.id));
}

/**
 * One call that a person was asked about, also after the decision. Raises `ApprovalNotFound` with the call's state in words,
 * `TurnNotFound`.
 */
export async function getApproval(
  client: Client,
  id: string,
  options: Pick<ListApprovalsOptions, 'store'> = {},
): Promise<ApprovalDetails> {
  const { asked, record } = await findAsked(client, id);
  const { callKey } = asked.call;
  const step = record.steps.find(({ calls }) => calls.some(({ proposed }) => proposed.callKey === callKey));
  const call = step?.calls.find(({ proposed }) => proposed.callKey === callKey);
  const { text = '', textRef } = step?.model ?? {};
  return {
    ...(await approvalOf(asked, record, options.store)),
    state: asked.state,
    said: textRef ? ((await readText(textRef, options.store)) ?? text) : text,
    decisions: asked.decisions.map(decisionView),
    outcome: asked.state === 'waiting' ? null : (call?.committed?.outcome ?? call?.facts?.outcome ?? null),
  };
}

/** A call that was asked about, with the execution that asks. */
export interface FoundAsked {
  readonly asked: AskedCall;
  readonly record: TurnRecord;
  /** The Workflow that takes the decision. */
  readonly execution: string;
}

/** Finds a call by its id. Raises `ApprovalNotFound`, `TurnNotFound`. */
export async function findAsked(client: Client, id: string): Promise<FoundAsked> {
  const parsed = parseApprovalId(id);
  if (!parsed) throw approvalNotFound(id, 'it is no id of an approval');
  const { record, execution } = await readRecordOfTurn(client, parsed.workflowId);
  const asked = record.asked.byId.get(id);
  if (asked) return { asked, record, execution };
  const call = record.steps.flatMap((step) => step.calls).find(({ proposed }) => proposed.callKey === parsed.callKey);
  if (!call) throw approvalNotFound(id, `turn \`${parsed.workflowId}\` has no call \`${parsed.callKey}\``);
  const state = call.committed?.outcome ?? call.facts?.outcome;
  const how = state === undefined ? 'it has no result yet' : `its outcome is ${state}`;
  throw approvalNotFound(id, `nobody was asked about call \`${parsed.callKey}\`; ${how}`);
}

/** The record of a turn, or of the Workflow that runs it in line. Raises `TurnNotFound`. */
async function readRecordOfTurn(
  client: Client,
  turnId: string,
): Promise<{ readonly record: TurnRecord; readonly execution: string }> {
  for (const execution of executionsOfTurn(turnId)) {
    try {
      return { record: await readTurnRecord(client, execution), execution };
    } catch (error) {
      if (!(error instanceof LongshoreError) || error.type !== 'TurnNotFound') throw error;
    }
  }
  throw turnNotFound(turnId);
}

async function forEachWaiting(client: Client, work: (record: TurnRecord) => Promise<void>): Promise<void> {
  const ids = client.workflow.list({ query: await waitingQuery(client) });
  const next = ids[Symbol.asyncIterator]();
  const takeAll = async (): Promise<void> => {
    for (let one = await next.next(); !one.done; one = await next.next()) {
      // A turn that retention took meanwhile waits for nobody.
      const record = await readTurnRecord(client, one.value.workflowId).catch((error: unknown) => {
        if (isNotFound(error) || (error instanceof LongshoreError && error.type === 'TurnNotFound')) return null;
        throw error;
      });
      if (record) await work(record);
    }
  };
  await Promise.all(Array.from({ length: HISTORIES_AT_ONCE }, takeAll));
}

/** Turns from before the Search Attributes were registered have none: they are looked at one by one. */
async function waitingQuery(client: Client): Promise<string> {
  const turns = `WorkflowType = '${AGENT_TURN_WORKFLOW}'`;
  if (!(await hasSearchAttributes(client))) return `ExecutionStatus = 'Running' AND ${turns}`;
  return `ExecutionStatus = 'Running' AND (LongshoreStatus = 'waiting' OR (${turns} AND LongshoreStatus IS NULL))`;
}

async function approvalOf({ turn, call }: AskedCall, record: TurnRecord, store?: FileStore): Promise<Approval> {
  const { callKey, kind, server, tool, argumentsRef, digest, files, tags, question, known, again, sentBefore } = call;
  return {
    id: approvalId(turn.workflowId, callKey),
    workflowId: turn.workflowId,
    callKey,
    kind,
    server,
    tool,
    arguments: await argumentsOf(call, store),
    ...(argumentsRef && { argumentsRef }),
    digest,
    files,
    waitingSince: isoTime(call.since),
    expiresAt: call.expiresAt === null ? null : isoTime(call.expiresAt),
    onDeadline: call.onDeadline,
    remindedAt: call.remindedAt === undefined ? null : isoTime(call.remindedAt),
    session: turn.session,
    agent: record.input?.spec.name ?? null,
    tags,
    selector: call.selector ?? null,
    ...(question && { question }),
    ...(known !== undefined && { known }),
    ...(again && { again }),
    ...(sentBefore && { sentBefore }),
  };
}

async function argumentsOf(call: WaitingCall, store?: FileStore): Promise<JsonObject> {
  const text = call.argumentsRef && (await readText(call.argumentsRef, store));
  // Arguments by reference are JSON objects: `longshoreCallModel` stages nothing else under such a reference.
  return text === undefined ? call.arguments : (JSON.parse(text) as JsonObject);
}

async function readText({ sha256 }: BlobRef, store?: FileStore): Promise<string | undefined> {
  if (!store) return undefined;
  return Buffer.from(await store.readBlob(sha256)).toString('utf8');
}

function approvalNotFound(id: string, why: string): LongshoreError {
  return new LongshoreError(
    'ApprovalNotFound',
    `Nothing waits under \`${id}\`: ${why}`,
    'See what waits with `longshore approvals list`.',
  );
}

function isInside({ workflowId }: Approval, execution: string): boolean {
  return executionsOfTurn(workflowId).includes(execution);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
