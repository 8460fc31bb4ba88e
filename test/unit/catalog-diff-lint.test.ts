// What has changed between two catalogs, and what makes one hard to use.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { diffCatalogs } from '../../shared/catalog-diff.ts';
import { lintCatalog } from '../../shared/catalog-lint.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { catalogTool, objectSchema } from '../support/catalogs.ts';

const text = { type: 'string' };

describe('the difference of two catalogs', () => {
  const before = [
    catalogTool('keep', { inputSchema: objectSchema({ a: text, b: text }) }),
    catalogTool('go'),
    catalogTool('change', {
      description: 'Old.',
      inputSchema: objectSchema({ a: text, 'x/y': { type: 'number', minimum: 1 } }, ['a']),
      annotations: { readOnlyHint: true },
    }),
  ];
  const after = [
    catalogTool('come', { server: 'other' }),
    catalogTool('change', {
      description: 'New.',
      inputSchema: objectSchema({ b: text, 'x/y': { type: 'string', minimum: 1 } }, ['b']),
      tags: ['@write'],
      effect: 'write',
    }),
    catalogTool('keep', { inputSchema: objectSchema({ b: text, a: text }) }),
  ];

  it('[DISC-9] names tools added, removed and changed, and each place that differs', () => {
    expect(diffCatalogs(before, after)).toEqual({
      added: [{ server: 'other', tool: 'come' }],
      removed: [{ server: 'shop', tool: 'go' }],
      changed: [
        {
          server: 'shop',
          tool: 'change',
          parts: ['description', 'inputSchema', 'annotations', 'tags', 'effect'],
          places: [
            { part: 'description', pointer: '', change: 'changed' },
            { part: 'inputSchema', pointer: '/properties/a', change: 'removed' },
            { part: 'inputSchema', pointer: '/properties/b', change: 'added' },
            { part: 'inputSchema', pointer: '/properties/x~1y/type', change: 'changed' },
            { part: 'inputSchema', pointer: '/required', change: 'changed' },
            { part: 'annotations', pointer: '', change: 'removed' },
            { part: 'tags', pointer: '', change: 'changed' },
            { part: 'effect', pointer: '', change: 'changed' },
          ],
          placeCount: 8,
        },
      ],
      unchanged: 1,
    });
  });

  it('[DISC-9] shows 50 places of a tool, and counts them all', () => {
    const wide = (type: string): CatalogTool =>
      catalogTool('t', {
        inputSchema: objectSchema(Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`p${n}`, { type }]))),
      });
    const [change] = diffCatalogs([wide('string')], [wide('number')]).changed;
    expect([change?.places.length, change?.placeCount]).toEqual([50, 80]);
  });

  it('[DISC-9] is empty between equal catalogs in any order, and turns round with them', () => {
    const tool = fc
      .record({
        server: fc.constantFrom('a', 'b'),
        name: fc.constantFrom('x', 'y', 'z'),
        schema: fc.dictionary(fc.string(), fc.jsonValue()),
      })
      .map(({ server, name, schema }) =>
        catalogTool(name, { server, inputSchema: schema as CatalogTool['inputSchema'] }),
      );
    const tools = fc.uniqueArray(tool, { selector: ({ exposedName }) => exposedName });
    fc.assert(
      fc.property(tools, tools, (one, two) => {
        const same = diffCatalogs(one, structuredClone(one).toReversed());
        expect(same).toEqual({ added: [], removed: [], changed: [], unchanged: one.length });
        const [there, back] = [diffCatalogs(one, two), diffCatalogs(two, one)];
        expect([there.added, there.removed, there.unchanged]).toEqual([back.removed, back.added, back.unchanged]);
        expect(there.changed.map(({ tool }) => tool)).toEqual(back.changed.map(({ tool }) => tool));
        expect(there.added.length + there.changed.length + there.unchanged).toBe(two.length);
      }),
    );
  });
});

