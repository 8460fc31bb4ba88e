// The tool calls of one step: each ends in exactly one result, whatever happens to its siblings, in call order.
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { AgentSpec } from '../shared/agent-spec.ts';
import type { CallToolInput, CommittedResult, ProposedCall, StepCommit, TurnIdentity } from '../shared/activities.ts';
import type { ServerCatalogRef } from '../shared/catalog.ts';
import { DEFAULT_DISCOVERY_TOKENS, DISCOVERY_SERVER } from '../shared/discovery-tools.ts';
import { isObject } from '../shared/json.ts';
import { decidePlacement, type PlacementDecision } from '../shared/placement.ts';
import { commitResult, placementFactsOf, type SettledCall } from '../shared/results.ts';
import { retentionOfTool } from '../shared/retention.ts';
import { BUILT_IN_SERVERS, PEOPLE_SERVER } from '../shared/sandbox-tools.ts';
import { callTool, judgeCall } from './activities.ts';
import type { ApprovalDesk } from './approvals/desk.ts';
import { settleGated, settleQuestion, type Asking } from './approvals/gated-call.ts';
import type { TurnCatalogs } from './catalogs.ts';
import { boundCommit } from './commit-size.ts';
import { judgeInOrder, notPrepared, type Judgement } from './deferred-calls.ts';
import { afterFailure, cancelledBeforeStart } from './failures.ts';
import { answerWithoutRunning, deniedUnasked, gateOf, type CallCounts } from './policy-check.ts';

/** What the calls of a step are run with. */
export interface StepContext {
  readonly turn: TurnIdentity;
  readonly step: number;
  readonly spec: AgentSpec;
  readonly counts: CallCounts;
  /** Keys of calls that have no result yet; kept for the turn's Query. */
  readonly open: Set<string>;
  /** Where calls wait for a person. */
  readonly desk: ApprovalDesk;
  /** Absent in turns from before deferral. */
  readonly catalogs?: TurnCatalogs;
  /** Hears of calls that were judged late. */
  readonly judged: (call: ProposedCall) => void;
}

/** A step while its calls are settled, in order of arrival. */
interface RunningStep extends StepContext {
  readonly soFar: { readonly step: number; readonly calls: readonly ProposedCall[]; readonly settled: SettledCall[] };
  /** Of calls whose server was not loaded, by call key. */
  readonly judgements: ReadonlyMap<string, Promise<Judgement>>;
}

/**
 * Runs the calls that may run at once, asks about those that are gated, answers the others, and decides where every result
 * goes. Never rejects: a cancelled or failed call is a result too.
 */
export function settleCalls(calls: readonly ProposedCall[], context: StepContext): Promise<StepCommit> {
  for (const call of calls) context.open.add(call.callKey);
  const step = {
    ...context,
    soFar: { step: context.step, calls, settled: [] },
    judgements: judgements(calls, context),
  };
  const { desk, spec } = context;
  desk.stepUnderWay = step.soFar;
  const placed = (settled: readonly SettledCall[]): StepCommit => ({
    step: context.step,
    results: place(settled, spec),
  });
  return Promise.all(calls.map((call) => settleOne(call, step))).then((settled) =>
    desk.isKeeping ? desk.stepSettled().then(() => placed(settled)) : placed(settled),
  );
}

function judgements(calls: readonly ProposedCall[], { turn, catalogs }: StepContext): RunningStep['judgements'] {
  // A cancelled turn begins nothing.
  if (!catalogs || isCancelled()) return new Map();
  return judgeInOrder(calls, { turn, catalogs, judge: judgeCall });
}

function settleOne(call: ProposedCall, step: RunningStep): Promise<SettledCall> {
  const settling = call.unresolved ? settleUnresolved(call, step) : settle(call, step);
  // What is settled at once counts only when its siblings have begun.
  return (settling instanceof Promise ? settling : Promise.resolve(settling)).then((settled) => {
    step.open.delete(call.callKey);
    step.soFar.settled.push(settled);
    step.desk.callSettled();
    return settled;
  });
}

async function settleUnresolved(call: ProposedCall, step: RunningStep): Promise<SettledCall> {
  const judgement = await step.judgements.get(call.callKey);
  if (!judgement) return { call, result: { spoken: cancelledBeforeStart() } };
  if ('spoken' in judgement) return { call, result: judgement };
  step.judged(judgement.call);
  return settle(judgement.call, step);
}

