// What holds of the check of specs for every key that there is and every value that is wrong.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseDuration } from '../../shared/duration.ts';
import { checkSpec } from '../../shared/spec-check.ts';
import { formatPath } from '../../shared/spec-fault.ts';
import { parseSpecText } from '../../shared/spec-text.ts';
import { FULL_SPEC } from '../fixtures/full-spec.ts';

type Path = readonly (string | number)[];

interface Place {
  readonly path: Path;
  readonly value: unknown;
}

/** What is passed on as it is, whatever stands in it. */
const FREE = ['model.params.seed', 'response_format.json_schema.schema.', 'config.sandbox.network_policy.'];

function placesIn(value: unknown, path: Path = []): readonly Place[] {
  const here = path.length === 0 ? [] : [{ path, value }];
  if (typeof value !== 'object' || value === null) return here;
  const members = Array.isArray(value) ? value.map((item: unknown, i) => [i, item] as const) : Object.entries(value);
  return [...here, ...members.flatMap(([key, member]) => placesIn(member, [...path, key]))];
}

function withValue(path: Path, value: unknown): unknown {
  const copy: unknown = structuredClone(FULL_SPEC);
  const holder = path.slice(0, -1).reduce<unknown>((at, key) => (at as Record<string | number, unknown>)[key], copy);
  (holder as Record<string | number, unknown>)[path.at(-1) ?? ''] = value;
  return copy;
}

function isFree(path: Path): boolean {
  return FREE.some(
    (free) =>
      `${formatPath(path)}.`.startsWith(free.endsWith('.') ? free : `${free}.`) &&
      formatPath(path) !== free.slice(0, -1),
  );
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value;
}

const WRONG: readonly unknown[] = [null, 'true', '', '  ', 5, -1, 1.5, true, [], {}, [null], { x: 1 }];
const places = placesIn(FULL_SPEC).filter(({ path }) => !isFree(path));

describe('checkSpec', () => {
  test('a value of another type is refused at its own path, for every key there is', () => {
    for (const { path, value } of places) {
      for (const wrong of WRONG.filter((each) => kindOf(each) !== kindOf(value))) {
        // A message's content has two forms: the other one is right too, or wrong inside.
        if (path.at(-1) === 'content' && typeof wrong !== 'number') continue;
        const { faults, spec } = checkSpec(withValue(path, wrong));
        expect(spec, `${formatPath(path)} = ${JSON.stringify(wrong)}`).toBeNull();
        expect(
          faults.map((fault) => fault.path),
          `${formatPath(path)} = ${JSON.stringify(wrong)}`,
        ).toContain(formatPath(path));
      }
    }
  });

  test('a negative number is refused wherever a number stands', () => {
    for (const { path } of places.filter(({ value }) => typeof value === 'number')) {
      expect(checkSpec(withValue(path, -1)).faults.map((fault) => fault.path)).toContain(formatPath(path));
    }
  });

  test('a blank text is refused wherever a text decides something', () => {
    const texts = places.filter(
      ({ path, value }) => typeof value === 'string' && !/^(instructions|.*description)$/.test(formatPath(path)),
    );
    for (const { path } of texts) {
      for (const blank of ['', ' \n ']) {
        expect(checkSpec(withValue(path, blank)).faults.map((fault) => fault.path)).toContain(formatPath(path));
      }
    }
  });

  test('a key misspelt by one letter, or in camelCase, is a fault that names the right one', () => {
    const objects = [{ path: [] as Path, value: FULL_SPEC as unknown }, ...places].filter(
      ({ value }) => kindOf(value) === 'object',
    );
    const keys = objects.flatMap(({ path, value }) => Object.keys(value as object).map((key) => ({ path, key })));
    // Keys of one's own choosing: names of tools and classes, params that are passed on.
    const fixed = keys.filter(
      ({ path }) => !/(tool_settings|classes|params|schema|network_policy)$/.test(formatPath(path)),
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...fixed),
        fc.nat(30),
        fc.constantFrom('drop', 'double', 'camel'),
        (each, at, how) => {
          const misspelt = misspell(each.key, at, how);
          if (keys.some(({ path, key }) => formatPath(path) === formatPath(each.path) && key === misspelt)) return;
          const { faults } = checkSpec(withValue([...each.path, misspelt], true));
          const fault = faults.find(({ path }) => path === formatPath([...each.path, misspelt]));
          expect(fault?.mend).toContain(each.key);
        },
      ),
      { numRuns: 400 },
    );
  });

  test('any JSON value is checked without an exception, and a refusal always says where and how to mend it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(...places), (value, { path }) => {
        for (const spec of [value, withValue(path, value)]) {
          const check = checkSpec(spec);
          expect(check.spec === null).toBe(check.faults.length > 0);
          for (const fault of check.faults) {
            expect(fault.message).toMatch(/[^.\s]$/);
            expect(fault.mend).toMatch(/[.?…]$/);
            expect(fault.message.length + fault.mend.length).toBeLessThan(2000);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test('an accepted spec is plain JSON', () => {
    const { spec } = checkSpec(FULL_SPEC);
    expect(JSON.parse(JSON.stringify(spec))).toStrictEqual(spec);
  });
});

describe('parseSpecText', () => {
  test('any text is a value or one fault, never an exception', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({
        unit: fc.constantFrom(
          'a',
          ':',
          ' ',
          '\n',
          '-',
          '[',
          ']',
          '{',
          '}',
          '&',
          '*',
          '"',
          "'",
          '\t',
          '!',
          '|',
          '%',
          '<',
          '?',
          '1',
        ),
      }),
    );
    fc.assert(
      fc.property(texts, fc.constantFrom('a.json', 'a.yaml', 'a'), (text, fileName) => {
        const read = parseSpecText(text, fileName);
        const told = 'fault' in read ? [read.fault.message, read.fault.mend] : ['a value'];
        expect(told).not.toContain('');
        // The caller names the file; said here too it would be said twice.
        expect('fault' in read && read.fault.message.startsWith(fileName)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  test('what JSON prints is read back the same, as JSON and as YAML', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value);
        // Keys named `<<` merge in YAML, and -0 is 0 in JSON.
        fc.pre(!text.includes('"<<"') && !text.includes('"__proto__"'));
        expect(parseSpecText(text, 'a.json')).toEqual({ value: JSON.parse(text) });
      }),
    );
  });
});

describe('parseDuration', () => {
  test('a number and a unit are milliseconds, and nothing else is', () => {
    const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
    fc.assert(
      fc.property(fc.nat(3650), fc.constantFrom(...Object.entries(units)), (count, [unit, factor]) => {
        expect(parseDuration(`${count}${unit}`)).toBe(count * factor);
      }),
    );
    for (const text of ['', '5', 'h', '-1h', '1 h', '1h30m', '1w', '3651d', '1e3s', '٣s', '1.s', '.5s', 'Infinitys']) {
      expect([text, parseDuration(text)]).toEqual([text, null]);
    }
    expect(parseDuration('1.5h')).toBe(5_400_000);
  });
});

function misspell(key: string, at: number, how: string): string {
  if (how === 'camel') return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const index = at % key.length;
  if (how === 'drop' && key.length > 3) return key.slice(0, index) + key.slice(index + 1);
  return key.slice(0, index) + (key[index] ?? '') + key.slice(index);
}
