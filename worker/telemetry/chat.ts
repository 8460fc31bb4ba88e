// What a model call tells: the conventions' `chat` span with usage and finish reason, and what Longshore counted itself.
import { SpanKind, type Attributes } from '@opentelemetry/api';
import type { CallModelInput, CallModelResult } from '../../shared/activities.ts';
import { placementTold } from './placements.ts';
import { modelAttributes, turnAttributes, turnLabels, type Seen, type Told, type Watched } from './watch.ts';

/** Watches a model call. */
export function watchCallModel(input: CallModelInput): Watched {
  const known = input.frame?.model.name;
  return {
    what: 'model call',
    span: {
      name: spanName(known),
      kind: SpanKind.CLIENT,
      attributes: {
        'gen_ai.operation.name': 'chat',
        ...(known !== undefined && modelAttributes(known)),
        ...turnAttributes(input.turn),
        'longshore.step': input.step,
      },
    },
    labels: { ...turnLabels(input.turn), step: input.step },
    // Only this Activity's own result comes here.
    succeeded: (result, seen) => succeeded(input, result as CallModelResult, seen),
    failed: (errorType, seen) => ({
      ...asked(seen),
      measurements: [duration(seen, { 'error.type': errorType })],
    }),
  };
}

function succeeded(input: CallModelInput, result: CallModelResult, seen: Seen): Told {
  const { usage, finishReason, modelName, sentTokens, definitionTokens, costUsd } = result;
  const { name, attributes } = asked(seen);
  const model = { ...attributes, 'gen_ai.response.model': modelName };
  const placed = placementTold(input.turn, input.commit);
  return {
    ...(name !== undefined && { name }),
    attributes: {
      ...model,
      'gen_ai.response.finish_reasons': [finishReason],
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': usage.outputTokens,
      'gen_ai.usage.cache_read.input_tokens': usage.cachedInputTokens,
      'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
      'longshore.model.sent_tokens': sentTokens,
      ...(definitionTokens !== undefined && { 'longshore.model.definition_tokens': definitionTokens }),
      'longshore.model.tool_calls': result.toolCalls.length,
      ...(costUsd !== undefined && { 'longshore.model.cost_usd': costUsd }),
    },
    entries: [
      ...placed.entries,
      {
        level: 'info',
        message: 'model call ended',
        ...turnLabels(input.turn),
        step: input.step,
        model: seen.model?.name,
        answeredBy: modelName,
        finishReason,
        toolCalls: result.toolCalls.length,
        sentTokens,
        definitionTokens,
        ...usage,
        costUsd,
        attempt: seen.attempt,
        durationMs: Math.round(seen.durationMs),
      },
    ],
    measurements: [
      ...placed.measurements,
      duration(seen, model),
      tokens('input', usage.inputTokens, model),
      tokens('output', usage.outputTokens, model),
      { metric: 'longshore.model.sent_tokens', value: sentTokens, attributes: model },
    ],
  };
}

/** The conventions measure the request itself, without the transcript's reading and writing. */
function duration(seen: Seen, attributes: Attributes): Told['measurements'][number] {
  return {
    metric: 'gen_ai.client.operation.duration',
    value: (seen.model?.durationMs ?? seen.durationMs) / 1_000,
    attributes: { 'gen_ai.operation.name': 'chat', ...asked(seen).attributes, ...attributes },
  };
}

function tokens(type: 'input' | 'output', value: number, model: Attributes): Told['measurements'][number] {
  const attributes = { 'gen_ai.operation.name': 'chat', 'gen_ai.token.type': type, ...model };
  return { metric: 'gen_ai.client.token.usage', value, attributes };
}

function asked({ model }: Seen): { readonly attributes: Attributes; readonly name?: string } {
  if (!model) return { attributes: {} };
  return { attributes: modelAttributes(model.name), name: spanName(model.name) };
}

function spanName(model: string | undefined): string {
  return model === undefined ? 'chat' : `chat ${modelAttributes(model)['gen_ai.request.model']}`;
}