describe('the lint of a catalog', () => {
  const good = {
    description: 'Shows which parcels a carrier has lost this week.',
    annotations: { readOnlyHint: true },
  };

  function found(...tools: readonly CatalogTool[]): readonly (readonly string[])[] {
    return lintCatalog(tools).map(({ rule, tools }) => [rule, ...tools.map(({ tool }) => tool)]);
  }

  it('[DISC-10] finds nothing in good descriptions of different tools', () => {
    const other = {
      description: 'Creates an invoice from a list of items.',
      annotations: { readOnlyHint: false, destructiveHint: false },
    };
    expect(
      found(
        catalogTool('lost_parcels', good),
        catalogTool('create_invoice', { ...other, tags: ['@write'], effect: 'write' }),
      ),
    ).toEqual([]);
  });

  it.each(['', 'List users', 'Lists the user.', 'users'])(
    '[DISC-10] finds that %j says too little of list_users',
    (description) => {
      expect(found(catalogTool('list_users', { ...good, description }))).toEqual([['says-too-little', 'list_users']]);
    },
  );

  it('[DISC-10] finds descriptions too much alike to tell apart, of one server, as one group', () => {
    const words =
      'Shows which of the parcels that a carrier took over last month went missing on their way to our customers';
    const twins = [
      catalogTool('one', { ...good, description: `${words}.` }),
      catalogTool('two', { ...good, description: `${words} abroad.` }),
      catalogTool('three', { ...good, description: `${words}!` }),
      catalogTool('four', { ...good, server: 'other', description: words }),
    ];
    expect(found(...twins)).toEqual([['says-the-same', 'one', 'three', 'two']]);
  });

  it('[DISC-10] finds every pair of nearly equal descriptions that comparing all would find', () => {
    const description = fc.array(fc.constantFrom(...Array.from('abcdefghijklmnopqrstuvwxyz')), {
      minLength: 10,
      maxLength: 24,
    });
    fc.assert(
      fc.property(fc.array(description, { minLength: 2, maxLength: 8 }), fc.nat(23), (lists, drop) => {
        const all = [...lists, (lists[0] ?? []).toSpliced(drop, 1)].map((words) =>
          words.filter((word) => !['a', 'i'].includes(word)),
        );
        const tools = all.map((words, n) => catalogTool(`tool${n}`, { ...good, description: words.join(' ') }));
        const grouped = found(...tools).filter(([rule]) => rule === 'says-the-same');
        for (const [a, one] of all.entries()) {
          for (const [b, two] of all.entries()) {
            const [left, right] = [new Set(one), new Set(two)];
            const shared = [...left].filter((word) => right.has(word)).length;
            const alike = shared / (left.size + right.size - shared);
            if (a === b || alike < 0.9 || left.size < 3 || right.size < 3) continue;
            expect(grouped.some((group) => group.includes(`tool${a}`) && group.includes(`tool${b}`))).toBe(true);
          }
        }
      }),
    );
  });

  it('[DISC-10] finds tools without annotations, by server, and those whose annotations contradict', () => {
    const { annotations: _, ...plain } = good;
    const write = { ...plain, tags: ['@write'], effect: 'write' } as const;
    const torn = { ...good, tags: ['@read-only', '@destructive'] } as const;
    expect(found(catalogTool('lose', write))).toEqual([['no-annotations', 'lose']]);
    expect(found(catalogTool('lose', { ...write, annotations: { title: 'Lose' } }))).toEqual([
      ['no-annotations', 'lose'],
    ]);
    expect(found(catalogTool('lose', { ...write, annotations: { destructiveHint: false } }))).toEqual([]);
    expect(found(catalogTool('lose', torn))).toEqual([['contradictory-annotations', 'lose']]);
  });

  it('[DISC-10] finds huge definitions, with their size', () => {
    const properties = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`p${n}`, text]));
    const [finding] = lintCatalog([catalogTool('lost', { ...good, inputSchema: objectSchema(properties) })]);
    expect(finding?.rule).toBe('huge-definition');
    expect(finding?.message).toMatch(/^has a definition of 10,\d{3} characters/);
  });

  it('[DISC-10] finds names that collide, and names that providers do not take', () => {
    const other = 'Counts the stars that were visible from the southern hemisphere.';
    const twins = [catalogTool('getParcel', good), catalogTool('get_parcel', { ...good, description: other })];
    expect(found(...twins)).toEqual([['same-name', 'getParcel', 'get_parcel']]);
    const servers = [catalogTool('lost', good), catalogTool('lost', { ...good, server: 'web' })];
    expect(found(...servers)).toEqual([['same-name', 'lost', 'lost']]);
    expect(found(catalogTool('lost parcels', good))).toEqual([['name-not-exposed', 'lost parcels']]);
  });
});
