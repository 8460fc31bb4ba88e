// What a person sees of a turn while it runs: each step, each call with its size, each placement with its rule.
import type { CallRecord, StepRecord, TurnNews, TurnRecord } from '../client/turn-record.ts';
import type { TurnView } from '../client/turn-view.ts';
import type { CommittedResult } from '../shared/activities.ts';
import type { CatalogServer, ServerCatalogFacts } from '../shared/catalog.ts';
import type { ResultFacts } from '../shared/facts.ts';
import { isObject, type JsonValue } from '../shared/json.ts';
import { number, shorten } from './figures.ts';
import { leftOutLines } from './left-out-lines.ts';
import { decidedLine, visible, waitingLine } from './waiting-lines.ts';

/** As much of a call's arguments stands in its line. */
const ARGUMENT_CHARACTERS = 90;

/** Where progress goes: lasting lines, and one live line on a terminal. */
export interface ProgressSink {
  readonly line: (text: string) => void;
  /** Replaced by the next one; ignored without a terminal. */
  readonly live: (text: string) => void;
  readonly paint: (style: 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan', text: string) => string;
}

/** Prints news as they come. */
export function progressPrinter(sink: ProgressSink): (news: TurnNews, record: TurnRecord) => void {
  return (news, record) => {
    for (const line of linesOf(news, sink.paint)) sink.line(line);
    sink.live(liveLine(record));
  };
}

/** A deferred server that nobody has asked yet may offer any number. */
function offered({ mode = 'preloaded', toolCount, unasked }: CatalogServer): string {
  const how = mode === 'preloaded' ? '' : `, ${mode}`;
  return unasked && toolCount === 0 ? 'deferred, asked when it is needed' : `${count(toolCount, 'tool')}${how}`;
}

function linesOf(news: TurnNews, paint: ProgressSink['paint']): readonly string[] {
  switch (news.type) {
    case 'catalog':
      return news.catalog.servers.flatMap((server) => {
        if (server.unavailable !== undefined)
          return `  ${paint('red', server.name)}: not available: ${server.unavailable}`;
        return [paint('dim', `  ${server.name}: ${offered(server)}`), ...leftOutLines(server.problems, paint)];
      });
    case 'loaded':
      return loaded(news.facts, paint);
    case 'model-asked':
      return [];
    case 'model-answered':
      return answered(news.step, paint);
    case 'call-started':
      return [];
    case 'call-ended':
      return [ended(news.call, paint)];
    case 'committed':
      return placements(news.step, paint);
    case 'waiting':
      return news.calls.map((asked) => waitingLine(asked, paint));
    case 'decided':
      return [decidedLine(news.call, paint)];
    case 'ended':
      return [];
  }
}

/** The model is told what is wrong with a server that was asked late; so is who started the turn. */
function loaded(
  { server, unavailable, problems }: ServerCatalogFacts,
  paint: ProgressSink['paint'],
): readonly string[] {
  if (unavailable !== undefined) return [`  ${paint('red', visible(server))}: not available: ${visible(unavailable)}`];
  return problems.length === 0
    ? []
    : [paint('dim', `  ${visible(server)}: asked now`), ...leftOutLines(problems, paint)];
}

function answered(step: StepRecord, paint: ProgressSink['paint']): readonly string[] {
  const { model } = step;
  if (!model) return [];
  const { inputTokens, outputTokens } = model.usage;
  const asked = model.toolCalls.length === 0 ? 'answers' : `asks for ${count(model.toolCalls.length, 'call')}`;
  const detail = `${number(inputTokens)} tokens in, ${number(outputTokens)} out, ${number(model.durationMs)} ms`;
  const head = `${paint('bold', `step ${step.index}`)}  ${model.modelName} ${asked} ${paint('dim', `(${detail})`)}`;
  const calls = step.calls.map(({ proposed }) => {
    const { callKey, server, tool } = proposed;
    return `  ${paint('cyan', callKey)} ${server === '' ? tool : `${server}.${tool}`} ${paint('dim', argumentsOf(proposed))}`;
  });
  return [head, ...calls];
}

/** As they came: text that is no JSON object stands as it is, on one line. */
function argumentsOf({ arguments: args, argumentsText, argumentsRef }: CallRecord['proposed']): string {
  if (argumentsRef) return `(${number(argumentsRef.bytes)} bytes of arguments)`;
  return shorten(argumentsText?.replaceAll(/\s+/g, ' ') ?? JSON.stringify(args), ARGUMENT_CHARACTERS);
}

function ended(call: CallRecord, paint: ProgressSink['paint']): string {
  const { facts } = call;
  const key = paint('cyan', call.proposed.callKey);
  if (!facts) return `  ${key} ended`;
  const outcome = facts.outcome === 'ok' ? paint('green', 'ok') : paint('red', facts.outcome);
  const retried = facts.attempts > 1 ? `, attempt ${facts.attempts}` : '';
  const detail = paint('dim', `(${number(facts.durationMs)} ms${retried})`);
  return `  ${key} ${outcome}: ${sizeOf(facts)} ${detail}${unsaved(facts.note, paint)}`;
}

/** A result that the store refused, with a space before it; empty for all others. */
export function unsaved(note: JsonValue | undefined, paint: ProgressSink['paint']): string {
  const type = isObject(note) ? note['unsaved'] : undefined;
  return typeof type === 'string' ? ` ${paint('red', `NOT SAVED: ${type}`)}` : '';
}

function placements(step: StepRecord, paint: ProgressSink['paint']): readonly string[] {
  return step.calls.flatMap((call) => {
    const { committed } = call;
    return committed ? [placement(call, committed, paint)] : [];
  });
}

function placement(call: CallRecord, committed: CommittedResult, paint: ProgressSink['paint']): string {
  const key = paint('cyan', committed.callKey);
  if (committed.placement === 'file') {
    const kept = (call.facts?.tokens ?? 0) - committed.tokens;
    const path = committed.file?.path ?? '';
    return `  ${key} ${paint('yellow', 'to a file')} by rule ${committed.rule}: ${number(kept)} tokens kept out, ${path}`;
  }
  const outcome = call.facts ? '' : `${paint('red', committed.outcome)}, `;
  return `  ${key} ${outcome}inline by rule ${committed.rule}: ${number(committed.tokens)} tokens in context`;
}

function liveLine(record: TurnRecord): string {
  const step = record.steps.length;
  const open = record.steps.at(-1)?.calls.filter((call) => call.input && !call.facts) ?? [];
  const waiting = record.asked.waiting().length;
  if (open.length === 0 && waiting > 0) return `step ${step - 1}: waiting for ${count(waiting, 'decision')}`;
  if (open.length === 0) return `step ${step}: waiting for the model`;
  return `step ${step - 1}: ${open.map((call) => `${call.proposed.server}.${call.proposed.tool}`).join(', ')}`;
}

/** The end of a turn: answer, numbers, where to look. */
export function summaryLines(
  view: TurnView,
  paint: ProgressSink['paint'],
  links: { readonly uiUrl: string | null; readonly command: string },
): readonly string[] {
  const { tokens } = view;
  const calls = view.steps.reduce((sum, step) => sum + step.toolCalls.length, 0);
  const files = view.steps.flatMap((step) => step.toolCalls).filter((call) => call.placement === 'file').length;
  const colour = view.status === 'completed' ? 'green' : 'red';
  return [
    '',
    ...(view.answer === null
      ? []
      : [paint('bold', 'answer'), ...view.answer.split('\n').map((line) => `  ${line}`), '']),
    `${paint('bold', 'turn')}    ${view.workflowId}: ${paint(colour, view.status)}`,
    ...(view.error
      ? [`${paint('red', 'error')}   ${view.error.type}: ${view.error.message}`, `        ${view.error.mend}`]
      : []),
    `steps   ${view.steps.length}, tool calls ${calls}, results in files ${files}`,
    `tokens  ${number(tokens.original)} in results, ${number(tokens.inline)} of them in context, ` +
      `${number(Math.max(0, tokens.original - tokens.inline))} kept out; sent ${number(tokens.sent)}, reported ${number(tokens.reported)}`,
    `history ${number(view.history.bytes)} bytes, ${number(view.history.events)} events`,
    ...(links.uiUrl === null ? [] : [`look at ${links.uiUrl} (while a server runs on this home, as with \`dev\`)`]),
    `${links.uiUrl === null ? 'look at' : 'or run '} ${links.command}`,
  ];
}

function sizeOf(facts: ResultFacts): string {
  const about = facts.tokensAreExact ? '' : 'about ';
  const blocks = facts.blocks.length === 0 ? '' : `, ${count(facts.blocks.length, 'further block')}`;
  return `${number(facts.bytes)} bytes, ${about}${number(facts.tokens)} tokens, ${facts.mediaType}${blocks}`;
}

function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? '' : 's'}`;
}
