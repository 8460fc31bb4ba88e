// What holds for every text: counts equal js-tiktoken's own, bounds stay below the truth, previews are well formed.
import * as fc from 'fast-check';
import { Tiktoken } from 'js-tiktoken/lite';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { describe, expect, test } from 'vitest';
import { countAll, countUpTo, estimateTokens } from '../../activities/measure/count.ts';
import { boundPiece, countLongPiece } from '../../activities/measure/long-piece.ts';
import { SHORT_PIECE, countShortPiece } from '../../activities/measure/merge.ts';
import { pieceEnd } from '../../activities/measure/pieces.ts';
import { vocabulary } from '../../activities/measure/vocabulary.ts';

const reference = new Tiktoken(o200k);

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function trueCount(text: string): number {
  return reference.encode(text, [], []).length;
}

/** Words, digits, symbols, blanks and marks of many scripts, in runs and mixed. */
const snippets = fc.constantFrom(
  ..."the The THE tHe it's IT'S I'LL we'Ve x'y 0 12 3456 ٣ ½ . , / // {\" \": - ---- = _ <|endoftext|> <|endofprompt|>".split(
    ' ',
  ),
  ...'é ß ſ ǅ ʰ ª я Я ω 漢字 かな カナ 한국 ไทย หนัง हिन्दी עברית عربي 😀 👩‍👩‍👧‍👦 🇩🇪 𝔘 𐐀'.split(' '),
  ...' |  |\n|\r\n|\t|\u00a0|\u3000|\ufeff|\n/|\u2028|\0|\u001b|e\u0301|\u0301|\u200d|\ufe0f|\ud800|\udfff|\u{10ffff}'.split(
    '|',
  ),
);
const mixtures = fc
  .array(fc.oneof(snippets, fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 40 })
  .map((all) => all.join(''));
const runs = fc
  .tuple(fc.array(snippets, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 30 }))
  .map(([all, times]) => all.join('').repeat(times));
const letters = fc
  .tuple(
    fc.constantFrom(
      'ab',
      'abcdefghijklmnopqrstuvwxyz',
      'etaoin shr',
      'ABab',
      '的一是不了人我在有他这为',
      '=-*#',
      'áéèa',
      'กขค\u0e31',
      ' \t',
      'ывао',
    ),
    fc.infiniteStream(fc.nat(1000)),
    fc.integer({ min: 1, max: 160 }),
  )
  .map(([alphabet, choices, length]) =>
    Array.from({ length }, () => alphabet.charAt((choices.next().value ?? 0) % alphabet.length)).join(''),
  );
const texts = fc.oneof(mixtures, runs, letters, fc.string({ unit: 'grapheme', maxLength: 200 }));

describe('counts', () => {
  test('pieces are those of the pattern that js-tiktoken uses', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = bytesOf(text);
        const found: number[] = [];
        for (let at = 0; at < bytes.length;) found.push((at = pieceEnd(bytes, at, bytes.length)));
        let end = 0;
        const expected = Array.from(
          text.matchAll(new RegExp(o200k.pat_str, 'ug')),
          ([piece]) => (end += bytesOf(piece).length),
        );
        expect(found).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });

  test('a whole count equals that of js-tiktoken', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(countAll(bytesOf(text))).toBe(trueCount(text));
      }),
      { numRuns: 250 },
    );
  });

  test('both ways of merging agree', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = bytesOf(text).subarray(0, SHORT_PIECE);
        const long = bytes.length === 0 ? 0 : countLongPiece(vocabulary(), bytes, 0, bytes.length);
        expect(countShortPiece(vocabulary(), bytes, 0, bytes.length)).toBe(long);
      }),
      { numRuns: 500 },
    );
  });

  test('every token of the vocabulary is what merging makes of its own bytes', () => {
    const words = vocabulary();
    const differing: number[] = [];
    for (let rank = 0; rank < words.hashes.length; rank++) {
      const token = words.pool.slice(words.starts[rank], words.starts[rank + 1]);
      if (countLongPiece(words, token, 0, token.length) !== 1) differing.push(rank);
    }
    expect(words.hashes.length).toBe(199_998);
    expect(differing).toEqual([]);
  });
});

describe('bounds', () => {
  test('a count that stops is above the limit and not above the truth; one that does not stop is exact', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 0, max: 150 }), (text, limit) => {
        const truth = trueCount(text);
        const { tokens, exact } = countUpTo({ bytes: bytesOf(text), isWhole: true, limit });
        expect(exact).toBe(truth <= limit);
        expect(tokens).toBeLessThanOrEqual(truth);
        expect(tokens).toBeGreaterThan(exact ? -1 : limit);
      }),
      { numRuns: 250 },
    );
  });

  test('a bound on one endless piece is never above what merging gives', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = bytesOf(text);
        if (bytes.length === 0) return;
        const truth = countLongPiece(vocabulary(), bytes, 0, bytes.length);
        const bound = boundPiece(vocabulary(), bytes, { from: 0, to: bytes.length, stopAt: 1_000_000 });
        expect(bound).toBeLessThanOrEqual(truth);
        expect(bound).toBeGreaterThan(0);
      }),
      { numRuns: 400 },
    );
  });

  test('what is counted of a beginning holds for every text that begins so', () => {
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: 0, max: 100 }), (text, rest, limit) => {
        const beginning = countUpTo({ bytes: bytesOf(text), isWhole: false, limit });
        expect(beginning.exact).toBe(false);
        expect(beginning.tokens).toBeLessThanOrEqual(trueCount(text.toWellFormed() + rest));
      }),
      { numRuns: 250 },
    );
  });

  test('a beginning that ends within a word does not count the half word', () => {
    const text = " internationalization of responsibilities, misunderstandings and straightforwardness aren't we'll";
    for (let cut = 1; cut < text.length; cut++) {
      const { tokens } = countUpTo({ bytes: bytesOf(text.slice(0, cut)), isWhole: false, limit: 1000 });
      const truths = Array.from(text.slice(cut), (_, more) => trueCount(text.slice(0, cut + more + 1)));
      expect(tokens).toBeLessThanOrEqual(Math.min(...truths));
    }
  });

  test('an estimate over a text of one kind is near the truth', () => {
    const text = '{"name": "Vila", "lat": "42.53176", "country": "AD"}, '.repeat(2000);
    const truth = countAll(bytesOf(text));
    expect(Math.abs(estimateTokens([bytesOf(text)], text.length) - truth) / truth).toBeLessThan(0.02);
  });
});
