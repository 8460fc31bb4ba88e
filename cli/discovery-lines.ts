// What tool definitions took and gave in a turn, for people: part of what `turns show` prints.
import type { DiscoveryView, ServerDiscovery } from '../client/discovery-view.ts';
import { number } from './figures.ts';
import { leftOutLines } from './left-out-lines.ts';
import type { ProgressSink } from './progress.ts';

/** The lines; none for a turn that has no servers and made no mistakes. */
export function discoveryLines(view: DiscoveryView, paint: ProgressSink['paint']): readonly string[] {
  const { servers, failures } = view;
  if (servers.length === 0 && failures.length === 0) return [];
  return [
    `${paint('bold', 'tools')}   ${definitions(view)}${discovery(view)}`,
    ...servers.flatMap((server) => [
      `  ${paint('cyan', server.server)} ${serverText(server)}`,
      ...leftOutLines(server.leftOut, paint),
    ]),
    ...firstUseful(view),
    ...failures.map(({ callKey, server, tool, stage }) => {
      const name = server === '' ? tool : `${server}.${tool}`;
      return `  ${paint('red', 'failed')} ${callKey} ${name} at the stage ${stage}`;
    }),
  ];
}

function definitions({ definitionTokens }: DiscoveryView): string {
  const known = definitionTokens.filter((tokens) => tokens !== null);
  const total = known.reduce((sum, tokens) => sum + tokens, 0);
  const [first] = known;
  const isSame = known.every((tokens) => tokens === first);
  if (first === undefined) return 'definitions not recorded';
  return isSame
    ? `definitions ${number(first)} tokens in each of ${count(known.length, 'model call')}`
    : `definitions ${number(total)} tokens over ${count(known.length, 'model call')}`;
}

function discovery({ calls, tokens, roundTrips }: DiscoveryView): string {
  if (calls === 0) return '';
  return `; ${count(calls, 'discovery call')} (${number(tokens)} tokens), ${count(roundTrips, 'model call')} for these alone`;
}

function serverText(server: ServerDiscovery): string {
  const { mode, modeReason, tools, definitionTokens, called, preloadedUnused, loads, changes } = server;
  const tokens = definitionTokens === null ? '' : `, ${number(definitionTokens)} tokens`;
  const size = tools === 0 && loads === 0 && mode === 'deferred' ? 'not asked' : `${count(tools, 'tool')}${tokens}`;
  return [
    `${mode}${modeReason === 'small' ? ' (small)' : ''}: ${size}`,
    `${number(called)} called`,
    ...(preloadedUnused === null || preloadedUnused === 0 ? [] : [`${number(preloadedUnused)} preloaded and not used`]),
    ...(changes === 0 ? [] : [`changed ${changes === 1 ? 'once' : `${changes} times`}`]),
  ].join(', ');
}

function firstUseful({ firstUsefulCall: first }: DiscoveryView): readonly string[] {
  if (!first) return [];
  const after = first.afterMs === null ? '' : ` after ${number(first.afterMs)} ms,`;
  const calls = count(first.modelCalls, 'model call');
  return [`  first useful call ${first.callKey}${after} ${calls} and ${number(first.sentTokens)} tokens sent`];
}

function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? '' : 's'}`;
}
