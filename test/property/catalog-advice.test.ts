// The advice on a catalog, whatever turns were recorded: never dearer than its own figures for anything else, and the same
// whatever the order.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { adviseOn, type AdviceInput } from '../../shared/catalog-advice.ts';
import { definitionTokensOf, shadowCatalogs, shadowCost, type ShadowSetting } from '../../shared/catalog-shadow.ts';

const SERVERS = ['a', 'b', 'c'];
const TOOLS = ['t0', 't1', 't2', 't3'];

const tokens = fc.oneof(fc.nat(40), fc.nat(5_000));
const server = (name: string) =>
  fc.record({
    server: fc.constant(name),
    tools: fc.uniqueArray(
      fc.record({ tool: fc.constantFrom(...TOOLS), definitionTokens: tokens, findTokens: fc.nat(600) }),
      { selector: ({ tool }) => tool, maxLength: 4 },
    ),
    now: fc.oneof(
      fc.constant({ mode: 'preloaded' as const, preloadTools: [] }),
      fc.constant({ mode: 'deferred' as const, preloadTools: [] }),
      fc
        .uniqueArray(fc.constantFrom(...TOOLS), { minLength: 1 })
        .map((names) => ({ mode: 'selective' as const, preloadTools: names.toSorted() })),
    ),
  });
const turn = fc.record({
  servers: fc.subarray(SERVERS),
  requests: fc.array(
    fc.record({
      contextTokens: fc.nat(8_000),
      calls: fc.array(fc.record({ server: fc.constantFrom(...SERVERS), tool: fc.constantFrom(...TOOLS, 'gone') }), {
        maxLength: 3,
      }),
    }),
    { maxLength: 5 },
  ),
  finds: fc.nat(4),
  trips: fc.nat(9),
});
const input: fc.Arbitrary<AdviceInput> = fc.record({
  builtInTokens: fc.nat(1_000),
  discoveryTokens: fc.nat(800),
  servers: fc.tuple(...SERVERS.map(server)).chain((all) => fc.subarray(all)),
  turns: fc.array(turn, { maxLength: 6 }),
});

describe('the advice on catalogs', () => {
  it('[DISC-41] never recommends what its own figures say is dearer', () => {
    fc.assert(
      fc.property(input, (given) => {
        const { servers, totals } = adviseOn(given);
        const advised = servers.flatMap(({ recommended, settings, now }) =>
          recommended && now ? [{ recommended, now, others: [...settings, now] }] : [],
        );
        expect(advised).toHaveLength(servers.filter(({ evidence }) => evidence.turns > 0).length);
        for (const { recommended, now, others } of advised) {
          const cheaper = others.filter(
            ({ tokens: cost, roundTrips }) =>
              cost < recommended.tokens || (cost === recommended.tokens && roundTrips < recommended.roundTrips),
          );
          expect(cheaper).toEqual([]);
          expect(recommended.saves).toBe(now.tokens - recommended.tokens);
        }
        for (const other of [totals.now, totals.preloaded, totals.deferred]) {
          expect(totals.recommended.tokens).toBeLessThanOrEqual(other.tokens);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('[DISC-41] is the same whatever the order of turns and servers', () => {
    const shuffled = input.chain((given) =>
      fc.tuple(
        fc.constant(given),
        fc.shuffledSubarray([...given.turns], { minLength: given.turns.length }),
        fc.shuffledSubarray([...given.servers], { minLength: given.servers.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([given, turns, servers]) => {
        expect(adviseOn({ ...given, turns, servers })).toEqual(adviseOn(given));
      }),
    );
  });

  it('[DISC-41] recommends what costs least of all settings there are, for one server alone', () => {
    fc.assert(
      fc.property(server('a'), fc.array(turn, { maxLength: 5 }), fc.nat(800), (one, turns, discoveryTokens) => {
        const given = { builtInTokens: 100, discoveryTokens, servers: [one], turns };
        const { totals } = adviseOn(given);
        const basis = { builtInTokens: 100, discoveryTokens, tripsPerFind: adviseOn(given).tripsPerFind };
        const used = one.tools.map(({ tool }) => tool).filter((tool) => isCalled(tool, turns));
        const settings: ShadowSetting[] = [
          'all',
          new Set(),
          ...(used.length > 0 && used.length < one.tools.length ? [new Set(used)] : []),
        ];
        for (const setting of settings) {
          const { tokens: other } = shadowCost(turns, shadowCatalogs([one]), new Map([['a', setting]]), basis);
          expect(totals.recommended.tokens).toBeLessThanOrEqual(other);
        }
      }),
    );
  });

  it('[DISC-41] has the definitions of preloaded tools in every request, and no round trips for them', () => {
    fc.assert(
      fc.property(input, ({ servers, turns, builtInTokens, discoveryTokens }) => {
        const catalogs = shadowCatalogs(servers);
        const all = new Map(servers.map((one) => [one.server, 'all' as const]));
        const cost = shadowCost(turns, catalogs, all, { builtInTokens, discoveryTokens, tripsPerFind: 3 });
        const expected = turns.flatMap(({ requests, servers: names }) =>
          requests.map(({ contextTokens }) =>
            names.reduce(
              (sum, name) => sum + definitionTokensOf(catalogs.get(name) ?? new Map(), 'all'),
              contextTokens + builtInTokens,
            ),
          ),
        );
        expect(cost).toEqual({ tokens: expected.reduce((sum, one) => sum + one, 0), roundTrips: 0 });
      }),
    );
  });
});

function isCalled(tool: string, turns: AdviceInput['turns']): boolean {
  return turns.some(
    ({ servers, requests }) =>
      servers.includes('a') &&
      requests.some(({ calls }) => calls.some((call) => call.server === 'a' && call.tool === tool)),
  );
}
