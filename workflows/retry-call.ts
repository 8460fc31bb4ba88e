// The Update `longshoreRetryCall`: a person distrusts a result and has its call made again. One handler for all turns that a
// Workflow runs, itself or in line.
import { currentUpdateInfo, defineUpdate, setHandler } from '@temporalio/workflow';
import { DECISION_LIMITS, RETRY_CALL_UPDATE, type RetryCallInput, type RetryCallResult } from '../shared/approvals.ts';
import { parseCallKey } from '../shared/call-key.ts';
import { sha256Hex } from '../shared/digest.ts';
import { isObject } from '../shared/json.ts';
import { refuse, type Retries } from './retries.ts';

/** Has a call made again; see `RetryCallInput`. It answers at once. */
export const retryCallUpdate = defineUpdate<RetryCallResult, [RetryCallInput]>(RETRY_CALL_UPDATE);

const { callKey: MAX_CALL_KEY, workflowId: MAX_WORKFLOW_ID } = DECISION_LIMITS;
const MAX_BY = 200;
const MAX_REASON = 2_000;

/** The turns of this Workflow, its own or those in line, in the order of their beginnings. */
const turns: Retries[] = [];

/** Takes the Update for a turn from now on. */
export function takeRetries(retries: Retries): void {
  if (turns.length === 0) setHandler(retryCallUpdate, accept, { validator: validate });
  turns.push(retries);
}

/** Runs before anything is recorded. */
function validate(input: RetryCallInput): void {
  const problem = formProblem(input);
  if (problem !== null) throw refuse('UsageInvalid', `This is no retry that can be taken: ${problem}`, 'unknown');
  const refusal = retriesOf(input).refusal(input);
  if (refusal) throw refusal;
}

function accept(input: RetryCallInput): RetryCallResult {
  const retries = retriesOf(input);
  const refusal = retries.refusal(input);
  if (refusal) throw refusal;
  return retries.begin(input, sha256Hex(currentUpdateInfo()?.id ?? '').slice(0, 12));
}

function retriesOf({ workflowId }: RetryCallInput): Retries {
  const named = turns.filter((one) => workflowId === undefined || one.turn.workflowId === workflowId);
  const [first] = named;
  if (first && named.length === 1) return first;
  const ids = turns.map((one) => `\`${one.turn.workflowId}\``).join(', ');
  throw refuse('TurnNotFound', `${workflowId ?? 'No turn'} is none of this Workflow's turns: ${ids}`, 'unknown');
}

function formProblem(input: unknown): string | null {
  if (!isObject(input)) return 'it is no object';
  const { workflowId, callKey, by, reason } = input;
  const isTurn = workflowId === undefined || (typeof workflowId === 'string' && workflowId.length <= MAX_WORKFLOW_ID);
  if (!isTurn) return `workflowId is no text of at most ${MAX_WORKFLOW_ID} characters`;
  const isKey = typeof callKey === 'string' && callKey.length <= MAX_CALL_KEY && parseCallKey(callKey) !== null;
  if (!isKey) return 'callKey is no call key, such as t1/0/2';
  if (typeof by !== 'string' || by.length === 0 || by.length > MAX_BY) return `by has not 1 to ${MAX_BY} characters`;
  const isReason = reason === undefined || (typeof reason === 'string' && reason.length <= MAX_REASON);
  return isReason ? null : `reason is no text of at most ${MAX_REASON} characters`;
}
