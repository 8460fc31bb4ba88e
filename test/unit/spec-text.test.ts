// Reading spec files: JSON and YAML, and everything that can be wrong with the text itself.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MAX_SPEC_CHARACTERS, parseSpecText } from '../../shared/spec-text.ts';

function messageOf(text: string, fileName: string): string {
  const read = parseSpecText(text, fileName);
  return 'fault' in read ? `${read.fault.message}. ${read.fault.mend}` : `value ${JSON.stringify(read.value)}`;
}

describe('parseSpecText', () => {
  test.each([
    ['a.json', '{"model": {"name": "a/b"}}'],
    ['a.yaml', 'model: {name: a/b}'],
    ['a.yml', 'model:\n  name: a/b\n'],
    ['a.yaml', '{"model": {"name": "a/b"}}'],
    ['agent', '{"model": {"name": "a/b"}}'],
    ['agent', 'model:\n  name: a/b'],
    ['a.yaml', '---\nmodel:\n  name: a/b\n...\n'],
    ['A.JSON', '\uFEFF{"model": {"name": "a/b"}}\r\n'],
  ])('reads %s: %j', (fileName, text) => {
    expect(parseSpecText(text, fileName)).toEqual({ value: { model: { name: 'a/b' } } });
  });

  test('an anchor and a merge key are followed', () => {
    expect(parseSpecText('a: &x {b: 1}\nc: {<<: *x, d: 2}', 'a.yaml')).toEqual({
      value: { a: { b: 1 }, c: { b: 1, d: 2 } },
    });
  });

  test('a YAML file of comments alone is a null spec', () => {
    expect(parseSpecText('# nothing yet\n', 'a.yaml')).toEqual({ value: null });
  });

  test.each([
    ['a.json', '{"a": abc}', /not valid JSON at line 1, column 7: Unexpected token 'a'\./],
    ['a.json', '{"a": 1,\n "b": tru}', /at line 2, column 10/],
    ['a.json', '{"a": 1,\n}', /at line 2, column 1/],
    ['a.json', '{"a": 1', /at line 1, column 8/],
    ['a.json', '{"a": 1,\n "a": 2}', /gives the key "a" twice at line 2, column 2/],
    ['a.json', "{a: 'x'}", /at line 1, column 2/],
    ['a.yaml', 'a: 1\nb:\n  c: 1\n  c: 2', /gives the key c twice at line 4, column 3/],
    ['a.yaml', 'a:\n\tb: 1', /Tabs are not allowed as indentation.*Indent with spaces/],
    ['a.yaml', 'a: 1\n---\nb: 2', /at line 2, column 1: it holds more than one document/],
    ['a.yaml', 'a: b: c', /at line 1, column 4/],
    ['a.yaml', 'a: [1, 2', /at line 1, column 9/],
    ['a.yaml', 'enable_tools: [@all]', /at line 1, column 16.*needs quotes/],
    ['a.yaml', 'a: 1\nb: *nowhere', /at line 2, column 4: Unresolved alias/],
    ['a.yaml', 'a: !!js/function x', /Unresolved tag.*Remove the tag/],
    ['a.yaml', '? [a]\n: b', /With stringKeys, all keys must be strings/],
    ['a.yaml', 'a: &a [1, *a]', /contains itself/],
    ['a.yaml', '', /^The text is empty/],
    ['a.json', ' \n ', /^The text is empty/],
    ['a.yaml', 'a: \0', /NUL/],
  ])('%s with %j is one fault', (fileName, text, expected) => {
    expect(messageOf(text, fileName)).toMatch(expected);
  });

  test.each([
    ['a.yaml', 'a: {b: [1, .nan]}', 'a.b.1', /^NaN is not a finite number/],
    ['a.yaml', 'a: 1\nb: .inf', 'b', /^Infinity is not a finite number/],
    ['a.yaml', 'a: [{c: -.INF}]', 'a.0.c', /^-Infinity is not a finite number/],
    ['a.json', '{"a": [1e999]}', 'a.0', /^Infinity is not a finite number/],
    ['a.yaml', 'x: 1\na: &a {b: *a}', 'a.b.b', /contains itself/],
  ])('%s with %j names the path %s', (fileName, text, path, message) => {
    expect(parseSpecText(text, fileName)).toMatchObject({ fault: { path, message: expect.stringMatching(message) } });
  });

  test('no fault of a text names its file, whatever the text: who reads it does', () => {
    fc.assert(
      fc.property(fc.string(), fc.constantFrom('the-file.json', 'the-file.yaml', 'the-file'), (text, fileName) => {
        expect(messageOf(text.replaceAll('the-file', ''), fileName)).not.toContain('the-file');
      }),
    );
    for (const text of ['', '\0', '[', 'a: b: c', '{"a":1,"a":1}', 'x'.repeat(MAX_SPEC_CHARACTERS + 1)])
      expect(messageOf(text, 'the-file.yaml') + messageOf(text, 'the-file.json')).not.toContain('the-file');
  });

  test('aliases that multiply are refused, fast', () => {
    const levels = Array.from({ length: 30 }, (_, i) => `l${i + 1}: &l${i + 1} [*l${i}, *l${i}, *l${i}]`);
    const started = performance.now();
    expect(messageOf(['l0: &l0 [x]', ...levels].join('\n'), 'a.yaml')).toMatch(/Excessive alias count/);
    expect(performance.now() - started).toBeLessThan(2000);
  });

  test.each(['a.json', 'a.yaml'])('%s that nests 50,000 deep is one fault', (fileName) => {
    expect(messageOf('['.repeat(50_000), fileName)).toMatch(/not valid|nests too deeply/);
    expect(messageOf(`${'['.repeat(2000)}${']'.repeat(2000)}`, fileName)).toMatch(/nests too deeply/);
  });

  test.each(['a.json', 'a.yaml'])('in %s with 40,000 keys the one given twice is found in seconds', (fileName) => {
    const keys = Array.from({ length: 40_000 }, (_, i) => `"k${i}":${i}`);
    const started = performance.now();
    expect(messageOf(`{${keys.join(',')},"k7":1}`, fileName)).toMatch(/gives the key "k7" twice/);
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  test('a text above the limit is refused with its length', () => {
    expect(messageOf('a'.repeat(MAX_SPEC_CHARACTERS + 1), 'a.yaml')).toMatch(
      /has 1048577 characters; the limit is 1048576/,
    );
  });
});
