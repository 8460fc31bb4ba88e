// Proofs for `query_json`: its answers are those of plain code over the same file, and no query gets out of hand.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countTokensSync } from '../../activities/measure.ts';
import { closeSandbox } from '../../activities/sandbox/server.ts';
import { JobStopped } from '../../activities/sandbox/job-limits.ts';
import { queryInProcess } from '../../activities/sandbox/query-process.ts';
import { sandboxFiles, type SandboxFiles } from '../support/sandbox-files.ts';

interface Country {
  readonly cca2: string;
  readonly region: string;
  readonly area: number;
  readonly landlocked: boolean;
}

const ENDLESS = '($f := function($x) { $f($x + 1) }; $f(0))';

let files: SandboxFiles;
let countries: Country[];

beforeAll(async () => {
  files = await sandboxFiles();
  const text = await files.addPackageFile(
    '/sandbox/countries.json',
    'world-countries/countries.json',
    'application/json',
  );
  countries = JSON.parse(text.toString());
});
afterAll(() => files.remove());

async function query(path: string, text: string, perResultTokens = 6000): Promise<string> {
  const answer = await files.call('query_json', { path, query: text }, perResultTokens);
  expect(countTokensSync(answer.text)).toBeLessThanOrEqual(perResultTokens);
  return answer.text;
}

test('counts, sums and selections are those of plain code', async () => {
  const path = '/sandbox/countries.json';
  expect(await query(path, '$count($)')).toBe(String(countries.length));
  const area = countries.filter(({ region }) => region === 'Europe').reduce((sum, country) => sum + country.area, 0);
  expect(Number(await query(path, '$sum($[region = "Europe"].area)'))).toBeCloseTo(area, 3);
  const landlocked = countries
    .filter((country) => country.landlocked && country.region === 'Asia')
    .map(({ cca2 }) => cca2);
  expect(JSON.parse(await query(path, '$[landlocked and region = "Asia"].cca2'))).toEqual(landlocked);
});

test('a file of 4.7 MB answers, and again from memory', async () => {
  const data = await files.addPackageFile('/sandbox/caniuse.json', 'caniuse-db/data.json', 'application/json');
  const { agents, data: features }: { agents: object; data: object } = JSON.parse(data.toString());
  expect(await query('/sandbox/caniuse.json', '$count($keys(agents))')).toBe(String(Object.keys(agents).length));
  expect(await query('/sandbox/caniuse.json', '$count($keys(data))')).toBe(String(Object.keys(features).length));
});

test('CSV and JSON lines are read as arrays; numbers are numbers unless that would lose something', async () => {
  const csv = (
    await files.addPackageFile('/sandbox/airports.csv', 'vega-datasets/data/airports.csv', 'text/csv')
  ).toString();
  expect(await query('/sandbox/airports.csv', '$count($)')).toBe(String(csv.trimEnd().split('\n').length - 1));
  await files.add('/sandbox/zip.csv', 'zip,n\n00501,1\n99950,2.5\n', 'text/csv');
  expect(await query('/sandbox/zip.csv', '$')).toBe('[{"zip":"00501","n":1},{"zip":99950,"n":2.5}]');
  await files.add('/sandbox/rows.jsonl', '{"n":1}\n\n{"n":2}\n', 'application/x-ndjson');
  expect(await query('/sandbox/rows.jsonl', '$sum(n)')).toBe('3');
});

test('an answer above the limit is cut, with its whole size and how to narrow the query', async () => {
  const text = await query('/sandbox/countries.json', '$', 500);
  expect(text).toMatch(
    /^\[The answer is [\d,]+ characters of JSON \(an array of 250 items\); this is its first [\d,]+\. Narrow/,
  );
});

test('a query that finds nothing says what the file holds', async () => {
  const text = await query('/sandbox/countries.json', 'countries.name');
  expect(text).toContain('No result');
  expect(text).toContain('an array of 250 objects with keys name, tld, cca2');
});

test.each([
  ['a syntax error', '$count($', 'at character 8', 'JSONata, not jq'],
  ['jq', '.[] | .name', 'at character', 'JSONata, not jq'],
  ['a wrong type', '$sum(cca2)', 'must be an array of "numbers"', '$number()'],
  ['a function that is not there', '$counts($)', 'at character', 'infer_schema'],
])('%s comes back with its place and a mend', async (_, text, place, mend) => {
  const answer = await files.call('query_json', { path: '/sandbox/countries.json', query: text });
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain(place);
  expect(answer.text).toContain(mend);
});

test('a file that is no JSON says so', async () => {
  await files.add('/sandbox/prose.txt', 'once upon a time');
  const answer = await files.call('query_json', { path: '/sandbox/prose.txt', query: '$' });
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain('/sandbox/prose.txt is not JSON, JSON lines or CSV');
});

test('a query that never ends is stopped at its time limit, and the next one is answered', async () => {
  const job = { sha256: 'none', query: ENDLESS, mayBeCsv: false, maxCharacters: 100 } as const;
  async function* bytes(): AsyncIterable<Uint8Array> {
    yield Buffer.from('{}');
  }
  const limits = { timeoutMs: 500, signal: files.context.signal };
  const stopped: unknown = await queryInProcess(job, bytes, limits).catch((thrown: unknown) => thrown);
  expect(stopped).toBeInstanceOf(JobStopped);
  expect(stopped).toMatchObject({ reason: 'time', message: 'stopped after 0.5 seconds' });
  expect(await query('/sandbox/countries.json', '$count($)')).toBe('250');
});

test('a query that eats memory is stopped, and the process lives on', async () => {
  const members = Array.from({ length: 30 }, (_, i) => `"k${i}": [1..9999999]`);
  const greedy = `{${members.join(', ')}}`;
  const answer = await files.call('query_json', { path: '/sandbox/countries.json', query: greedy });
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain('The query needed more memory than it may have. Narrow it');
  expect(await query('/sandbox/countries.json', '$count($)')).toBe('250');
});

test('an aborted query ends with the reason of the signal, those that wait go on', async () => {
  const stop = new AbortController();
  const reason = new Error('the turn was cancelled');
  const args = { path: '/sandbox/countries.json', query: ENDLESS };
  const endless = [1, 2, 3].map(() => files.call('query_json', args, 6000, stop.signal));
  const waiting = query('/sandbox/countries.json', '$count($)');
  setTimeout(() => stop.abort(reason), 300);
  for (const call of endless) await expect(call).rejects.toBe(reason);
  expect(await waiting).toBe('250');
});

test('a query sees nothing of the environment', async () => {
  process.env['LONGSHORE_TEST_SECRET'] = 'hidden';
  await closeSandbox();
  const text = await query('/sandbox/countries.json', '$eval("process.env")');
  delete process.env['LONGSHORE_TEST_SECRET'];
  expect(text).not.toContain('hidden');
});

test('the processes of queries do not keep the program that asked alive', async () => {
  const program = `
    const { queryInProcess } = await import(${JSON.stringify(new URL('../../activities/sandbox/query-process.ts', import.meta.url).href)});
    async function* bytes() { yield Buffer.from('[1,2,3]'); }
    const job = { sha256: 'x', query: '$sum($)', mayBeCsv: false, maxCharacters: 100 };
    const limits = { timeoutMs: 10000, signal: new AbortController().signal };
    console.log(JSON.stringify(await queryInProcess(job, bytes, limits)));`;
  const args = ['--input-type=module', '--eval', program];
  // Without an end of its own the program would run into this time-out, which rejects.
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 20_000 });
  expect(JSON.parse(stdout)).toEqual({ type: 'answer', text: '6', characters: 1 });
});
