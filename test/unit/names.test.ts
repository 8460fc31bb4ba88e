// Names of tools towards the model: the inputs that broke other systems.
import { describe, expect, test } from 'vitest';
import { exposedNameOf, exposeNames } from '../../shared/exposed-names.ts';

describe('exposedNameOf', () => {
  test('a plain name shows server and tool', () => {
    expect(exposedNameOf({ server: 'fs', tool: 'read_text_file' })).toBe('fs__read_text_file');
  });

  test('a name of exactly 64 characters stays as it is, one of 65 is cut and gets a hash', () => {
    expect(exposedNameOf({ server: 'fs', tool: 'a'.repeat(60) })).toBe(`fs__${'a'.repeat(60)}`);
    expect(exposedNameOf({ server: 'fs', tool: 'a'.repeat(61) })).toMatch(/^fs_a{40}_[0-9a-f]{12}$/);
  });

  test.each([
    ['../../x', /^fs_x_[0-9a-f]{12}$/],
    ['a: b', /^fs_a-b_[0-9a-f]{12}$/],
    ['x'.repeat(200), /^fs_x{40}_[0-9a-f]{12}$/],
    ['検索する', /^fs_tool_[0-9a-f]{12}$/],
    ['', /^fs_tool_[0-9a-f]{12}$/],
    ['__proto__', /^fs____proto__$/],
  ])('the tool %j has a readable name inside the allowed characters', (tool, expected) => {
    expect(exposedNameOf({ server: 'fs', tool })).toMatch(expected);
  });

  test('the same tool on two servers has two names, and two long names with one beginning stay apart', () => {
    const long = 'list_'.repeat(20);
    const names = exposeNames([
      { server: 'a', tool: 'search' },
      { server: 'b', tool: 'search' },
      { server: 'a', tool: `${long}1` },
      { server: 'a', tool: `${long}2` },
      { server: 'a.b', tool: 'search' },
      { server: 'a_b', tool: 'search' },
    ]);
    expect(new Set(names).size).toBe(6);
  });

  test('names that would be joined to the same text stay apart', () => {
    const names = exposeNames([
      { server: 'a', tool: 'b__c' },
      { server: 'a__b', tool: 'c' },
      { server: 'a_', tool: 'b' },
      { server: 'a', tool: '_b' },
    ]);
    expect(new Set(names).size).toBe(4);
  });
});
