// Properties of `read_file` over arbitrary texts: nothing is lost, and the limit holds.
import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countTokensSync } from '../../activities/measure.ts';
import { contentOf, nextOf, sandboxFiles, type SandboxFiles } from '../support/sandbox-files.ts';

let files: SandboxFiles;
beforeAll(async () => {
  files = await sandboxFiles();
});
afterAll(() => files.remove());

const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constantFrom('\n', '\r\n', '\n\n', '👩‍👩‍👧', '日本語', ' '.repeat(200), 'a'.repeat(500), '<|endoftext|>', '\uFEFF'),
);
const text = fc
  .array(piece, { minLength: 1, maxLength: 40, size: 'max' })
  // A zero byte makes a file binary.
  .map((pieces) => pieces.join('').toWellFormed().replaceAll('\0', '-'))
  .filter((joined) => joined.length > 0);

test('reading on from each suggested place gives the file back byte for byte, never above the limit', async () => {
  let number = 0;
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 150, max: 900 }), fc.boolean(), async (content, limit, byLines) => {
      const path = `/sandbox/${(number += 1)}.txt`;
      await files.add(path, content);
      const parts: string[] = [];
      let next: ReturnType<typeof nextOf> = byLines ? { start_line: 1 } : { offset_bytes: 0 };
      while (next) {
        const answer = await files.call('read_file', { path, ...next }, limit);
        expect(answer.isError).toBe(false);
        expect(countTokensSync(answer.text)).toBeLessThanOrEqual(limit);
        parts.push(contentOf(answer));
        next = nextOf(answer);
      }
      expect(Buffer.from(parts.join('')).equals(Buffer.from(content))).toBe(true);
    }),
    { numRuns: 40 },
  );
});

test('no arguments whatever make a tool raise, and no answer is above the limit', async () => {
  await files.add('/sandbox/some.json', JSON.stringify({ a: [1, 2, 3], b: 'x'.repeat(2000) }), 'application/json');
  const value = fc.oneof(
    fc.constantFrom<string | number | boolean | null>(
      '/sandbox/some.json',
      'some.json',
      '',
      '/',
      0,
      -1,
      1e21,
      true,
      null,
    ),
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.integer(),
  );
  const keys = [
    'path',
    'offset_bytes',
    'length_bytes',
    'start_line',
    'line_count',
    'pattern',
    'query',
    'pointer',
    'prefix',
    'after',
    'content',
    'x',
  ];
  const tools = ['read_file', 'search_file', 'infer_schema', 'query_json', 'list_files', 'write_file', 'unknown', ''];
  const args = fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 5 });
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...tools), args, fc.boolean(), async (tool, given, named) => {
      const answer = await files.call(tool, named ? { path: '/sandbox/some.json', ...given } : given, 300);
      expect(countTokensSync(answer.text)).toBeLessThanOrEqual(300);
    }),
    { numRuns: 200 },
  );
});
