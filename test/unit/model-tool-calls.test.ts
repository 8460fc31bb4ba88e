// Arguments and ids as models write them, and arguments against schemas as servers write them.
import { describe, expect, it } from 'vitest';
import { callIdFor, parseArguments, usableCallId, validateArguments } from '../../activities/model/tool-calls.ts';
import type { JsonObject } from '../../shared/json.ts';

describe('parseArguments', () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    ['', {}],
    [' \n ', {}],
    ['```json\n{"a":1}\n```', { a: 1 }],
    ['```\n{"a":"```"}\n```\n', { a: '```' }],
  ])('reads %j', (text, input) => {
    expect(parseArguments(text)).toEqual({ input });
  });

  it.each([
    ['{"path": /etc}', "line 1, column 10 (position 9): Unexpected token '/'"],
    ['{"a":1,}', 'line 1, column 8 (position 7): Expected double-quoted property name'],
    ['{"a":1', 'line 1, column 7 (position 6)'],
    ['{"a":tru', 'line 1, column 9 (position 8): Unexpected end of JSON input'],
    ['{\n "a": 1\n "b": 2}', 'line 3, column 2 (position 11)'],
    ["{'a':1}", 'line 1, column 2 (position 1)'],
    ['```json\n{"a": x}\n```', "line 2, column 7 (position 14): Unexpected token 'x'"],
    ['{"a":1} {"b":2}', 'line 1, column 9 (position 8): Unexpected non-whitespace character after JSON'],
    ['[1]', 'an array, not an object'],
    ['"{\\"a\\":1}"', 'a string, not an object'],
    ['null', 'null, not an object'],
    [`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`, 'nested deeper than 200 levels'],
  ])('refuses %j with its place', (text, problem) => {
    expect(parseArguments(text)).toEqual({ raw: text, problem: expect.stringContaining(problem) });
  });

  it('finds the place in a megabyte at once', () => {
    const text = `{"a":"${'x'.repeat(1_000_000)}","b":oops}`;
    expect(parseArguments(text)).toMatchObject({
      problem: expect.stringContaining(`(position ${text.indexOf('oops')})`),
    });
  });
});

describe('a call id', () => {
  it.each(['call_abc123', 'a', 'toolu_01A:b.c-d', 'x'.repeat(64)])('like %s is usable, once', (id) => {
    expect(usableCallId(id, new Set())).toBe(true);
    expect(usableCallId(id, new Set([id]))).toBe(false);
  });

  it.each(['', ' ', 'x'.repeat(65), 'a b', 'a/b', 'é', 'a\n'])('like %j is not usable', (id) => {
    expect(usableCallId(id, new Set())).toBe(false);
  });

  it('is made from the call key', () => {
    expect(callIdFor('t1/0/2')).toBe('call_t1_0_2');
    expect(usableCallId(callIdFor('t1234567/1023/999'), new Set())).toBe(true);
  });
});

