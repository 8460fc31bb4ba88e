// Proofs for `search_file`: all matches counted, listed with their place, in files of any form.
import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countTokensSync } from '../../activities/measure.ts';
import { searchBytes } from '../../activities/sandbox/search.ts';
import { sandboxFiles, type SandboxFiles } from '../support/sandbox-files.ts';

let files: SandboxFiles;
let caniuse: string;
let countries: string;

beforeAll(async () => {
  files = await sandboxFiles();
  caniuse = (await files.addPackageFile('/sandbox/caniuse.json', 'caniuse-db/data.json')).toString();
  countries = (await files.addPackageFile('/sandbox/countries.json', 'world-countries/countries.json')).toString();
  await files.add('/sandbox/lines.txt', 'alpha\nbeta\ngamma\ndelta\nepsilon\n');
  await files.add('/sandbox/crlf.txt', 'one end\r\ntwo end\r\n');
  await files.add('/sandbox/as.txt', `${'a'.repeat(1_000_000)}!`);
  await files.add('/sandbox/dots.txt', 'a.b axb a.b');
});
afterAll(() => files.remove());

const occurrences = (text: string, pattern: RegExp): number => [...text.matchAll(pattern)].length;

test('every match in one line of 4.7 MB is counted, and listed with 100 characters on each side', async () => {
  const { text } = await files.call('search_file', { path: '/sandbox/caniuse.json', pattern: '"title":"CSS [A-Z]' });
  const total = occurrences(caniuse, /"title":"CSS [A-Z]/g);
  expect(total).toBeGreaterThan(20);
  expect(text).toContain(`${total} matches of pattern`);
  expect(text).toContain('in 1 line');
  const [, offset = '', before = '', match = '', after = ''] =
    /line 1, byte (\d+): …(.*?)«(.*?)»(.*?)…\n/.exec(text) ?? [];
  expect(Array.from(before)).toHaveLength(100);
  expect(Array.from(after)).toHaveLength(100);
  const bytes = Buffer.from(caniuse);
  const at = Number(offset);
  expect(bytes.subarray(at, at + Buffer.byteLength(match + after)).toString()).toBe(match + after);
});

test('listing goes on from the suggested offset until every match was listed once', async () => {
  const pattern = '"cca3": "[A-Z]{3}"';
  const expected = [...countries.matchAll(/"cca3": "[A-Z]{3}"/g)].map((m) =>
    Buffer.byteLength(countries.slice(0, m.index)),
  );
  const listed: number[] = [];
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const args = { path: '/sandbox/countries.json', pattern, max_matches: 60, offset_bytes: offset };
    const { text } = await files.call('search_file', args, 1500);
    expect(countTokensSync(text)).toBeLessThanOrEqual(1500);
    expect(text).toContain(`${expected.length} matches`);
    listed.push(...[...text.matchAll(/^line \d+, byte (\d+):/gm)].map((m) => Number(m[1])));
    const next: string | undefined = /offset_bytes (\d+)\]/.exec(text)?.[1];
    offset = next === undefined ? undefined : Number(next);
  }
  expect(listed).toEqual(expected);
});

test('lines of context stand around a match, with their numbers', async () => {
  const { text } = await files.call('search_file', { path: '/sandbox/lines.txt', pattern: 'gam', context_lines: 1 });
  expect(text).toBe('1 match of pattern "gam" in 1 line:\n  2: beta\nline 3, byte 11: «gam»ma\n  4: delta\n--');
});

test('anchors hold at the ends of lines, those that end in CRLF too', async () => {
  const { text } = await files.call('search_file', { path: '/sandbox/crlf.txt', pattern: '^t.* end$' });
  expect(text).toContain('1 match of pattern');
  expect(text).toContain('line 2, byte 9: «two end»');
});

test('literal takes the pattern as it stands, and ignore_case its letters in both cases', async () => {
  const path = '/sandbox/dots.txt';
  expect((await files.call('search_file', { path, pattern: 'a.b' })).text).toContain('3 matches');
  expect((await files.call('search_file', { path, pattern: 'a.b', literal: true })).text).toContain(
    '2 matches of text',
  );
  expect((await files.call('search_file', { path, pattern: 'A.B' })).text).toContain('No match');
  expect((await files.call('search_file', { path, pattern: 'A.B', ignore_case: true })).text).toContain('3 matches');
});

test.each([
  ['(ab', 'missing closing )', 0],
  ['ab(?=c)', 'invalid or unsupported Perl syntax', 2],
  [String.raw`(a)\1`, 'invalid escape sequence', 3],
  ['xa{2000}', 'invalid repeat count', 2],
])('the pattern %s is refused with its fault and position', async (pattern, problem, position) => {
  const { text, isError } = await files.call('search_file', { path: '/sandbox/lines.txt', pattern });
  expect(isError).toBe(true);
  expect(text).toContain(problem);
  expect(text).toContain(`at character ${position} of`);
  expect(text).toContain('no backreferences, no lookaround');
});

test.each(['(a+)+$', '(a|aa)+$', '(a*)*b', '(.*a){12}b'])(
  'the pattern %s over a million letters ends within seconds',
  async (pattern) => {
    const started = performance.now();
    const { isError } = await files.call('search_file', { path: '/sandbox/as.txt', pattern });
    expect(isError).toBe(false);
    expect(performance.now() - started).toBeLessThan(15_000);
  },
);

test('a search that would take too long stops and tells what it has counted', async () => {
  async function* bytes(): AsyncIterable<Uint8Array> {
    yield Buffer.from('a'.repeat(200_000));
  }
  // Every match has to look through the rest of the line first.
  const job = { pattern: '.*x|a', literal: false, ignoreCase: false, contextLines: 0, maxMatches: 1, offsetBytes: 0 };
  const result = await searchBytes({ ...job, budgetMs: 100 }, bytes());
  expect(result).toMatchObject({ type: 'found', complete: false });
  expect('total' in result ? result.total : 0).toBeGreaterThan(0);
});

test('an aborted search ends at once with the reason of the signal', async () => {
  const stop = new AbortController();
  const reason = new Error('the turn was cancelled');
  const call = files.call('search_file', { path: '/sandbox/as.txt', pattern: '.*x|a' }, 6000, stop.signal);
  setTimeout(() => stop.abort(reason), 300);
  await expect(call).rejects.toBe(reason);
  // The pool works on after the thread was ended.
  expect((await files.call('search_file', { path: '/sandbox/lines.txt', pattern: 'beta' })).text).toContain('1 match');
});

test('a pattern whose repeats make it huge is refused', async () => {
  const pattern = String.raw`\pL{999}`.repeat(100);
  const answer = await files.call('search_file', { path: '/sandbox/lines.txt', pattern });
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain('too large once its repeats are written out');
});
