// Proofs for `read_file`: ranges by bytes and lines, never above the limit, and always a way on.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countTokensSync } from '../../activities/measure.ts';
import { normalizeSandboxArguments } from '../../activities/sandbox/server.ts';
import { contentOf, nextOf, sandboxFiles, type SandboxFiles } from '../support/sandbox-files.ts';

let files: SandboxFiles;
let caniuse: Buffer;
const LONG_LINE = 'abcdefghij'.repeat(30_000);

beforeAll(async () => {
  files = await sandboxFiles();
  caniuse = await files.addPackageFile('/sandbox/caniuse.json', 'caniuse-db/data.json', 'application/json');
  await files.addPackageFile('/sandbox/airports.csv', 'vega-datasets/data/airports.csv', 'text/csv');
  await files.addPackageFile('/sandbox/logo.png', 'vega-datasets/data/7zip.png', 'image/png');
  await files.add('/sandbox/line.txt', LONG_LINE);
  await files.add('/sandbox/line-break.txt', `${LONG_LINE}\n`);
  await files.add('/sandbox/lines.txt', 'one\ntwo\nthree');
  await files.add('/sandbox/empty.txt', '');
  await files.add('/sandbox/emoji.txt', '👩‍👩‍👧'.repeat(50));
  await files.add('/sandbox/latin1.txt', Buffer.from('caf\u00e9 is not UTF-8 here, but it is text', 'latin1'));
});
afterAll(() => files.remove());

async function readAll(path: string, perResultTokens = 6000): Promise<{ text: string; reads: number }> {
  let text = '';
  let reads = 0;
  let next: ReturnType<typeof nextOf> = { offset_bytes: 0 };
  while (next) {
    const answer = await files.call('read_file', { path, ...next }, perResultTokens);
    expect(answer.isError).toBe(false);
    expect(countTokensSync(answer.text)).toBeLessThanOrEqual(perResultTokens);
    text += contentOf(answer);
    next = nextOf(answer);
    reads += 1;
  }
  return { text, reads };
}

test.each(['/sandbox/line.txt', '/sandbox/line-break.txt'])(
  'one line of 300,000 characters is read to its end by the suggested offsets: %s',
  async (path) => {
    const { text, reads } = await readAll(path);
    expect(text).toBe(path.includes('break') ? `${LONG_LINE}\n` : LONG_LINE);
    expect(reads).toBeGreaterThan(3);
  },
);

test('a saved file of 4.7 MB in one line is shown in ranges within the limit, the third time as the first', async () => {
  for (let time = 1; time <= 3; time += 1) {
    const answer = await files.call('read_file', { path: '/sandbox/caniuse.json' });
    const tokens = countTokensSync(answer.text);
    expect(tokens).toBeLessThanOrEqual(6000);
    expect(tokens).toBeGreaterThan(5000);
    const shown = contentOf(answer);
    expect(shown).toBe(caniuse.subarray(0, Buffer.byteLength(shown)).toString());
  }
});

test('two spellings of one read have one form', () => {
  const plain = normalizeSandboxArguments('read_file', { path: '/sandbox/a.txt' });
  expect(normalizeSandboxArguments('read_file', { offset_bytes: 0, path: 'a.txt' })).toEqual(plain);
  expect(normalizeSandboxArguments('read_file', { path: './x/../a.txt' })).toEqual(plain);
  expect(normalizeSandboxArguments('read_file', { path: 'sandbox//a.txt' })).toEqual(plain);
  expect(normalizeSandboxArguments('search_file', { path: 'a', pattern: 'x' })).toEqual(
    normalizeSandboxArguments('search_file', { path: '/sandbox/a', pattern: 'x', literal: false, max_matches: 20 }),
  );
  expect(normalizeSandboxArguments('read_file', { path: 5 })).toEqual({ path: 5 });
  expect(normalizeSandboxArguments('other', { path: 'a' })).toEqual({ path: 'a' });
});

