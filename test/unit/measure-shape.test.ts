// Shapes: outlines of JSON and where it breaks, tables, lines.
import { describe, expect, test } from 'vitest';
import { shapeOfText } from '../../activities/measure/shape.ts';
import { readMediaType } from '../../activities/measure/media-type.ts';
import type { Shape } from '../../shared/facts.ts';

function shapeOf(text: string, mediaType?: string, isWhole = true): Shape {
  return shapeOfText({ bytes: new TextEncoder().encode(text), isWhole, given: readMediaType(mediaType) });
}

describe('outlines of JSON', () => {
  test.each([
    ['{}', 'object(0 keys)'],
    ['[]', 'array(0)'],
    [
      '{"a": 1, "b c": [true, false], "d": {"e": null}}',
      'object{a: number, "b c": array(2) of boolean, d: object{e: null}}',
    ],
    ['[{"id": 1, "tags": ["x"]}, {"id": 2}]', 'array(2) of object{id: number, tags: array(1) of string}'],
    ['[1, "a", null]', 'array(3) of null | number | string'],
    ['{"a": {"b": {"c": {"d": 1}}}}', 'object{a: object{b: object{c: object(1 key)}}}'],
    ['{"a": [], "b": [[1, 2], [3]]}', 'object{a: array(0), b: array(2) of array(2) of number}'],
    ['\ufeff{"a": 1}', 'object{a: number}'],
  ])('%s', (text, outline) => {
    expect(shapeOf(text)).toEqual({ kind: 'json', outline });
  });

  test('a scalar is JSON only where the media type says so', () => {
    expect(shapeOf('123', 'application/json')).toEqual({ kind: 'json', outline: 'number' });
    expect(shapeOf('123')).toMatchObject({ kind: 'text' });
  });

  test('an object of 1,000 keys names a dozen and counts all', () => {
    const text = JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i])));
    expect(shapeOf(text)).toMatchObject({
      outline: expect.stringMatching(/^object\(1000 keys\)\{k0: number, .*k11: number, …\}$/) as string,
    });
  });

  test('a beginning is partial, and broken only where it breaks before its end', () => {
    expect(shapeOf('{"a": [1, 2, 3', undefined, false)).toEqual({
      kind: 'json',
      outline: 'object{a: array(3) of number}',
      partial: true,
    });
    expect(shapeOf('{"a": [1, 2,, 3', undefined, false)).toMatchObject({ kind: 'invalid-json', offset: 12 });
  });
});

describe('where JSON breaks', () => {
  test.each([
    ['{"a": [1, 2,]}', 12, 1, 'expected a value but found ]'],
    ['{"a": 1,}', 8, 1, 'expected a key but found }'],
    ['{\n"ä": 1\n"b": 2}', 10, 3, 'expected a comma or } but found "'],
    ['{"a": "x\ny"}', 8, 1, 'a raw control character in a string'],
    ['{"a": "\\x"}', 7, 1, 'an unknown escape in a string'],
    ['{"a": 01}', 7, 1, 'expected a comma or } but found 1'],
    ['{"a": tru}', 9, 1, 'expected true but found }'],
    ['{"a": 1} x', 9, 1, 'more text after the end of the value'],
    ['{"a": "xyz', 10, 1, 'ends within a string'],
    ['[1, 2', 5, 1, 'ends where a comma or ] should be'],
    ['{"a": 1}\n{"a": }\n', 15, 2, 'expected a value but found } (JSON lines)'],
  ])('%j breaks at byte %d, line %d', (text, offset, line, problem) => {
    expect(shapeOf(text)).toEqual({ kind: 'invalid-json', offset, line, problem });
  });

  test('nesting a million deep neither overflows nor takes for ever', () => {
    expect(shapeOf('['.repeat(1_000_000))).toMatchObject({ kind: 'invalid-json', offset: 1_000_000 });
    expect(shapeOf(`${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`)).toMatchObject({ kind: 'json' });
  });
});

describe('rows and lines', () => {
  test('JSON lines are counted, blank lines and a cut last row are not', () => {
    expect(shapeOf('{"a": 1}\n\n{"a": 2}\n')).toEqual({ kind: 'json-lines', rows: 2, outline: 'object{a: number}' });
    expect(shapeOf('{"a": 1}\n{"a": 2}\n{"a"', undefined, false)).toMatchObject({
      kind: 'json-lines',
      rows: 2,
      partial: true,
    });
  });

  test('a table keeps quoted separators, marks and line breaks within its fields', () => {
    const text = 'id,"full, name",note\r\n1,"a ""b""","two\nlines"\r\n2,c,d\r\n';
    expect(shapeOf(text)).toEqual({ kind: 'csv', header: ['id', 'full, name', 'note'], columns: 3, rows: 2 });
    expect(shapeOf('a\tb\n1\t2\n3\t4')).toEqual({ kind: 'csv', header: ['a', 'b'], columns: 2, rows: 2 });
    expect(shapeOf('a,b\n1,2', 'text/csv')).toEqual({ kind: 'csv', header: ['a', 'b'], columns: 2, rows: 1 });
  });

  test('prose with commas is no table', () => {
    expect(shapeOf('Well, this is a letter.\nIt has, as they do, commas.\nBye.\n')).toMatchObject({
      kind: 'text',
      lines: 3,
    });
  });

  test('a wide header stays bounded', () => {
    const header = Array.from({ length: 500 }, (_, i) => `a column with a long name ${i}`).join(',');
    const shape = shapeOf(`${header}\n${header}\n`);
    expect(shape).toMatchObject({ kind: 'csv', columns: 500, rows: 1 });
    expect(JSON.stringify(shape).length).toBeLessThan(600);
  });

  test('lines are counted with and without a final line break, in characters', () => {
    expect(shapeOf('äö\r\nabc\n')).toEqual({ kind: 'text', lines: 2, longestLine: 3 });
    expect(shapeOf('äöü\nab')).toEqual({ kind: 'text', lines: 2, longestLine: 3 });
    expect(shapeOf('x'.repeat(300_000))).toEqual({ kind: 'text', lines: 1, longestLine: 300_000 });
    expect(shapeOf('')).toEqual({ kind: 'empty' });
  });
});
