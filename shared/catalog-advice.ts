// How each server of an agent is best set, by what its recorded turns would have cost: all tools preloaded, the ones that were
// called, or none. Settings are chosen together, since the discovery tools are paid for once.
import {
  choicesOf,
  choose,
  cost,
  DEFERRED,
  settingOf,
  type AdvisedServer,
  type Choices,
  type ServerSetting,
  type Shadow,
} from './catalog-choice.ts';
import { evidenceOf, type ServerEvidence } from './catalog-evidence.ts';
import {
  definitionTokensOf,
  shadowCatalogs,
  type ShadowBasis,
  type ShadowCost,
  type ShadowSetting,
  type ShadowSettings,
  type ShadowTurn,
} from './catalog-shadow.ts';

/** A setting, and what the server would have taken with it, the other servers being set as recommended. */
export interface SettingCost extends ServerSetting {
  /** Tokens of its definitions in each request. */
  readonly definitionTokens: number;
  /** Over all the turns: what they take more than they would without this server. */
  readonly tokens: number;
  /** Model calls for discovery alone, over all the turns. */
  readonly roundTrips: number;
}

/** Why a setting is the cheapest. */
export type AdviceReason =
  /** Its definitions take no more than the discovery tools do. */
  | 'small'
  /** Its tools are called so often that finding them takes more than sending them. */
  | 'often'
  /** A part of its tools is called. */
  | 'part'
  /** Its tools are called so seldom that finding them takes less than sending them. */
  | 'seldom'
  /** None of its tools was called. */
  | 'unused';

/** What is recommended for a server. */
export interface Recommendation extends SettingCost {
  readonly reason: AdviceReason;
  /** Tokens over all the turns, against `now`; never below 0. */
  readonly saves: number;
}

/** The advice for one server. */
export interface ServerAdvice {
  readonly server: string;
  readonly toolCount: number;
  /** Of all its tools. */
  readonly definitionTokens: number;
  readonly evidence: ServerEvidence;
  /** As it is set now; null without evidence. */
  readonly now: SettingCost | null;
  /** `preloaded`, `selective` where some but not all of its tools were called, `deferred`; empty without evidence. */
  readonly settings: readonly SettingCost[];
  /** Null without evidence. */
  readonly recommended: Recommendation | null;
}

/** A turn, and how often it had to find tools: steps with tools that were found, and model calls for discovery alone. */
export interface AdvisedTurn extends ShadowTurn {
  readonly finds: number;
  readonly trips: number;
}

/** What an agent's recorded turns say. */
export interface AdviceInput extends Omit<ShadowBasis, 'tripsPerFind'> {
  /** Those whose tools are known. */
  readonly servers: readonly AdvisedServer[];
  readonly turns: readonly AdvisedTurn[];
}

/** The advice for an agent. */
export interface Advice {
  readonly turns: number;
  /** Model calls, discovery left out. */
  readonly requests: number;
  /** As these turns had it, once there are enough; else 1. */
  readonly tripsPerFind: number;
  /** What all turns take, with every server set in this way. */
  readonly totals: {
    readonly now: ShadowCost;
    readonly preloaded: ShadowCost;
    readonly deferred: ShadowCost;
    readonly recommended: ShadowCost;
  };
  /** Sorted by name. */
  readonly servers: readonly ServerAdvice[];
}

/** Fewer finds say nothing about how many model calls one takes. */
const ENOUGH_FINDS = 5;
/**
 * Advises on an agent's servers. For each server `recommended` is the cheapest of its `settings` and `now`, in tokens, then
 * in round trips; all of them together cost no more than now, or than all preloaded or all deferred. The order of servers and of
 * turns does not matter.
 */
export function adviseOn(input: AdviceInput): Advice {
  const servers = [...input.servers].sort((a, b) => (a.server < b.server ? -1 : 1));
  const { builtInTokens, discoveryTokens, turns } = input;
  const basis = { builtInTokens, discoveryTokens, tripsPerFind: tripsPerFindOf(turns) };
  const shadow: Shadow = { turns, basis, catalogs: shadowCatalogs(servers) };
  const choices = servers.map((server): Choices => ({ ...server, choices: choicesOf(server, shadow) }));
  const picked = choose(choices, shadow);
  const chosen = new Map(servers.map(({ server }, index) => [server, settingOf(picked[index] ?? DEFERRED)] as const));
  const costOf = (settings: ShadowSettings): ShadowCost => cost(settings, shadow);
  return {
    turns: turns.length,
    requests: turns.reduce((sum, turn) => sum + turn.requests.length, 0),
    tripsPerFind: basis.tripsPerFind,
    totals: {
      now: costOf(uniform(servers, ({ now }) => settingOf(now))),
      preloaded: costOf(uniform(servers, () => 'all')),
      deferred: costOf(uniform(servers, () => settingOf(DEFERRED))),
      recommended: costOf(chosen),
    },
    servers: choices.map((server, index) => advice(server, picked[index] ?? DEFERRED, chosen, shadow)),
  };
}

function tripsPerFindOf(turns: readonly AdvisedTurn[]): number {
  const finds = turns.reduce((sum, turn) => sum + turn.finds, 0);
  const trips = turns.reduce((sum, turn) => sum + turn.trips, 0);
  return finds < ENOUGH_FINDS ? 1 : Math.max(1, trips / finds);
}

function uniform(
  servers: readonly AdvisedServer[],
  setting: (server: AdvisedServer) => ShadowSetting,
): Map<string, ShadowSetting> {
  return new Map(servers.map((server) => [server.server, setting(server)]));
}

function advice(server: Choices, picked: ServerSetting, chosen: ShadowSettings, shadow: Shadow): ServerAdvice {
  const tools = shadow.catalogs.get(server.server) ?? new Map();
  const evidence = evidenceOf(server.server, shadow.turns);
  const known = {
    server: server.server,
    toolCount: tools.size,
    definitionTokens: definitionTokensOf(tools, 'all'),
    evidence,
  };
  if (evidence.turns === 0) return { ...known, now: null, settings: [], recommended: null };
  const without = cost(new Map(chosen).set(server.server, null), shadow);
  const costed = (setting: ServerSetting): SettingCost => {
    const whole = cost(new Map(chosen).set(server.server, settingOf(setting)), shadow);
    return {
      ...setting,
      definitionTokens: definitionTokensOf(tools, settingOf(setting)),
      tokens: whole.tokens - without.tokens,
      roundTrips: whole.roundTrips - without.roundTrips,
    };
  };
  const now = costed(server.now);
  const settings = server.choices.filter((choice) => choice !== server.now).map(costed);
  const best = costed(picked);
  const reason = reasonOf(best, known, shadow.basis);
  return { ...known, now, settings, recommended: { ...best, reason, saves: now.tokens - best.tokens } };
}

function reasonOf(
  { mode }: SettingCost,
  { definitionTokens, evidence }: Pick<ServerAdvice, 'definitionTokens' | 'evidence'>,
  { discoveryTokens }: ShadowBasis,
): AdviceReason {
  if (mode === 'selective') return 'part';
  if (mode === 'preloaded') return definitionTokens <= discoveryTokens ? 'small' : 'often';
  return evidence.calls === 0 ? 'unused' : 'seldom';
}
