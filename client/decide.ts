// A person's decisions on what waits: one Update each, bound to the digest of what was shown. The Workflow judges them; here its
// refusals become errors of the catalogue, and a Worker that is away a message instead of an endless wait.
import { randomUUID } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { WorkflowUpdateFailedError, WorkflowUpdateRPCTimeoutOrCancelledError, type Client } from '@temporalio/client';
import {
  DECISION_LIMITS,
  RESOLVE_APPROVAL_UPDATE,
  type ApprovalDecision,
  type ResolveApprovalInput,
  type ResolveApprovalResult,
} from '../shared/approvals.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import { canonicalJson, isDeeperThan, type JsonObject } from '../shared/json.ts';
import { findAsked, type FoundAsked } from './approvals.ts';
import type { DecisionRecord } from './asked-calls.ts';
import { isoTime } from './decision-view.ts';
import { isNotFound, turnNotFound } from './errors.ts';
import { readHistory } from './history.ts';
import { refusalOf } from './refusal.ts';
import { requireUpdateFits, sendUpdate } from './updates.ts';

/** What goes with every decision. */
export interface DecideOptions {
  /** Of the call as it was shown. @default that of the call as it stands now */
  readonly digest?: string;
  readonly reason?: string;
  /** Who decides: recorded as what the caller claims, not verified. At most 200 characters. @default user@host */
  readonly approver?: string;
  /** How long a Worker may take to accept the decision, in milliseconds. @default 20000 */
  readonly timeoutMs?: number;
  /** Names the request: the same one sent again joins the first. @default a new one */
  readonly requestId?: string;
}

/** What goes with an approval. */
export interface ApproveOptions extends DecideOptions {
  /** Replace the model's; they must fit the tool's schema. */
  readonly arguments?: JsonObject;
  /** Allows the same tool of the same server for the rest of the session. */
  readonly forSession?: boolean;
}

/** A decision that stands. */
export interface Decision {
  readonly id: string;
  readonly workflowId: string;
  readonly callKey: string;
  readonly decision: ApprovalDecision['type'];
  readonly decidedAt: string;
  /** The same decision stood already. */
  readonly repeated: boolean;
}

/** What a person may say of an unknown outcome: send the call again, take it as done, or give it up. */
export type OutcomeChoice = 'run-again' | 'done' | 'give-up';

const TIMEOUT_MS = 20_000;
/** How long the history is looked at after that, to tell whether the decision was accepted. */
const LOOK_MS = 5_000;

/**
 * Lets a call run. Raises `ApprovalNotFound`, `ApprovalStale`, `ApprovalConflict`, `ApprovalExpired`, `ApprovalInvalid` (changed
 * arguments that do not fit; the call waits on), `TurnNotFound`, `TurnClosed`, `SizeLimit`, and `WorkerMissing` where no Worker takes
 * the decision in time. Sent again, the same decision is one.
 */
export async function approve(client: Client, id: string, options: ApproveOptions = {}): Promise<Decision> {
  const { arguments: changed, forSession, ...rest } = options;
  const decision: ApprovalDecision = {
    type: 'approve',
    ...(changed && { arguments: changed }),
    ...(forSession === true && { forSession }),
  };
  return decide(client, id, decision, rest);
}

/** Refuses a call, or an answer to a question; the model is told the reason. Raises as `approve` does. */
export async function deny(client: Client, id: string, options: DecideOptions = {}): Promise<Decision> {
  return decide(client, id, { type: 'deny' }, options);
}

/** Answers a question of the agent. Raises as `approve` does. */
export async function answer(client: Client, id: string, text: string, options: DecideOptions = {}): Promise<Decision> {
  return decide(client, id, { type: 'answer', text }, options);
}

/** Says what becomes of an approved call whose outcome is unknown. Raises as `approve` does. */
export async function resolveOutcome(
  client: Client,
  id: string,
  choice: OutcomeChoice,
  options: DecideOptions = {},
): Promise<Decision> {
  return decide(client, id, { type: 'outcome', choice }, options);
}

/** Who decides when nobody says: `user@host` of this process. */
export function defaultApprover(): string {
  return `${userName()}@${hostname()}`.slice(0, DECISION_LIMITS.approver);
}

async function decide(
  client: Client,
  id: string,
  decision: ApprovalDecision,
  options: DecideOptions,
): Promise<Decision> {
  const found = await findAsked(client, id);
  const { turn, call } = found.asked;
  const { digest = call.digest, reason, approver = defaultApprover() } = options;
  const closed = closedError(found);
  if (closed) {
    const standing = standingDecision(found, { decision, digest });
    if (standing === null) throw closed;
    const { callKey } = call;
    const decidedAt = isoTime(standing.decidedAt);
    return { id, workflowId: turn.workflowId, callKey, decision: decision.type, decidedAt, repeated: true };
  }
  requireDepth(decision);
  const input: ResolveApprovalInput = {
    workflowId: turn.workflowId,
    callKey: call.callKey,
    digest,
    decision,
    approver,
    ...(reason !== undefined && { reason }),
  };
  requireUpdateFits('The decision', input);
  const updateId = options.requestId ?? randomUUID();
  const sent = { input, updateId, timeoutMs: options.timeoutMs ?? TIMEOUT_MS };
  const result = await send(client, found.execution, sent).catch(async (error: unknown) => {
    throw await explain(client, id, { error, execution: found.execution, ...sent });
  });
  const { callKey, decision: type, decidedAt, repeated } = result;
  return { id, workflowId: turn.workflowId, callKey, decision: type, decidedAt: isoTime(decidedAt), repeated };
}

