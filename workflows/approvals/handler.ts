// The Update `longshoreResolveApproval`: one handler for all turns that a Workflow runs, itself or in line.
import { ApplicationFailure, defineUpdate, setHandler, workflowInfo } from '@temporalio/workflow';
import {
  RESOLVE_APPROVAL_UPDATE,
  type ResolveApprovalInput,
  type ResolveApprovalResult,
  type WaitingCall,
} from '../../shared/approvals.ts';
import { withoutStop } from '../../shared/errors.ts';
import type { JsonObject } from '../../shared/json.ts';
import { payloadBytes } from '../../shared/payload-limit.ts';
import { checkArguments } from '../activities.ts';
import { errorRecordOf } from '../failures.ts';
import { formProblem } from './decision-form.ts';
import type { ApprovalDesk } from './desk.ts';
import { malformed, noRoom, otherTurn, unfitArguments, type Refusal } from './refusals.ts';
import type { ChangedArguments } from './wait.ts';

/** Decides on one waiting call; see `ResolveApprovalInput`. */
export const resolveApprovalUpdate = defineUpdate<ResolveApprovalResult, [ResolveApprovalInput]>(
  RESOLVE_APPROVAL_UPDATE,
);

/** Temporal ends a run at 51,200 events or 50 MiB; what is left above this is for the turn's own end. */
const HISTORY_EVENTS = 44_000;
const HISTORY_BYTES = 40 * 1024 * 1024;

/** Desks of this Workflow's turns, by the turn's id; those of ended turns stay, to say so. */
const desks = new Map<string, ApprovalDesk>();

/** Takes decisions for a turn from now on. */
export function takeDecisions(desk: ApprovalDesk): void {
  if (desks.size === 0) setHandler(resolveApprovalUpdate, resolve, { validator: validate });
  desks.set(desk.turn.workflowId, desk);
}

/** Runs before anything is recorded. */
function validate(input: ResolveApprovalInput): void {
  const problem = formProblem(input);
  if (problem !== null) throw failureOf(malformed(problem));
  const desk = deskOf(input);
  const judged = desk.calls.judge(input, Date.now());
  if (judged.type === 'refuse') throw failureOf(judged.refusal);
  const stands = judged.type === 'repeat';
  const lacking = roomProblem(input, desk, stands);
  if (lacking !== null) throw failureOf(noRoom(input, lacking, stands));
}

/** Why history cannot take a decision that changes nothing, or may yet be refused; null for all others. */
function roomProblem({ decision }: ResolveApprovalInput, desk: ApprovalDesk, isRepeat: boolean): string | null {
  const { historyLength, historySize } = workflowInfo();
  const bytes = decision.type === 'approve' && decision.arguments ? payloadBytes(decision.arguments) : 0;
  // Changed arguments stand there twice: in the Update, and in the Activity that checks them.
  const isNear = historyLength >= HISTORY_EVENTS || historySize + 2 * bytes >= HISTORY_BYTES;
  if (isNear && (isRepeat || bytes > 0))
    return `the turn's history has ${historyLength} events and ${historySize} bytes`;
  return desk.hasRoomFor(bytes)
    ? null
    : 'too many changed arguments were refused before, and all of them stand in history';
}

/** Answers at once; changed arguments are checked first, and the call waits on if they do not fit. */
function resolve(input: ResolveApprovalInput): ResolveApprovalResult | Promise<ResolveApprovalResult> {
  const desk = deskOf(input);
  const { decision } = input;
  if (decision.type !== 'approve' || decision.arguments === undefined) return stand(desk, input);
  return resolveChanged(desk, input, decision.arguments);
}

async function resolveChanged(
  desk: ApprovalDesk,
  input: ResolveApprovalInput,
  args: JsonObject,
): Promise<ResolveApprovalResult> {
  const judged = desk.calls.judge(input, Date.now());
  if (judged.type !== 'open') return stand(desk, input);
  const changed = await desk.tryChange(payloadBytes(args), () => checked(desk, judged.wait.call, args));
  return stand(desk, input, changed);
}

/** What stands may have changed while arguments were checked: it is judged anew. */
function stand(desk: ApprovalDesk, input: ResolveApprovalInput, changed?: ChangedArguments): ResolveApprovalResult {
  const outcome = desk.decide(input, changed);
  if (!('type' in outcome)) return outcome;
  if (outcome.type === 'repeat') return outcome.result;
  if (outcome.type === 'refuse') throw failureOf(outcome.refusal);
  throw new TypeError('a decision on an open wait ends it');
}

async function checked(desk: ApprovalDesk, call: WaitingCall, args: JsonObject): Promise<ChangedArguments> {
  const { turn } = desk;
  const { callKey, server, tool } = call;
  const catalog = desk.catalogOf?.(server);
  if (!catalog) throw new TypeError('a call waits before the turn has a catalog');
  try {
    const result = await checkArguments({ turn, callKey, server, tool, catalog, arguments: args });
    if ('problem' in result) throw failureOf(unfitArguments(call, result.problem));
    const { argumentsDigest: digest, argumentsRef } = result;
    return argumentsRef ? { arguments: {}, argumentsRef, digest } : { arguments: args, digest };
  } catch (failure) {
    if (failure instanceof ApplicationFailure) throw failure;
    const { type, message, mend } = errorRecordOf(failure);
    const text = `The changed arguments could not be checked: ${withoutStop(message)}. Call \`${callKey}\` waits on`;
    throw ApplicationFailure.create({ type, message: text, nonRetryable: true, details: [{ mend, state: 'waiting' }] });
  }
}

/** By the turn's own id; by the Workflow's where that leads to one turn only. */
function deskOf(input: ResolveApprovalInput): ApprovalDesk {
  const exact = desks.get(input.workflowId);
  if (exact) return exact;
  const all = [...desks.values()];
  const holding = all.filter(({ calls }) => calls.knows(input.callKey, input.digest));
  const [only, another] = holding;
  if (input.workflowId === workflowInfo().workflowId && only && !another) return only;
  throw failureOf(otherTurn(input, [...desks.keys()]));
}

function failureOf({ type, message, mend, state }: Refusal): ApplicationFailure {
  return ApplicationFailure.create({ type, message, nonRetryable: true, details: [{ mend, state }] });
}