describe('validateArguments', () => {
  const schema = {
    type: 'object',
    properties: { path: { type: 'string' }, depth: { type: 'integer' }, mode: { enum: ['a', 'b'] } },
    required: ['path'],
    additionalProperties: false,
  };

  it('accepts what fits', () => {
    expect(validateArguments(schema, { path: 'x', depth: 2 })).toBeNull();
  });

  it('names every fault with its path', () => {
    const faults = validateArguments(schema, { depth: 'deep', mode: 'c', paht: 'x' });
    expect(faults).toContain("must have required property 'path'");
    expect(faults).toContain('/depth must be integer');
    expect(faults).toContain('/mode must be equal to one of the allowed values (["a","b"])');
    expect(faults).toContain('("paht")');
  });

  it('shows five faults at most, and says how many more there are', () => {
    const numbers = { type: 'object', additionalProperties: { type: 'number' } };
    const input = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`k${index}`, 'x']));
    expect(validateArguments(numbers, input)?.match(/must be number/g)).toHaveLength(5);
    expect(validateArguments(numbers, input)).toContain('and 4 more');
  });

  it('reads both drafts, in the way each has tuples', () => {
    const modern = { properties: { a: { prefixItems: [{ type: 'number' }] } } };
    const draft7 = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      properties: { a: { items: [{ type: 'number' }] } },
    };
    expect(validateArguments(modern, { a: ['x'] })).toContain('/a/0 must be number');
    expect(validateArguments(draft7, { a: ['x'] })).toContain('/a/0 must be number');
    expect(
      validateArguments({ ...modern, $schema: 'https://json-schema.org/draft/2019-09/schema' }, { a: ['x'] }),
    ).toBeNull();
  });

  it('follows references, and knows formats', () => {
    const referring = {
      properties: { a: { $ref: '#/$defs/day' } },
      $defs: { day: { type: 'string', format: 'date' } },
    };
    expect(validateArguments(referring, { a: '2026-11-30' })).toBeNull();
    expect(validateArguments(referring, { a: 'today' })).toContain('/a must match format "date"');
  });

  it('reads a schema without a draft by the one that takes it', () => {
    const old = { properties: { a: { items: [{ type: 'number' }] }, b: { type: 'integer' } } };
    expect(validateArguments(old, { a: [1], b: 2 })).toBeNull();
    expect(validateArguments(old, { a: ['x'], b: 'y' })).toBe('/a/0 must be number; /b must be integer');
  });

  it('accepts everything where references lead in a circle without end', () => {
    const { a, b } = { a: { $ref: '#/$defs/a' }, b: { $ref: '#/$defs/b' } };
    const circle = { properties: { a }, $defs: { a: { anyOf: [{ type: 'string' }, b] }, b: { anyOf: [a] } } };
    expect(validateArguments(circle, { a: 1 })).toBeNull();
    expect(validateArguments({ properties: { a }, $defs: { a: { not: a } } }, { a: 1 })).toBeNull();
  });

  it("gives its verdict at once, whatever Ajv's own keywords say", () => {
    expect(validateArguments({ $async: true, properties: { a: { type: 'string' } } }, { a: 1 })).toBe(
      '/a must be string',
    );
  });

  it('finds equal items among many, whatever the order of their keys, without comparing each with each', () => {
    const unique = { properties: { a: { type: 'array', uniqueItems: true } } };
    const items = Array.from({ length: 20_000 }, (_, index) => ({ index, of: 'many' }));
    const before = performance.now();
    expect(validateArguments(unique, { a: items })).toBeNull();
    expect(validateArguments(unique, { a: [...items, { of: 'many', index: 7 }] })).toBe(
      '/a must NOT have duplicate items',
    );
    expect(performance.now() - before).toBeLessThan(10_000);
    expect(validateArguments(unique, { a: [1, '1', [1], { 1: 1 }, null, 'null', true, 'true'] })).toBeNull();
    expect(validateArguments({ properties: { a: { uniqueItems: false } } }, { a: [1, 1] })).toBeNull();
  });

  it('does not hold up the process with a schema whose alternatives double at each level, and leaves it to the server', () => {
    const next = (level: number): JsonObject => ({ $ref: `#/$defs/a${level}` });
    const levels = Array.from({ length: 30 }, (_, level) => [
      `a${level}`,
      { anyOf: [next(level + 1), next(level + 1)] },
    ]);
    const $defs = { ...(Object.fromEntries(levels) as JsonObject), a30: { type: 'string' } };
    const before = performance.now();
    expect(validateArguments({ properties: { a: next(0) }, $defs }, { a: 1 })).toBeNull();
    expect(validateArguments({ properties: { a: next(0) }, $defs }, { a: 'fits' })).toBeNull();
    expect(performance.now() - before).toBeLessThan(20_000);
  });

  it('tells the first fault of a million', () => {
    const strings = { properties: { a: { type: 'array', items: { type: 'string' } } } };
    const many = Array.from({ length: 3_000_000 }, () => 1);
    expect(validateArguments(strings, { a: many })).toMatch(/^\/a\/0 must be string/);
  });

  it('accepts everything where the schema does not compile', () => {
    expect(validateArguments({ type: 'strng' }, { a: 1 })).toBeNull();
    expect(validateArguments({ properties: { a: { $ref: 'https://example.com/x.json' } } }, { a: 1 })).toBeNull();
  });

  it('keeps two schemas of one $id apart', () => {
    const of = (type: string) => ({ $id: 'https://example.com/same', properties: { a: { type } } });
    expect(validateArguments(of('string'), { a: 1 })).toContain('must be string');
    expect(validateArguments(of('number'), { a: 1 })).toBeNull();
  });

  it('keeps two patterns of one schema apart', () => {
    const two = { properties: { a: { pattern: '^x' }, b: { pattern: '^y' } } };
    expect(validateArguments(two, { a: 'x', b: 'x' })).toBe('/b must match pattern "^y"');
  });

  it('does not change the arguments', () => {
    const input = { path: 'x', extra: 1 };
    validateArguments({ properties: { depth: { default: 3 }, path: { type: 'number' } } }, input);
    expect(input).toEqual({ path: 'x', extra: 1 });
  });

  it('is not held up by a pattern that would take for ever', () => {
    const hostile = { properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    expect(validateArguments(hostile, { a: `${'a'.repeat(5000)}!` })).toContain('must match pattern');
    expect(validateArguments({ properties: { a: { pattern: '^(?=x)y' } } }, { a: 'z' })).toBeNull();
  });
});
