// Previews of every text: well formed, whole graphemes, nothing that hides or reorders; and JSON is judged as JSON.parse does.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { previewOf } from '../../activities/measure/preview.ts';
import { scanJson, skipBlanks, type JsonListener } from '../../activities/measure/json-scan.ts';
import { shapeOfText } from '../../activities/measure/shape.ts';
import type { Preview } from '../../shared/facts.ts';

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
const graphemes = (text: string): string[] => Array.from(segmenter.segment(text), ({ segment }) => segment);

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function preview(text: string, characters: number): Preview {
  const bytes = bytesOf(text);
  return previewOf({ head: bytes, tail: bytes, isWhole: true, characters });
}

const emoji = fc.constantFrom(
  '👩‍👩‍👧‍👦',
  '🇩🇪',
  '🇯🇵',
  '👍🏽',
  '😀',
  'e\u0301',
  'กำ',
  'हिन्दी',
  '\r\n',
  'a',
  'ﷺ',
  '한',
  '🏴‍☠️',
  '1️⃣',
);
const pieces = fc
  .array(fc.oneof(emoji, fc.string({ unit: 'binary', maxLength: 4 })), { maxLength: 300 })
  .map((all) => all.join(''));
const anyText = fc.oneof(pieces, fc.string({ unit: 'binary', maxLength: 500 }));

describe('previews', () => {
  test('are well formed and hold no control, format or bidirectional character but joiners within emoji', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 0, max: 120 }), (text, characters) => {
        const { head, tail } = preview(text, characters);
        for (const shown of [head, tail]) {
          expect(shown.isWellFormed()).toBe(true);
          expect(shown.replaceAll('\u200d', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        }
        expect(text === '' || characters === 0 || head !== '').toBe(true);
      }),
      { numRuns: 250 },
    );
  });

  test('of emoji show the first and last N whole ones, whatever stands across the cut (view-1)', () => {
    const visible = fc.array(fc.constantFrom('👩‍👩‍👧‍👦', '🇩🇪', '🇯🇵', '👍🏽', '😀', 'e\u0301', 'ab', '漢'), {
      minLength: 1,
      maxLength: 500,
    });
    fc.assert(
      fc.property(visible, fc.integer({ min: 1, max: 110 }), (all, characters) => {
        const text = all.join('');
        const expected = graphemes(text);
        const { head, tail } = preview(text, characters);
        const isShort = expected.length <= 2 * characters;
        expect(head).toBe(isShort ? text : expected.slice(0, characters).join(''));
        expect(tail).toBe(isShort ? '' : expected.slice(-characters).join(''));
      }),
      { numRuns: 200 },
    );
  });

  test('of long runs of flags show whole flags, wherever the run began', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3 }),
        fc.integer({ min: 150, max: 400 }),
        fc.integer({ min: 0, max: 4 }),
        (before, flags, after) => {
          const text = 'x'.repeat(before) + '🇩🇪'.repeat(flags) + 'y'.repeat(after);
          const { head, tail } = preview(text, 6);
          expect(head).toBe('x'.repeat(before) + '🇩🇪'.repeat(6 - before));
          expect(tail).toBe('🇩🇪'.repeat(6 - after) + 'y'.repeat(after));
        },
      ),
    );
  });

  test('of endless text are bounded and not empty (view-2)', () => {
    for (const text of [
      'x'.repeat(300_000),
      `${'x'.repeat(300_000)}\n`,
      `e${'\u0301'.repeat(500_000)}`,
      '🇩🇪'.repeat(100_001),
      '\u0301'.repeat(100_000),
    ]) {
      const { head, tail } = preview(text, 100);
      expect(head.length * tail.length).toBeGreaterThan(0);
      expect(head.length + tail.length).toBeLessThanOrEqual(2 * 1600);
      expect(head.isWellFormed() && tail.isWellFormed()).toBe(true);
    }
    expect(preview('🇩🇪'.repeat(100_001), 2)).toEqual({ head: '🇩🇪🇩🇪', tail: '🇩🇪🇩🇪' });
  });

  test('name what they hide', () => {
    expect(preview('a\u001b[31m\r\nb\t\u202e\u200b\u{e0041}\u00ad', 50).head).toBe(
      'a\\u{1b}[31m⏎b⇥\\u{202e}\\u{200b}\\u{e0041}\\u{ad}',
    );
  });
});

describe('JSON', () => {
  const silent: JsonListener = { open() {}, close() {}, key() {}, scalar() {} };
  const isJson = (text: string): boolean => {
    const bytes = bytesOf(text);
    const scan = scanJson(bytes, 0, silent);
    return 'end' in scan && skipBlanks(bytes, scan.end) === bytes.length;
  };
  const parses = (text: string): boolean => {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  };
  const almost = fc
    .tuple(
      fc.jsonValue(),
      fc.nat(),
      fc.constantFrom('', ',', '}', ']', '"', '\\', '\n', '0', '-', 'e', '.', ' ', '[', '{', ':', '\\u12'),
      fc.nat(2),
    )
    .map(([value, place, inserted, removed]) => {
      const text = JSON.stringify(value);
      const at = place % (text.length + 1);
      return text.slice(0, at) + inserted + text.slice(at + removed);
    });

  test('is judged as JSON.parse judges it, damaged or not', () => {
    fc.assert(
      fc.property(almost, (text) => {
        const wellFormed = text.toWellFormed();
        expect(isJson(wellFormed)).toBe(parses(wellFormed));
      }),
      { numRuns: 1500 },
    );
  });

  test('that is cut anywhere is valid as far as it goes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), fc.nat(), (value, place) => {
        const bytes = bytesOf(JSON.stringify(value));
        const cut = bytes.subarray(0, 2 + (place % (bytes.length - 2)));
        const scan = scanJson(cut, 0, silent);
        expect('isCut' in scan && scan.isCut && scan.offset === cut.length).toBe(true);
      }),
    );
  });

  test('has an outline of at most 400 characters, whatever it is', () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 5, maxKeys: 30 }), (value) => {
        const shape = shapeOfText({ bytes: bytesOf(JSON.stringify(value)), isWhole: true, given: null });
        expect(shape.kind === 'json' && shape.outline.length <= 400 && shape.outline.length > 0).toBe(true);
      }),
    );
  });
});
