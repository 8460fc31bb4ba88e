// The advice on catalogs for people: a table of figures, and for each server what to set, why, and from how much evidence.
import type { AdviceReason, ServerAdvice, SettingCost } from '../../shared/catalog-advice.ts';
import type { ServerSetting } from '../../shared/catalog-choice.ts';
import { number } from '../figures.ts';
import type { Output } from '../output.ts';
import { table } from '../output.ts';
import { visible } from '../waiting-lines.ts';
import type { AgentAdvice } from './agent-advice.ts';

/** Fewer turns are told to be little evidence. */
const ENOUGH_TURNS = 10;

/** All lines. */
export function adviceLines(advised: readonly AgentAdvice[], paint: Output['paint']): readonly string[] {
  if (advised.length === 0) {
    return ['No turn is recorded that called a model: there is nothing to advise from. Run some, and ask again.'];
  }
  return advised.flatMap((advice) => [
    `${paint('bold', `agent ${visible(advice.agent)}`)}: ${count(advice.turns, 'turn')}, ${count(advice.requests, 'model call')} without discovery`,
    ...figures(advice),
    ...advice.servers.flatMap((server) => serverLines(server, advice, paint)),
    ...advice.unknown.map(
      (name) => `${visible(name)}: no catalog of it is known; longshore catalog show --refresh asks it`,
    ),
    ...(advice.servers.length + advice.unknown.length === 0 ? ['It has no servers.'] : []),
  ]);
}

/** Why a setting is recommended, in words. */
export function reasonText(reason: AdviceReason, { evidence, toolCount, definitionTokens }: ServerAdvice): string {
  const called = `${count(evidence.calls, 'call')} in ${number(evidence.turnsWithCalls)} of ${count(evidence.turns, 'turn')}`;
  const whole = `its ${count(toolCount, 'tool')} (${number(definitionTokens)} tokens)`;
  switch (reason) {
    case 'small':
      return `${whole} ${toolCount === 1 ? 'takes' : 'take'} no more than the tools by which others are found`;
    case 'often':
      return `it is called so often (${called}) that finding its tools costs more than sending ${whole}`;
    case 'part':
      return `${number(evidence.tools.length)} of ${whole} ${evidence.tools.length === 1 ? 'was' : 'were'} called: ${called}`;
    case 'seldom':
      return `it is called so seldom (${called}) that finding its tools costs less than sending ${whole}`;
    case 'unused':
      return `none of ${whole} was called in ${count(evidence.turns, 'turn')}: if none is needed, take the server out of the spec`;
  }
}

/** A setting as it stands below the server in a spec. */
export function specLines({ mode, preloadTools }: ServerSetting): readonly string[] {
  if (mode === 'preloaded') return ['preload: true'];
  if (mode === 'deferred') return ['preload: false'];
  return [`preload_tools: [${preloadTools.map((tool) => JSON.stringify(tool)).join(', ')}]`];
}

/** Tokens, and the model calls for discovery with them. */
export function costText({ tokens, roundTrips }: Pick<SettingCost, 'tokens' | 'roundTrips'>): string {
  return roundTrips === 0 ? number(tokens) : `${number(tokens)} + ${count(roundTrips, 'call')}`;
}

function figures({ servers, totals }: AgentAdvice): readonly string[] {
  const rows = servers
    .filter(({ recommended }) => recommended !== null)
    .map(({ server, toolCount, definitionTokens, settings, now }) => [
      visible(server),
      number(toolCount),
      number(definitionTokens),
      ...(['preloaded', 'selective', 'deferred'] as const).map((mode) => {
        const setting = settings.find((one) => one.mode === mode);
        return setting ? costText(setting) : '-';
      }),
      now ? `${now.mode}: ${costText(now)}` : '',
    ]);
  const head = ['server', 'tools', 'definitions', 'preloaded', 'selective', 'deferred', 'as set now'];
  if (rows.length === 0) return [];
  const { now, recommended, preloaded, deferred } = totals;
  return [
    'Tokens that each server takes over all these turns, with the model calls that discovery adds:',
    ...table([head, ...rows]),
    `All requests together: ${costText(now)} as set now, ${costText(recommended)} as recommended, ${costText(preloaded)} all preloaded, ${costText(deferred)} all deferred`,
  ];
}

function serverLines(server: ServerAdvice, advice: AgentAdvice, paint: Output['paint']): readonly string[] {
  const { recommended, now, evidence } = server;
  const name = paint('cyan', visible(server.server));
  if (!recommended || !now) return [`${name}: no turn names it, so there is nothing to advise from`];
  const isSame = recommended.saves === 0 && recommended.mode === now.mode;
  const isSmall = advice.small.includes(server.server);
  const saves = `saves ${number(recommended.saves)} tokens over these turns, ${number(Math.round(recommended.saves / evidence.turns))} a turn`;
  const verdict = isSmall && isSame ? 'left preloaded, since it is small' : isSame ? 'leave it as it is' : saves;
  return [
    `${name}: ${paint('green', recommended.mode)}, since ${reasonText(recommended.reason, server)}; ${verdict}`,
    ...(evidence.turns < ENOUGH_TURNS ? [`  little evidence: ${count(evidence.turns, 'turn')}`] : []),
    ...(isSame
      ? []
      : [
          '  in its entry of the spec, beside its other keys:',
          `  - name: ${visible(server.server)}`,
          ...specLines(recommended).map((line) => `    ${visible(line)}`),
        ]),
  ];
}

function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? '' : 's'}`;
}
