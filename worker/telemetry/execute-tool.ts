// What a tool call tells: the conventions' `execute_tool` span, and the result's sizes; neither arguments nor result.
import { SpanKind } from '@opentelemetry/api';
import type { CallToolInput } from '../../shared/activities.ts';
import { parseCallKey } from '../../shared/call-key.ts';
import type { ResultFacts } from '../../shared/facts.ts';
import type { ToolOutcome } from '../../shared/messages.ts';
import { turnAttributes, turnLabels, type Seen, type Told, type Watched } from './watch.ts';

/** Outcomes that are errors of the operation, by the type they are told as. Source: the conventions for MCP. */
const ERROR_TYPES: { readonly [outcome in ToolOutcome]?: string } = { error: 'tool_error', unknown: 'unknown_outcome' };

/** Watches a tool call. Its id is the call key: the same for every attempt, and free of the provider's text. */
export function watchCallTool(input: CallToolInput): Watched {
  const step = parseCallKey(input.callKey)?.step;
  return {
    what: 'tool call',
    span: {
      name: `execute_tool ${input.tool}`,
      kind: SpanKind.INTERNAL,
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': input.tool,
        'gen_ai.tool.call.id': input.callKey,
        'gen_ai.tool.type': 'function',
        ...turnAttributes(input.turn),
        ...(step !== undefined && { 'longshore.step': step }),
        'longshore.tool.server': input.server,
        'longshore.tool.effect': input.effect,
      },
    },
    labels: { ...labelsOf(input), step },
    // Only this Activity's own result comes here.
    succeeded: (result, seen) => succeeded(input, result as ResultFacts, seen),
    failed: (errorType, seen) => ({ attributes: {}, measurements: [duration(input, seen, errorType)] }),
  };
}

function succeeded(input: CallToolInput, facts: ResultFacts, seen: Seen): Told {
  const { outcome, bytes, tokens, tokensAreExact } = facts;
  const errorType = ERROR_TYPES[outcome];
  const stagedBytes = stagedBytesOf(facts);
  const attributes = { ...toolAttributes(input), 'longshore.tool.outcome': outcome };
  return {
    ...(errorType !== undefined && { errorType }),
    attributes: {
      'longshore.tool.outcome': outcome,
      'longshore.tool.result.bytes': bytes,
      'longshore.tool.result.tokens': tokens,
      'longshore.tool.result.media_type': facts.mediaType,
      'longshore.tool.staged_bytes': stagedBytes,
    },
    entries: [
      {
        level: outcome === 'unknown' ? 'warn' : 'info',
        message: 'tool call ended',
        ...labelsOf(input),
        step: parseCallKey(input.callKey)?.step,
        outcome,
        bytes,
        tokens,
        tokensAreExact,
        stagedBytes,
        attempt: seen.attempt,
        durationMs: Math.round(seen.durationMs),
      },
    ],
    measurements: [
      duration(input, seen, errorType),
      { metric: 'longshore.tool.result.size', value: bytes, attributes },
      { metric: 'longshore.tool.result.tokens', value: tokens, attributes },
      { metric: 'longshore.tool.staged.size', value: stagedBytes, attributes },
    ],
  };
}

function labelsOf({ turn, callKey, server, tool, effect }: CallToolInput): Watched['labels'] {
  return { ...turnLabels(turn), callKey, server, tool, effect };
}

function toolAttributes({ tool, server }: CallToolInput): {
  readonly 'gen_ai.tool.name': string;
  readonly 'longshore.tool.server': string;
} {
  return { 'gen_ai.tool.name': tool, 'longshore.tool.server': server };
}

function duration(input: CallToolInput, seen: Seen, errorType: string | undefined): Told['measurements'][number] {
  return {
    metric: 'gen_ai.client.operation.duration',
    value: seen.durationMs / 1_000,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      ...toolAttributes(input),
      ...(errorType !== undefined && { 'error.type': errorType }),
    },
  };
}

/** What stands in the store on the result's behalf; a long list of blocks is one blob of its own. */
function stagedBytesOf({ file, blocks, blocksRef }: ResultFacts): number {
  return (file?.bytes ?? 0) + (blocksRef?.bytes ?? 0) + blocks.reduce((sum, block) => sum + block.bytes, 0);
}
