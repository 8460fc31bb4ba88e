// Which settings of an agent's servers there are to choose from, and which of them cost least together.
import type { CatalogMode } from './catalog.ts';
import { evidenceOf } from './catalog-evidence.ts';
import {
  shadowCost,
  type ShadowBasis,
  type ShadowCatalogs,
  type ShadowCost,
  type ShadowServer,
  type ShadowSetting,
  type ShadowSettings,
  type ShadowTurn,
} from './catalog-shadow.ts';

/** A setting as a spec has it. */
export interface ServerSetting {
  readonly mode: CatalogMode;
  /** Of `selective`, sorted; else empty. */
  readonly preloadTools: readonly string[];
}

/** A server with how its spec has it now. */
export interface AdvisedServer extends ShadowServer {
  readonly now: ServerSetting;
}

/** A server with what may be chosen for it. */
export interface Choices extends AdvisedServer {
  /** In order of preference; as it is now comes last, where it is another one. */
  readonly choices: readonly ServerSetting[];
}

/** What choices are compared by. */
export interface Shadow {
  readonly turns: readonly ShadowTurn[];
  readonly basis: ShadowBasis;
  readonly catalogs: ShadowCatalogs;
}

/** In order of preference where costs are equal. */
const MODES: readonly CatalogMode[] = ['preloaded', 'selective', 'deferred'];

/** All tools are to be found. */
export const DEFERRED: ServerSetting = { mode: 'deferred', preloadTools: [] };
const NONE: ReadonlySet<string> = new Set();

/** What all turns take with these settings. */
export function cost(settings: ShadowSettings, { turns, basis, catalogs }: Shadow): ShadowCost {
  return shadowCost(turns, catalogs, settings, basis);
}

/** A setting as the model of costs has it. */
export function settingOf({ mode, preloadTools }: ServerSetting): ShadowSetting {
  if (mode === 'preloaded') return 'all';
  return mode === 'deferred' ? NONE : new Set(preloadTools);
}

/** The settings of a server, in order of preference. */
export function choicesOf(server: AdvisedServer, shadow: Shadow): readonly ServerSetting[] {
  const used = usedTools(server, shadow);
  const all = MODES.flatMap((mode): readonly ServerSetting[] => {
    if (mode !== 'selective') return [{ mode, preloadTools: [] }];
    return used.length > 0 && used.length < server.tools.length ? [{ mode, preloadTools: used }] : [];
  });
  const { now } = server;
  return all.some((one) => isSame(one, now)) ? all : [...all, now];
}

/** The tools that were called, sorted; those left out again that it is cheaper to find. */
function usedTools({ server, tools }: AdvisedServer, shadow: Shadow): readonly string[] {
  const known = new Set(tools.map(({ tool }) => tool));
  const called = evidenceOf(server, shadow.turns).tools.filter(({ tool }) => known.has(tool));
  const seldomFirst = called.toSorted((a, b) => a.turns - b.turns || (a.tool < b.tool ? -1 : 1));
  const alone = (names: ReadonlySet<string>): ShadowCost => cost(new Map([[server, names]]), shadow);
  let kept = new Set(called.map(({ tool }) => tool));
  let least = alone(kept);
  for (const { tool } of seldomFirst) {
    const without = new Set([...kept].filter((name) => name !== tool));
    const now = alone(without);
    if (without.size > 0 && now.tokens < least.tokens) [kept, least] = [without, now];
  }
  return [...kept].sort();
}

/**
 * From the cheapest uniform setting, better ones server by server until there are none; at equal cost the preferred one. Ends,
 * since each change costs less, or the same and is preferred.
 */
export function choose(servers: readonly Choices[], shadow: Shadow): readonly ServerSetting[] {
  const choices = servers.map((server) => server.choices);
  const starts = [
    ...MODES.map((mode) => choices.map((list) => indexOf(list, (one) => one.mode === mode))),
    servers.map(({ choices: list, now }) => indexOf(list, (one) => isSame(one, now))),
  ];
  const costOf = (picks: readonly number[]): ShadowCost => {
    const settings = servers.map(({ server, choices: list }, index) => {
      return [server, settingOf(list[picks[index] ?? 0] ?? DEFERRED)] as const;
    });
    return cost(new Map(settings), shadow);
  };
  const picks = improved(cheapest(starts, costOf), choices, costOf);
  return choices.map((list, index) => list[picks[index] ?? 0] ?? DEFERRED);
}

type CostOf = (picks: readonly number[]) => ShadowCost;

function cheapest(starts: readonly (readonly number[])[], costOf: CostOf): readonly number[] {
  return starts.reduce((best, picks) => (isLess(costOf(picks), costOf(best)) ? picks : best));
}

function improved(
  start: readonly number[],
  choices: readonly (readonly ServerSetting[])[],
  costOf: CostOf,
): readonly number[] {
  let best = { picks: start, cost: costOf(start) };
  for (let changed = true; changed;) {
    changed = false;
    for (const [index, list] of choices.entries()) {
      for (const choice of list.keys()) {
        const picks = best.picks.with(index, choice);
        const now = costOf(picks);
        const isPreferred = choice < (best.picks[index] ?? 0) && !isLess(best.cost, now);
        if (!isLess(now, best.cost) && !isPreferred) continue;
        best = { picks, cost: now };
        changed = true;
      }
    }
  }
  return best.picks;
}

/** The last resort is to find all tools. */
function indexOf(list: readonly ServerSetting[], is: (setting: ServerSetting) => boolean): number {
  const index = list.findIndex(is);
  return index >= 0 ? index : list.findIndex(({ mode }) => mode === 'deferred');
}

function isSame(a: ServerSetting, b: ServerSetting): boolean {
  return a.mode === b.mode && a.preloadTools.join('\n') === b.preloadTools.join('\n');
}

function isLess(a: ShadowCost, b: ShadowCost): boolean {
  return a.tokens < b.tokens || (a.tokens === b.tokens && a.roundTrips < b.roundTrips);
}