/** Else neither the converter nor the Workflow could so much as say what is wrong. */
function requireDepth(decision: ApprovalDecision): void {
  const { argumentDepth } = DECISION_LIMITS;
  if (decision.type !== 'approve' || !isDeeperThan(argumentDepth, decision.arguments)) return;
  throw new LongshoreError(
    'ApprovalInvalid',
    `The changed arguments have more than ${argumentDepth} levels in each other. Nothing was sent, and the call waits on`,
    'Make them flatter, or approve the call as it is.',
  );
}

interface Sent {
  readonly input: ResolveApprovalInput;
  readonly updateId: string;
  readonly timeoutMs: number;
}

/** By itself the SDK asks until a Worker comes, for ever. */
async function send(client: Client, execution: string, sent: Sent): Promise<ResolveApprovalResult> {
  const { input, updateId, timeoutMs } = sent;
  const handle = client.workflow.getHandle(execution);
  return sendUpdate(client, timeoutMs, () =>
    handle.executeUpdate<ResolveApprovalResult, [ResolveApprovalInput]>(RESOLVE_APPROVAL_UPDATE, {
      args: [input],
      updateId,
    }),
  );
}

/** What went wrong, as an error of the catalogue where it is one; other errors come back as they are. */
async function explain(
  client: Client,
  id: string,
  failed: Sent & { readonly error: unknown; readonly execution: string },
): Promise<unknown> {
  const { error, execution, updateId, timeoutMs } = failed;
  const isRefused = error instanceof WorkflowUpdateFailedError;
  const refusal = isRefused ? refusalOf(error) : null;
  if (refusal) return refusal;
  const isLate = error instanceof WorkflowUpdateRPCTimeoutOrCancelledError;
  if (!isRefused && !isLate && !isNotFound(error)) return error;
  // The turn may have closed while the decision was under way.
  const found = await client.connection.withDeadline(Date.now() + LOOK_MS, () => findAsked(client, id));
  const closed = closedError(found);
  if (closed) return closed;
  if (isRefused) return notTaken(error);
  if (!isLate) return turnNotFound(found.asked.turn.workflowId);
  const accepted = await isAccepted(client, execution, updateId);
  return workerMissing(id, { accepted, timeoutMs, taskQueue: await taskQueueOf(client, execution) });
}

function notTaken(error: WorkflowUpdateFailedError): LongshoreError {
  return new LongshoreError(
    'ApprovalInvalid',
    `The turn did not take the decision: ${messageOf(error.cause ?? error)}`,
    'See the state of the call with `longshore approvals show`, and whether the turn runs with this version of Longshore.',
    { cause: error },
  );
}

/** The same decision as history has it: once the turn has ended nobody else can say that it stands. */
function standingDecision(
  { asked }: FoundAsked,
  { decision, digest }: Pick<ResolveApprovalInput, 'decision' | 'digest'>,
): DecisionRecord | null {
  const same = (one: DecisionRecord): boolean =>
    one.digest === digest && canonicalJson(one.decision) === canonicalJson(decision);
  return asked.decisions.find(same) ?? null;
}

/** `TurnClosed`, with what became of the call; null while the turn is open. */
function closedError({ asked, record }: FoundAsked): LongshoreError | null {
  const status = record.result?.status ?? record.closed?.message;
  if (status === undefined) return null;
  const { workflowId } = asked.turn;
  return new LongshoreError(
    'TurnClosed',
    `Turn \`${workflowId}\` has ended already (${status}); call \`${asked.call.callKey}\` ${endInWords({ asked, record })}`,
    `See how with \`longshore turns show ${workflowId}\`.`,
  );
}

function endInWords({ asked, record }: Pick<FoundAsked, 'asked' | 'record'>): string {
  const call = record.steps
    .flatMap((step) => step.calls)
    .find(({ proposed }) => proposed.callKey === asked.call.callKey);
  const outcome = call?.committed?.outcome ?? call?.facts?.outcome;
  const last = asked.decisions.at(-1);
  const decided = last ? `was decided by ${last.approver} at ${isoTime(last.decidedAt)} (${last.decision.type})` : null;
  const ended = outcome === undefined ? 'was not made' : `ended as ${outcome}`;
  return [decided, ended].filter((part) => part !== null).join(' and ');
}

/** Whether history has the Update. */
async function isAccepted(client: Client, workflowId: string, updateId: string): Promise<boolean> {
  for await (const events of readHistory(client, { workflowId })) {
    const accepted = events.map((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
    if (accepted.some((attributes) => attributes?.protocolInstanceId === updateId)) return true;
  }
  return false;
}

async function taskQueueOf(client: Client, workflowId: string): Promise<string> {
  return (await client.workflow.getHandle(workflowId).describe()).taskQueue;
}

function workerMissing(
  id: string,
  {
    accepted,
    timeoutMs,
    taskQueue,
  }: { readonly accepted: boolean; readonly timeoutMs: number; readonly taskQueue: string },
): LongshoreError {
  const seconds = Math.round(timeoutMs / 100) / 10;
  const what = accepted
    ? `The decision on \`${id}\` is accepted, but a Worker has not carried it out within ${seconds} s`
    : `No Worker took the decision on \`${id}\` within ${seconds} s: it is not accepted`;
  const after = accepted
    ? 'It is recorded and needs no second sending.'
    : 'Then send it again: the same decision counts once, and it may be taken from this request too.';
  return new LongshoreError(
    'WorkerMissing',
    what,
    `Start a Worker: \`longshore worker --task-queue ${taskQueue}\`. ${after}`,
  );
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user id that has no name.
    return 'unknown';
  }
}
