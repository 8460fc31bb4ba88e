// What holds of the names of tools towards the model, for all servers and tools.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exposedNameOf, exposeNames } from '../../shared/exposed-names.ts';

// Near to each other, so that joined names meet: `a` and `b__c`, `a__b` and `c`, `a_` and `_b`.
const near = fc.string({ unit: fc.constantFrom('a', 'b', '_', '-', '.', '/', 'ö', '名'), maxLength: 8 });
const name = fc.oneof(
  { weight: 3, arbitrary: near },
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.constant('a'.repeat(200)),
);
const tools = fc.uniqueArray(fc.record({ server: name, tool: name }), {
  maxLength: 40,
  selector: ({ server, tool }) => JSON.stringify([server, tool]),
});

describe('exposeNames', () => {
  test('every name is 1 to 64 of the characters that providers take', () => {
    fc.assert(
      fc.property(tools, (all) => {
        expect(exposeNames(all).filter((each) => !/^[A-Za-z0-9_-]{1,64}$/.test(each))).toEqual([]);
      }),
    );
  });

  test('names are unique, so that each leads back to its server and tool', () => {
    fc.assert(
      fc.property(tools, (all) => {
        const names = exposeNames(all);
        const table = new Map(names.map((each, i) => [each, all[i]] as const));
        expect(table.size).toBe(all.length);
        for (const [i, each] of names.entries()) expect(table.get(each)).toEqual(all[i]);
      }),
    );
  });

  test('a name is the same in whatever order and company its tool stands', () => {
    fc.assert(
      fc.property(tools, tools, (some, others) => {
        const names = new Map(some.map((each, i) => [each, exposeNames(some)[i]] as const));
        const mixed = [...others, ...some.toReversed()];
        const again = exposeNames(mixed);
        const changed = mixed.filter((each, i) => names.has(each) && again[i] !== names.get(each));
        expect(changed).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });

  test('a name that shows server and tool is split at its first double underscore', () => {
    fc.assert(
      fc.property(fc.record({ server: near, tool: near }), (each) => {
        const exposed = exposedNameOf(each);
        const at = exposed.indexOf('__');
        const shown = { server: exposed.slice(0, at), tool: exposed.slice(at + 2) };
        expect(at === -1 ? each : shown).toEqual(each);
      }),
      { numRuns: 500 },
    );
  });
});
