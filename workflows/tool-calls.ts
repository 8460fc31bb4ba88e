// The tool calls of one step: each ends in exactly one result, whatever happens to its siblings, in call order.
import { CancellationScope, isCancellation } from '@temporalio/workflow';
import type { AgentSpec } from '../shared/agent-spec.ts';
import type { ProposedCall, StepCommit, TurnIdentity } from '../shared/activities.ts';
import { decidePlacement } from '../shared/placement.ts';
import { commitResult, placementFactsOf, type SettledCall } from '../shared/results.ts';
import { callTool } from './activities.ts';
import { boundCommit } from './commit-size.ts';
import { afterFailure, cancelledBeforeStart } from './failures.ts';
import { answerWithoutRunning, type ReadCounts } from './policy-check.ts';

/** What the calls of a step are run with. */
export interface StepContext {
  readonly turn: TurnIdentity;
  readonly step: number;
  readonly spec: AgentSpec;
  readonly reads: ReadCounts;
  /** Keys of calls that have no result yet; kept for the turn's Query. */
  readonly open: Set<string>;
}

/**
 * Runs the calls that may run at once, answers the others, and decides where every result goes.
 * Never rejects: a cancelled or failed call is a result too.
 */
export async function settleCalls(calls: readonly ProposedCall[], context: StepContext): Promise<StepCommit> {
  for (const call of calls) context.open.add(call.callKey);
  const settled = await Promise.all(
    calls.map((call) => settle(call, context).finally(() => context.open.delete(call.callKey))),
  );
  return { step: context.step, results: place(settled, context.spec) };
}

async function settle(call: ProposedCall, context: StepContext): Promise<SettledCall> {
  const answer = answerWithoutRunning(call, context.spec, context.reads);
  if (answer) return { call, result: { spoken: answer } };
  if (CancellationScope.current().consideredCancelled) return { call, result: { spoken: cancelledBeforeStart() } };
  try {
    return { call, result: { facts: await callTool(toolInput(call, context)) } };
  } catch (failure) {
    return { call, result: { spoken: afterFailure(call, failure, isCancellation(failure)) } };
  }
}

function toolInput(call: ProposedCall, context: StepContext): Parameters<typeof callTool>[0] {
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
    generation: 0,
    perResultTokens: perResultLimit(context.spec, call),
    previewCharacters: limits.preview_characters,
    imageTokens: limits.image_tokens,
  };
}

function place(settled: readonly SettledCall[], spec: AgentSpec): StepCommit['results'] {
  const limits = spec.config.context_management.large_tool_response;
  const facts = settled.map((one) =>
    placementFactsOf(one, { enabled: limits.enabled, perResult: perResultLimit(spec, one.call) }),
  );
  const decisions = decidePlacement(facts, { perResult: limits.per_result_tokens, perStep: limits.per_step_tokens });
  // Each alone: what is too large only together is committed in parts.
  return settled.flatMap((one, index) =>
    boundCommit([commitResult(one, decisions[index] ?? { placement: 'inline', rule: 'fits' })]),
  );
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