function settle(call: ProposedCall, step: RunningStep): Promise<SettledCall> | SettledCall {
  const { spec, desk } = step;
  const answer = answerWithoutRunning(call, step.counts);
  if (answer) return { call, result: { spoken: answer } };
  const settings = spec.config.approvals;
  const selector = gateOf(call, spec);
  if (selector !== null && !settings) return { call, result: { spoken: deniedUnasked(call, selector) } };
  if (isCancelled()) return { call, result: { spoken: cancelledBeforeStart() } };
  const isQuestion = call.server === PEOPLE_SERVER;
  if (selector === null && !isQuestion) return runCall(call, step);
  const asking: Asking = {
    desk,
    settings: settings ?? { onDeadline: 'expire' },
    isCancelled,
    run: (allowed, generation) => runCall(allowed, step, generation),
  };
  return isQuestion ? settleQuestion(call, asking) : settleGated(call, selector ?? '', asking);
}

function isCancelled(): boolean {
  return CancellationScope.current().consideredCancelled;
}

/** What a call is made with; `retry` names a person's wish to have it made again. */
export interface CallContext extends Pick<StepContext, 'turn' | 'spec' | 'catalogs'> {
  readonly retry?: string;
}

/** Makes a call, whoever allowed it; a higher generation is sent anew, whatever became of the one before. Never rejects. */
export function runCall(call: ProposedCall, context: CallContext, generation = 0): Promise<SettledCall> {
  const input = toolInput(call, context, generation);
  const isDiscovery = context.catalogs !== undefined && call.server === DISCOVERY_SERVER;
  return isDiscovery ? runDiscovery(call, input, context) : send(call, input, context);
}

function send(call: ProposedCall, input: CallToolInput, { catalogs }: CallContext): Promise<SettledCall> {
  return callTool(input).then(
    (facts) => {
      if (facts.schemaChanged) catalogs?.changed(call.server);
      else if (isObject(facts.note) && facts.note['catalogChanged'] === true) catalogs?.overtaken(call.server);
      return { call, result: { facts } };
    },
    (failure: unknown) => ({ call, result: { spoken: afterFailure(call, failure, isCancellation(failure)) } }),
  );
}

/** The catalogs that it looks at are loaded first. */
async function runDiscovery(call: ProposedCall, input: CallToolInput, context: CallContext): Promise<SettledCall> {
  const tokens = context.spec.config.context_management.discovery_tokens ?? DEFAULT_DISCOVERY_TOKENS;
  let catalogs: readonly ServerCatalogRef[] = [];
  try {
    catalogs = (await context.catalogs?.forDiscovery(call)) ?? [];
  } catch (failure) {
    return { call, result: { spoken: notPrepared(call, failure) } };
  }
  return send(call, { ...input, discovery: { catalogs, tokens } }, context);
}

function toolInput(call: ProposedCall, context: CallContext, generation: number): CallToolInput {
  const limits = context.spec.config.context_management.large_tool_response;
  return {
    turn: context.turn,
    callKey: call.callKey,
    server: call.server,
    tool: call.tool,
    arguments: call.arguments,
    ...(call.argumentsRef && { argumentsRef: call.argumentsRef }),
    schemaHash: call.schemaHash,
    effect: call.effect,
    generation,
    ...(context.retry !== undefined && { retry: context.retry }),
    perResultTokens: perResultLimit(context.spec, call),
    previewCharacters: limits.preview_characters,
    imageTokens: limits.image_tokens,
    ...(context.catalogs && !BUILT_IN_SERVERS.includes(call.server) && { checkSchema: true, tags: call.tags }),
  };
}

/** Decides for all results of a step at once, in call order. */
export function place(settled: readonly SettledCall[], spec: AgentSpec): StepCommit['results'] {
  const limits = spec.config.context_management.large_tool_response;
  const facts = settled.map((one) =>
    placementFactsOf(one, { enabled: limits.enabled, perResult: perResultLimit(spec, one.call) }),
  );
  const decisions = decidePlacement(facts, { perResult: limits.per_result_tokens, perStep: limits.per_step_tokens });
  // Each alone: what is too large only together is committed in parts.
  return settled.flatMap((one, index) =>
    boundCommit([committed(one, decisions[index] ?? { placement: 'inline', rule: 'fits' }, spec)]),
  );
}

function committed(settled: SettledCall, decision: PlacementDecision, spec: AgentSpec): CommittedResult {
  const retention = retentionOfTool(spec, settled.call.server, settled.call.tool);
  return { ...commitResult(settled, decision), ...(retention && { retention }) };
}

/** The tool's own limit, else its server's, else the agent's. */
function perResultLimit(spec: AgentSpec, call: ProposedCall): number {
  const server = spec.mcp_servers.find((candidate) => candidate.name === call.server);
  return (
    server?.tool_settings[call.tool]?.per_result_tokens ??
    server?.per_result_tokens ??
    spec.config.context_management.large_tool_response.per_result_tokens
  );
}
