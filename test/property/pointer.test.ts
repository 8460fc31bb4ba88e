// Whatever the payload, the tool and the blocks: a pointer has at most 300 tokens and says path, size and type.
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { closeMeasure, countTokensSync, measure } from '../../activities/measure.ts';
import { POINTER_TOKENS, buildErrorHead, buildPointer } from '../../activities/measure/pointer.ts';
import { resultPath } from '../../shared/call-key.ts';
import type { BlockFacts } from '../../shared/facts.ts';

afterAll(closeMeasure);

const sha256 = fc.string({ unit: fc.constantFrom(...'0123456789abcdef'.split('')), minLength: 64, maxLength: 64 });
const anyText = fc.string({ unit: 'binary', maxLength: 100 });
const payload = fc.oneof(
  fc
    .tuple(anyText, fc.integer({ min: 1, max: 60 }))
    .map(([text, times]) => new TextEncoder().encode(text.repeat(times))),
  fc
    .tuple(fc.dictionary(anyText, fc.jsonValue(), { maxKeys: 30 }))
    .map(([value]) => new TextEncoder().encode(JSON.stringify(value))),
  fc
    .array(anyText, { minLength: 2, maxLength: 20 })
    .map((names) => new TextEncoder().encode(`${names.join(',')}\n`.repeat(3))),
  fc.uint8Array({ maxLength: 500 }),
);
const block: fc.Arbitrary<BlockFacts> = fc
  .record({
    sha256,
    tool: anyText,
    block: fc.integer({ min: 1, max: 99 }),
    bytes: fc.nat(),
    label: anyText,
    mediaType: fc.constantFrom('image/png', 'text/plain'),
  })
  .map(({ tool, ...rest }) => ({
    ...rest,
    kind: 'image',
    path: resultPath({ callKey: 't1/0/0', tool, sha256: rest.sha256, extension: 'png', block: rest.block }),
  }));

describe('a pointer', () => {
  test('has at most 300 tokens whatever the payload, and its path, size and type', async () => {
    await fc.assert(
      fc.asyncProperty(
        payload,
        anyText,
        sha256,
        fc.array(block, { maxLength: 12 }),
        async (bytes, tool, hash, blocks) => {
          const measurement = await measure(bytes);
          const path = resultPath({ callKey: 't12/34/56', tool, sha256: hash, extension: 'json' });
          const { text, tokens } = await buildPointer({ path, tool, isError: false, measurement, blocks });
          expect(tokens).toBe(countTokensSync(text));
          expect(tokens).toBeLessThanOrEqual(POINTER_TOKENS);
          expect(text.isWellFormed()).toBe(true);
          expect(text).toContain(`\npath: ${path}\n`);
          expect(text).toContain(`\ntype: ${measurement.mediaType}\n`);
          expect(text).toContain(`\nsize: ${bytes.length.toLocaleString('en-US')} bytes`);
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('the head of an error', () => {
  test('is well formed and bounded, and begins and ends as the error does', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 300 }), (text, times) => {
        const error = text.repeat(times).toWellFormed();
        const head = buildErrorHead(error, '/sandbox/tool-results/x.txt', 9000);
        expect(head.isWellFormed()).toBe(true);
        expect(head.length).toBeLessThan(4400);
        expect(error.startsWith(head.slice(0, 100))).toBe(true);
        expect(error.endsWith(head.slice(-100))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
