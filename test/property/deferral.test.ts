// What holds of calls and tool arrays whatever servers offer, specs say and models write.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { discoveryOffer, sandboxOffer } from '../../activities/catalogs/built-in.ts';
import type { Offer } from '../../activities/catalogs/ask-server.ts';
import { encodeCatalog } from '../../activities/catalogs/encode.ts';
import { catalogOf } from '../../activities/catalogs/exposed.ts';
import { judgeAsked } from '../../activities/judge/judge.ts';
import type { Judged } from '../../activities/judge/judged.ts';
import type { Catalog, CatalogMode } from '../../shared/catalog.ts';
import { canonicalJson } from '../../shared/json.ts';
import { catalogTool } from '../support/catalogs.ts';

const serverNames = ['mail', 'a.b', 'a', 'a__b', 'odd server'];
const toolNames = ['send', 'a', 'b__c', 'odd tool!', 'call_tool', 'search_tools', 'list'];
const modes: readonly CatalogMode[] = ['preloaded', 'selective', 'deferred'];

/** Servers with tools that exist for the agent, and tools that its spec disables. */
const turns = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom(...serverNames),
    mode: fc.constantFrom(...modes),
    enabled: fc.subarray(toolNames),
    isLoaded: fc.boolean(),
    isAway: fc.boolean(),
  }),
  { selector: ({ name }) => name, maxLength: 5 },
);
type Turn = typeof turns extends fc.Arbitrary<infer T> ? T : never;

const anyName = fc.oneof(
  fc.constantFrom(...toolNames, 'sandbox', 'discovery', 'longshore', ...serverNames),
  fc
    .tuple(fc.constantFrom(...serverNames), fc.constantFrom('__', '.'), fc.constantFrom(...toolNames))
    .map((parts) => parts.join('')),
  fc.string(),
);
const anyInput = fc.oneof(fc.json(), fc.constant('{}'), fc.constant(''), fc.string());
const wrapped = fc.record(
  {
    mcp_server: fc.oneof(anyName, fc.jsonValue()),
    tool_name: fc.oneof(anyName, fc.jsonValue()),
    input: fc.oneof(fc.jsonValue(), anyInput),
  },
  { requiredKeys: [] },
);
const anyCall = fc.oneof(
  fc.record({ name: anyName, inputText: anyInput }),
  wrapped.map((given) => ({ name: 'call_tool', inputText: JSON.stringify(given) })),
);

function offersOf(turn: Turn): Offer[] {
  return turn.map(({ name, mode, enabled }) => {
    const shown = mode === 'deferred' ? [] : mode === 'selective' ? enabled.slice(0, 1) : enabled;
    const tools = shown
      .map((tool) => catalogTool(tool, { server: name }))
      .map(({ exposedName: _name, ...tool }) => tool);
    return { server: { name, mode, toolCount: enabled.length, timeoutMs: 1, problems: [] }, tools };
  });
}

function loadedOf(turn: Turn): Catalog[] {
  return turn
    .filter(({ isLoaded }) => isLoaded)
    .map(({ name, enabled, isAway }) => ({
      version: 1,
      servers: [{ name, toolCount: 0, timeoutMs: 1, problems: [], ...(isAway && { unavailable: 'off' }) }],
      tools: isAway ? [] : enabled.map((tool) => catalogTool(tool, { server: name })),
    }));
}

function kindOf({ fault, unresolved, server, tool }: Judged, turn: Turn): 'fault' | 'unresolved' | 'call' | 'wrong' {
  const known = turn.find(({ name }) => name === server);
  if (fault) return 'fault';
  if (unresolved) {
    const isKnown = known?.mode === 'preloaded' || (known?.isLoaded === true && !known.isAway);
    return known && !isKnown ? 'unresolved' : 'wrong';
  }
  const exists = known
    ? known.enabled.includes(tool)
    : ['sandbox', 'discovery'].includes(server) && tool !== 'call_tool';
  return exists ? 'call' : 'wrong';
}

describe('every call', () => {
  test('[LOAD-11] is a tool that the spec enables, or is to be resolved, or is a fault', () => {
    fc.assert(
      fc.property(turns, anyCall, (turn, asked) => {
        const frame = catalogOf([sandboxOffer(), discoveryOffer(), ...offersOf(turn)]);
        const { judged } = judgeAsked(asked, { frame, loaded: loadedOf(turn) });
        expect(kindOf(judged, turn)).not.toBe('wrong');
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('every catalog', () => {
  test('[LOAD-6] is written as its canonical JSON, whatever its size', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `tool_${index}`);
    for (const count of [0, 1, 63, 64, 65, 128, 200]) {
      const tools = names.slice(0, count).map((name) => catalogTool(name, { description: 'Zoë "writes"' }));
      const servers = [{ name: 'shop', toolCount: count, timeoutMs: 1, problems: [] }];
      const catalog: Catalog = { version: 1, servers, tools };
      const { bytes, hash } = await encodeCatalog(catalog);
      expect(Buffer.from(bytes).toString('utf8')).toBe(canonicalJson(catalog));
      const later = { ...catalog, servers: servers.map((server) => ({ ...server, timeoutMs: 2 })) };
      expect((await encodeCatalog(later)).hash).toBe(hash);
      const other = { ...catalog, servers: servers.map((server) => ({ ...server, description: 'Sells.' })) };
      expect((await encodeCatalog(other)).hash).not.toBe(hash);
    }
  });
});

describe('every tool array', () => {
  test('[LOAD-6] is the same bytes in whatever order servers and tools come', () => {
    fc.assert(
      fc.property(
        turns.chain((turn) =>
          fc.tuple(fc.constant(turn), fc.shuffledSubarray(turn, { minLength: turn.length }), fc.boolean()),
        ),
        ([turn, shuffled, isReversed]) => {
          const one = catalogOf([sandboxOffer(), discoveryOffer(), ...offersOf(turn)]);
          const offers = offersOf(shuffled).map((offer) => ({
            ...offer,
            tools: isReversed ? [...offer.tools].reverse() : offer.tools,
          }));
          const other = catalogOf([...offers, discoveryOffer(), sandboxOffer()]);
          expect(canonicalJson(other.tools)).toBe(canonicalJson(one.tools));
          expect(new Set(one.tools.map(({ exposedName }) => exposedName)).size).toBe(one.tools.length);
        },
      ),
    );
  });
});
