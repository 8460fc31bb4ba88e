// What the advice says of agents as they are: one large catalog, a small one, tools that are always the same, and none at all.
import { describe, expect, it } from 'vitest';
import { adviseOn, type AdvisedTurn } from '../../shared/catalog-advice.ts';
import type { AdvisedServer } from '../../shared/catalog-choice.ts';
import { shadowCatalogs, shadowCost } from '../../shared/catalog-shadow.ts';

const BASIS = { builtInTokens: 900, discoveryTokens: 350 };
const DEFERRED = { mode: 'deferred', preloadTools: [] } as const;
const PRELOADED = { mode: 'preloaded', preloadTools: [] } as const;

function server(
  name: string,
  count: number,
  definitionTokens: number,
  now: AdvisedServer['now'] = DEFERRED,
): AdvisedServer {
  const tools = Array.from({ length: count }, (_, index) => ({ tool: `t${index}`, definitionTokens, findTokens: 400 }));
  return { server: name, tools, now };
}

/** A turn of so many requests with a context of 1,000 tokens; the calls are those of the first. */
function turn(
  servers: readonly string[],
  requests: number,
  ...calls: readonly (readonly [string, string])[]
): AdvisedTurn {
  return {
    servers,
    requests: Array.from({ length: requests }, (_, index) => ({
      contextTokens: 1_000,
      calls: index === 0 ? calls.map(([name, tool]) => ({ server: name, tool })) : [],
    })),
    finds: 0,
    trips: 0,
  };
}

describe('what turns would have cost', () => {
  it('[DISC-41] adds a model call before the first call of a tool that is to be found, and its answer to all later ones', () => {
    const catalogs = shadowCatalogs([server('s', 3, 100)]);
    const turns = [turn(['s'], 3, ['s', 't0'], ['s', 't0'])];
    const of = (setting: 'all' | ReadonlySet<string>) =>
      shadowCost(turns, catalogs, new Map([['s', setting]]), { ...BASIS, tripsPerFind: 1 });
    expect(of('all')).toEqual({ tokens: 3 * (900 + 300 + 1_000), roundTrips: 0 });
    // One search before the first request, whose answer of 400 tokens stays.
    expect(of(new Set())).toEqual({ tokens: 900 + 350 + 1_000 + 3 * (900 + 350 + 1_000 + 400), roundTrips: 1 });
    expect(of(new Set(['t0']))).toEqual({ tokens: 3 * (900 + 350 + 100 + 1_000), roundTrips: 0 });
  });

  it('[DISC-41] has one model call for all that a step needs, of whatever server', () => {
    const catalogs = shadowCatalogs([server('a', 2, 100), server('b', 2, 100)]);
    const none = new Map([
      ['a', new Set<string>()],
      ['b', new Set<string>()],
    ]);
    const turns = [turn(['a', 'b'], 1, ['a', 't0'], ['b', 't1'])];
    expect(shadowCost(turns, catalogs, none, { ...BASIS, tripsPerFind: 1 }).roundTrips).toBe(1);
    expect(shadowCost(turns, catalogs, none, { ...BASIS, tripsPerFind: 2.5 }).roundTrips).toBe(3);
  });
});

describe('the advice', () => {
  const often = Array.from({ length: 10 }, () => turn(['s'], 4, ['s', 't1'], ['s', 't2']));

  it('[DISC-41] preloads of a large catalog the tools that are always called', () => {
    const { servers, totals } = adviseOn({ ...BASIS, servers: [server('s', 174, 150)], turns: often });
    expect(servers[0]?.recommended).toMatchObject({
      mode: 'selective',
      preloadTools: ['t1', 't2'],
      reason: 'part',
      roundTrips: 0,
      definitionTokens: 300,
    });
    expect(totals.recommended.tokens).toBeLessThan(totals.now.tokens);
    expect(servers[0]?.evidence).toEqual({
      turns: 10,
      turnsWithCalls: 10,
      requests: 40,
      calls: 20,
      tools: [
        { tool: 't1', turns: 10, calls: 10 },
        { tool: 't2', turns: 10, calls: 10 },
      ],
    });
  });

  it('[DISC-41] leaves a tool out of them that is called once in many turns', () => {
    const turns = [...often, turn(['s'], 4, ['s', 't9'])];
    const { servers } = adviseOn({ ...BASIS, servers: [server('s', 174, 150)], turns });
    expect(servers[0]?.recommended?.preloadTools).toEqual(['t1', 't2']);
    expect(servers[0]?.recommended?.roundTrips).toBe(1);
  });

  it('[DISC-41] defers a large catalog that is hardly called, and one that never is', () => {
    const turns = [turn(['s'], 4, ['s', 't1']), ...Array.from({ length: 30 }, () => turn(['s'], 4))];
    const large = server('s', 174, 900, PRELOADED);
    expect(adviseOn({ ...BASIS, servers: [large], turns }).servers[0]?.recommended).toMatchObject({
      mode: 'deferred',
      reason: 'seldom',
      roundTrips: 1,
    });
    expect(adviseOn({ ...BASIS, servers: [large], turns: turns.slice(1) }).servers[0]?.recommended).toMatchObject({
      mode: 'deferred',
      reason: 'unused',
    });
  });

  it('[DISC-41] leaves a small catalog preloaded, and says that it is small', () => {
    const { servers } = adviseOn({ ...BASIS, servers: [server('s', 4, 60)], turns: often });
    expect(servers[0]?.recommended).toMatchObject({ mode: 'preloaded', reason: 'small', roundTrips: 0 });
    expect(servers[0]?.recommended?.saves).toBeGreaterThan(0);
  });

  it('[DISC-41] pays for the discovery tools once: a small catalog beside a large one may be deferred with it', () => {
    const turns = Array.from({ length: 10 }, () => turn(['large', 'small'], 4));
    const both = [server('large', 174, 150), server('small', 4, 60)];
    const modes = adviseOn({ ...BASIS, servers: both, turns }).servers.map(({ recommended }) => recommended?.mode);
    expect(modes).toEqual(['deferred', 'deferred']);
  });

  it('[DISC-41] keeps a choice of tools that is cheaper than all it would have thought of', () => {
    const seldom = [...often, ...Array.from({ length: 60 }, () => turn(['s'], 40))];
    const now = { mode: 'selective', preloadTools: ['t1'] } as const;
    const costly = { ...server('s', 174, 150, now) };
    const { servers } = adviseOn({ ...BASIS, servers: [costly], turns: seldom });
    expect(servers[0]?.recommended?.tokens).toBeLessThanOrEqual(servers[0]?.now?.tokens ?? 0);
  });

  it('[DISC-41] takes as many model calls for a find as these turns had, once there are some', () => {
    const found = often.map((one) => ({ ...one, finds: 1, trips: 3 }));
    expect(adviseOn({ ...BASIS, servers: [server('s', 9, 9)], turns: found }).tripsPerFind).toBe(3);
    expect(adviseOn({ ...BASIS, servers: [server('s', 9, 9)], turns: found.slice(0, 4) }).tripsPerFind).toBe(1);
  });

  it('[DISC-41] recommends nothing without evidence', () => {
    const { servers } = adviseOn({ ...BASIS, servers: [server('s', 9, 900)], turns: [turn(['other'], 3)] });
    expect(servers[0]).toMatchObject({ recommended: null, now: null, settings: [], evidence: { turns: 0, calls: 0 } });
  });
});
