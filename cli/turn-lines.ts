// A turn for people: what `turns show` prints.
import type { StepView, ToolCallView, TurnView } from '../client/turn-view.ts';
import { summaryLines, unsaved, type ProgressSink } from './progress.ts';

/** The lines of a turn. */
export function turnLines(view: TurnView, paint: ProgressSink['paint']): readonly string[] {
  const files = `longshore files list ${view.workflowId}`;
  return [
    `${paint('bold', 'session')} ${view.session ?? 'none'}`,
    ...view.steps.flatMap((step) => stepLines(step, paint)),
    ...summaryLines(view, paint, { uiUrl: null, command: files }),
  ];
}

function stepLines(step: StepView, paint: ProgressSink['paint']): readonly string[] {
  const { model } = step;
  const usage = `${model.inputTokens} tokens in (${model.cachedInputTokens} cached), ${model.outputTokens} out (${model.reasoningTokens} reasoning)`;
  const attempts = model.attempts > 1 ? `, attempt ${model.attempts}` : '';
  const head = `${paint('bold', `step ${step.index}`)}  ${model.name} ${model.finishReason} ${paint('dim', `(${usage}, ${model.durationMs} ms${attempts})`)}`;
  return [head, ...step.toolCalls.flatMap((call) => callLines(call, paint))];
}

function callLines(call: ToolCallView, paint: ProgressSink['paint']): readonly string[] {
  const outcome = paint(call.outcome === 'ok' ? 'green' : 'red', call.outcome);
  const about = call.tokensAreExact ? '' : 'about ';
  const where = call.placement === null ? 'not placed yet' : `${call.placement} by rule ${call.rule}`;
  return [
    `  ${paint('cyan', call.callKey)} ${call.server === '' ? call.tool : `${call.server}.${call.tool}`} ${outcome}: ${call.bytes} bytes, ${about}${call.tokens} tokens, ${where}${unsaved(call.note, paint)}`,
    ...(call.path === null ? [] : [`    ${call.path}`]),
    ...call.files.map((file) => `    ${file.path} ${paint('dim', `(${file.bytes} bytes, ${file.mediaType})`)}`),
  ];
}
