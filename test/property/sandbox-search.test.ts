// Properties of the search: its counts and places are those of a naive search, however the text is cut into chunks,
// windows and lines.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { searchBytes, type SearchJob, type SearchResult } from '../../activities/sandbox/search.ts';

const letters = fc.constantFrom('a', 'b', 'c', ' ', '"', '\n', '\r\n', 'é', '日', '😀', '\uFEFF');
const text = fc.array(letters, { maxLength: 400 }).map((all) => all.join(''));
// Lines of some hundred bytes, several windows long.
const longLines = fc
  .array(fc.array(letters, { maxLength: 400, size: 'max' }), { maxLength: 3 })
  .map((lines) => lines.map((line) => line.join('').replaceAll(/[\r\n]/g, '')).join('\n'));
// None matches more than 24 bytes, which is what the windows below overlap by.
const pattern = fc.constantFrom(
  'a',
  'ab?',
  '[ab]{1,4}',
  '^a',
  'c$',
  'é|日',
  '😀',
  String.raw`\bab\b`,
  'a{2,3}',
  '^',
  '$',
  'b*?c',
  'x*',
);
const chunks = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 });

const JOB = { literal: false, ignoreCase: false, contextLines: 1, maxMatches: 500, offsetBytes: 0, budgetMs: 60_000 };

async function search(content: string, sizes: readonly number[], job: Partial<SearchJob>): Promise<SearchResult> {
  const bytes = Buffer.from(content);
  async function* inChunks(): AsyncIterable<Uint8Array> {
    for (let at = 0, i = 0; at < bytes.length; i += 1) {
      const size = sizes[i % sizes.length] ?? 1;
      yield bytes.subarray(at, at + size);
      at += size;
    }
  }
  return searchBytes({ ...JOB, pattern: '', ...job }, inChunks());
}

interface Place {
  readonly line: number;
  readonly offset: number;
  readonly match: string;
}

function naive(content: string, expression: string): Place[] {
  const places: Place[] = [];
  let start = 0;
  const lines = content.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const [i, withReturn] of lines.entries()) {
    const line = withReturn.replace(/\r$/, '');
    for (const found of line.matchAll(new RegExp(expression, 'gu'))) {
      const offset = start + Buffer.byteLength(line.slice(0, found.index));
      places.push({ line: i + 1, offset, match: found[0] });
    }
    start += Buffer.byteLength(withReturn) + 1;
  }
  return places;
}

test('counts and places are those of a naive search line by line', async () => {
  await fc.assert(
    fc.asyncProperty(text, pattern, chunks, async (content, expression, sizes) => {
      const result = await search(content, sizes, { pattern: expression });
      const expected = naive(content, expression);
      expect(result).toMatchObject({ type: 'found', total: expected.length, complete: true });
      if (result.type !== 'found') throw new Error('the pattern is sound');
      expect(result.hits.map(({ line, offset, match }) => ({ line, offset, match }))).toEqual(expected);
      expect(result.linesWithMatches).toBe(new Set(expected.map(({ line }) => line)).size);
    }),
    { numRuns: 400 },
  );
});

test('a line longer than the window gives the same count as one that fits', async () => {
  const bounded = fc.constantFrom(
    'a',
    'ab?',
    '[ab]{1,4}',
    '^a',
    'c$',
    'é|日',
    '😀',
    String.raw`\bab\b`,
    'a{2,3}',
    'x*',
  );
  await fc.assert(
    fc.asyncProperty(longLines, bounded, chunks, async (content, expression, sizes) => {
      const whole = await search(content, sizes, { pattern: expression });
      const inWindows = await search(content, sizes, { pattern: expression, windowBytes: 64, overlapBytes: 24 });
      if (whole.type !== 'found' || inWindows.type !== 'found') throw new Error('the pattern is sound');
      expect(inWindows.total).toBe(whole.total);
      expect(inWindows.hits.map(({ line, offset, match }) => [line, offset, match])).toEqual(
        whole.hits.map(({ line, offset, match }) => [line, offset, match]),
      );
    }),
    { numRuns: 400 },
  );
});

test('a literal search counts what splitting the text by it counts', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }), async (content, literal) => {
      const line = content.replaceAll(/[\r\n]/g, '.');
      const result = await search(line, [7], { pattern: literal, literal: true });
      expect(result).toMatchObject({ total: literal.includes('\n') ? 0 : line.split(literal).length - 1 });
    }),
    { numRuns: 200 },
  );
});
