// The list of behaviours against the tests: no id without a proof, no unknown id, every case cited.
import { describe, expect, it } from 'vitest';
import { CASES, REQUIREMENTS } from '../requirements.ts';
import { sourceFiles } from '../support/source-files.ts';

const tests = sourceFiles().filter((file) => file.path.endsWith('.test.ts'));
const ids = REQUIREMENTS.map((requirement) => requirement.id);
/** The ids in a test's name: at the beginning of a text in quotes. */
const cited = new Set(
  tests.flatMap((file) =>
    [...file.text.matchAll(/['"`]((?:\[[A-Z]+\d?-\d+\] ?)+)/g)].flatMap(([, names = '']) =>
      [...names.matchAll(/[A-Z]+\d?-\d+/g)].map(([id]) => id),
    ),
  ),
);

describe('the list of requirements', () => {
  it('[STRUCT-8] has each id once, with a behaviour and a source', () => {
    expect(new Set(ids).size).toBe(ids.length);
    expect(REQUIREMENTS.filter(({ behaviour, source }) => behaviour.length < 15 || source === '')).toEqual([]);
  });

  it('[STRUCT-8] has a test for each id', () => {
    expect(ids.filter((id) => !cited.has(id))).toEqual([]);
  });

  it('[STRUCT-8] has each id that a test cites', () => {
    expect([...cited].filter((id) => !ids.includes(id))).toEqual([]);
  });

  it('[STRUCT-8] has a test that cites each case', () => {
    const text = tests
      .filter((file) => !file.path.endsWith('requirements.test.ts'))
      .map((file) => file.text)
      .join('\n');
    expect(CASES.filter((name) => !new RegExp(`\\b${name}\\b`).test(text))).toEqual([]);
  });
});
