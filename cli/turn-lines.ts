// A turn for people: what `turns show` prints.
import type { StepView, ToolCallView, TurnView } from '../client/turn-view.ts';
import { number, shorten } from './figures.ts';
import { decisionText } from './approval-lines.ts';
import { discoveryLines } from './discovery-lines.ts';
import { ownCommand } from './own-command.ts';
import { summaryLines, unsaved, type ProgressSink } from './progress.ts';

/** As much of such arguments stands in their line. */
const ARGUMENT_CHARACTERS = 160;

/** The lines of a turn. */
export function turnLines(view: TurnView, paint: ProgressSink['paint']): readonly string[] {
  const files = `longshore files list ${view.workflowId}`;
  return [
    `${paint('bold', 'session')} ${view.session ?? 'none'}`,
    ...view.steps.flatMap((step) => stepLines(step, paint)),
    ...discoveryLines(view.discovery, paint),
    ...summaryLines(view, paint, { uiUrl: null, command: files }),
  ];
}

function stepLines(step: StepView, paint: ProgressSink['paint']): readonly string[] {
  const { model } = step;
  const usage = `${number(model.inputTokens)} tokens in (${number(model.cachedInputTokens)} cached), ${number(model.outputTokens)} out (${number(model.reasoningTokens)} reasoning)`;
  const attempts = model.attempts > 1 ? `, attempt ${model.attempts}` : '';
  const head = `${paint('bold', `step ${step.index}`)}  ${model.name} ${model.finishReason} ${paint('dim', `(${usage}, ${number(model.durationMs)} ms${attempts})`)}`;
  return [head, ...step.toolCalls.flatMap((call) => callLines(call, paint))];
}

function callLines(call: ToolCallView, paint: ProgressSink['paint']): readonly string[] {
  const outcome = paint(outcomeStyle(call), call.outcome);
  const about = call.tokensAreExact ? '' : 'about ';
  const where = call.placement === null ? 'not placed yet' : `${call.placement} by rule ${call.rule}`;
  return [
    `  ${paint('cyan', call.callKey)} ${call.server === '' ? call.tool : `${call.server}.${call.tool}`} ${outcome}: ${number(call.bytes)} bytes, ${about}${number(call.tokens)} tokens, ${where}${unsaved(call.note, paint)}`,
    ...(call.argumentsText === undefined ? [] : [`    ${argumentsLine(call.argumentsText, paint)}`]),
    ...waitingLines(call, paint),
    ...(call.path === null ? [] : [`    ${call.path}`]),
    ...call.files.map((file) => `    ${file.path} ${paint('dim', `(${number(file.bytes)} bytes, ${file.mediaType})`)}`),
  ];
}

function argumentsLine(text: string, paint: ProgressSink['paint']): string {
  return `${paint('red', 'arguments that are no JSON object:')} ${shorten(text.replaceAll(/\s+/g, ' '), ARGUMENT_CHARACTERS)}`;
}

/** What the call waits for, who decided on it, and which results a newer one took the place of. */
function waitingLines(call: ToolCallView, paint: ProgressSink['paint']): readonly string[] {
  const { waiting, decisions = [], earlier = [] } = call;
  return [
    ...(waiting
      ? [`    ${paint('yellow', `waits for a decision: ${ownCommand()} approvals show ${waiting.id}`)}`]
      : []),
    ...decisions.map((decision) => `    ${decisionText(decision)}`),
    ...earlier.map(
      ({ generation, outcome, bytes }) => `    before, generation ${generation}: ${outcome}, ${bytes} bytes`,
    ),
  ];
}

function outcomeStyle({ outcome }: ToolCallView): 'green' | 'yellow' | 'red' {
  if (outcome === 'ok') return 'green';
  return outcome === 'waiting' || outcome === 'running' ? 'yellow' : 'red';
}