test('a range by bytes is shown as asked, and says where to go on', async () => {
  const answer = await files.call('read_file', { path: '/sandbox/caniuse.json', offset_bytes: 1000, length_bytes: 50 });
  expect(contentOf(answer)).toBe(caniuse.subarray(1000, 1050).toString());
  expect(answer.text).toContain('[bytes 1,000 to 1,049 of 4,749,325; go on with offset_bytes 1050]');
});

test('an offset inside a character begins with that character, and no cut breaks one', async () => {
  const answer = await files.call('read_file', { path: '/sandbox/emoji.txt', offset_bytes: 2, length_bytes: 3 });
  expect(answer.text.isWellFormed()).toBe(true);
  expect(contentOf(answer)).toBe('👩');
  expect(answer.text).toContain('bytes 0 to 3 ');
});

test('lines are shown as asked, with how many there are', async () => {
  const middle = await files.call('read_file', { path: '/sandbox/lines.txt', start_line: 2, line_count: 1 });
  expect(middle.text).toBe('[lines 2 to 2 of 3, bytes 4 to 7 of 13; go on with start_line 3]\ntwo\n');
  const last = await files.call('read_file', { path: '/sandbox/lines.txt', start_line: 3 });
  expect(last.text).toBe('[lines 3 to 3 of 3, bytes 8 to 12 of 13; this is the end]\nthree');
});

test('reading by the suggested lines gives the whole file', async () => {
  let text = '';
  let next: ReturnType<typeof nextOf> = { start_line: 1 };
  while (next) {
    const answer = await files.call('read_file', { path: '/sandbox/airports.csv', ...next });
    expect(countTokensSync(answer.text)).toBeLessThanOrEqual(6000);
    text += contentOf(answer);
    next = nextOf(answer);
  }
  const { text: byBytes } = await readAll('/sandbox/airports.csv');
  expect(text).toBe(byBytes);
});

test('a line longer than the limit goes on by bytes', async () => {
  const answer = await files.call('read_file', { path: '/sandbox/line.txt', start_line: 1 });
  expect(answer.text).toMatch(
    /^\[lines 1 to 1 of 1, bytes 0 to [\d,]+ of 300,000; line 1 goes on: offset_bytes \d+\]\n/,
  );
});

test.each([
  ['an offset past the end', { path: '/sandbox/lines.txt', offset_bytes: 13 }, 'Choose from 0 to 12'],
  ['a line past the end', { path: '/sandbox/lines.txt', start_line: 4 }, 'has 3 lines. Choose start_line from 1 to 3'],
  ['a negative offset', { path: '/sandbox/lines.txt', offset_bytes: -1 }, 'offset_bytes: '],
  ['a length of nothing', { path: '/sandbox/lines.txt', length_bytes: 0 }, 'length_bytes: '],
  ['bytes and lines at once', { path: '/sandbox/lines.txt', offset_bytes: 1, start_line: 1 }, 'not both'],
  ['an argument that is not there', { path: '/sandbox/lines.txt', offset: 1 }, '"offset"'],
])('%s is told clearly', async (_, args, text) => {
  const answer = await files.call('read_file', args);
  expect(answer.isError).toBe(true);
  expect(answer.text).toContain(text);
});

test('an empty file and a binary file are described', async () => {
  expect((await files.call('read_file', { path: '/sandbox/empty.txt' })).text).toBe('[The file is empty: 0 bytes.]');
  const { text, isError } = await files.call('read_file', { path: '/sandbox/logo.png' });
  expect(isError).toBe(false);
  expect(text).toContain('binary: image/png, 3,969 bytes');
  expect(text).toContain('89 50 4e 47');
});

test('text that is not UTF-8 throughout is shown and marked', async () => {
  const answer = await files.call('read_file', { path: '/sandbox/latin1.txt' });
  expect(answer.text).toContain('what is not UTF-8 is shown as \uFFFD]');
  expect(contentOf(answer)).toBe('caf\uFFFD is not UTF-8 here, but it is text');
});
