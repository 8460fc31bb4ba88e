// Secrets in other spellings, and where lines are cut: whatever surrounds one, nothing worth the name is left of it.
import { Buffer } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineLog } from '../../activities/mcp/line-log.ts';
import { longestForm, redact } from '../../shared/secret-redaction.ts';
import { createSearch } from '../../shared/secret-search.ts';
import { redactBytes } from '../../worker/secrets.ts';

const secret = fc.string({ unit: 'grapheme', minLength: 8, maxLength: 60 });
const around = fc.uint8Array({ maxLength: 20 });

/** What is left of an encoded text beside the mark, by both ways of redacting. */
function leftOf(encoded: string, hidden: string): number {
  const text = redact(encoded, [hidden]);
  expect(Buffer.from(redactBytes(Buffer.from(encoded), [hidden])).toString()).toBe(text);
  expect(text).toContain('[redacted]');
  return text.replaceAll('[redacted]', '').length;
}

describe('[SECRET-5] a secret', () => {
  it.each(['base64', 'base64url'] as const)('in %s is always found, wherever it begins', (encoding) => {
    fc.assert(
      fc.property(around, secret, around, (before, hidden, after) => {
        const encoded = Buffer.concat([before, Buffer.from(hidden), after]).toString(encoding);
        // At each end one character hangs on its neighbour, and what is not the secret's stays.
        expect(leftOf(encoded, hidden)).toBeLessThanOrEqual(Math.ceil(((before.length + after.length) * 4) / 3) + 8);
      }),
    );
  });

  it('in hexadecimal and percent-encoded is always found whole', () => {
    fc.assert(
      fc.property(secret, (hidden) => {
        const bytes = Buffer.from(hidden);
        const asForm = new URLSearchParams({ q: hidden.toWellFormed() }).toString().slice(2);
        const inUrl = encodeURIComponent(hidden.toWellFormed());
        const spellings = [bytes.toString('hex'), bytes.toString('hex').toUpperCase(), inUrl, asForm];
        for (const text of spellings) expect({ text, left: leftOf(`<${text}>`, hidden) }).toEqual({ text, left: 2 });
      }),
    );
  });

  it('is in none of the other spellings where it is short', () => {
    const text = Buffer.from('short').toString('hex') + Buffer.from('sevenab').toString('base64');
    expect(redact(text, ['short', 'sevenab'])).toBe(text);
  });
});

describe('[SECRET-5] the search for many texts', () => {
  const units = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '€'), maxLength: 60 });
  const patterns = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '€'), maxLength: 6 }), {
    maxLength: 6,
  });

  it('always finds what a search for each of them finds', () => {
    fc.assert(
      fc.property(units, patterns, (text, wanted) => {
        const covered = (length: number, spans: readonly { start: number; end: number }[]): boolean[] =>
          Array.from({ length }, (_, at) => spans.some(({ start, end }) => start <= at && at < end));
        const naive = wanted.flatMap((one) =>
          one === ''
            ? []
            : Array.from(text).flatMap((_, at) =>
                text.startsWith(one, at) ? [{ start: at, end: at + one.length }] : [],
              ),
        );
        const found = createSearch(wanted)(text);
        expect(covered(text.length, found)).toEqual(covered(text.length, naive));
        expect(found.every(({ start }, at) => at === 0 || start >= (found[at - 1]?.end ?? 0))).toBe(true);
      }),
    );
  });
});

describe('[SECRET-6] a line that a server prints', () => {
  it('never shows more than a few characters of a secret, wherever the line, its pieces and the log cut it', () => {
    const hiddenWords = fc.array(
      fc.string({
        unit: fc.constantFrom('A', 'B', 'C', 'D', 'E', 'F', 'G', '2', '3', '4'),
        minLength: 10,
        maxLength: 100,
      }),
      { minLength: 1, maxLength: 3 },
    );
    const plain = fc.integer({ min: 0, max: 4_500 }).map((length) => 'plain text '.repeat(500).slice(0, length));
    const pieces = fc.array(fc.tuple(plain, fc.nat(2), fc.integer({ min: 1, max: 300 })), {
      minLength: 1,
      maxLength: 4,
    });
    const cuts = fc.array(fc.nat(60_000), { maxLength: 6 });
    fc.assert(
      fc.property(hiddenWords, pieces, cuts, fc.boolean(), (secrets, parts, at, ends) => {
        const written: string[] = [];
        const log = new LineLog({
          redact: (text) => redact(text, secrets),
          longestSecret: () => longestForm(secrets),
          write: (line) => written.push(line),
        });
        const text = parts
          .map(([words, which, times]) => words + (secrets[which % secrets.length] ?? '').repeat(times))
          .join('');
        const bytes = Buffer.from(ends ? `${text}\n` : text);
        const places = [0, ...at.filter((place) => place < bytes.length).sort((a, b) => a - b), bytes.length];
        places.slice(1).forEach((end, index) => log.append(bytes.subarray(places[index], end)));
        const shown = [...written, log.lastLines].join('\n');
        expect(shown.match(/[A-Z2-9]{6,}/)).toBeNull();
        expect(written).toHaveLength(ends ? 1 : 0);
      }),
      { numRuns: 200 },
    );
  });

  it('shows no line of a key in several lines', () => {
    const line = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7';
    const written: string[] = [];
    const secrets = [`-----BEGIN KEY-----\n${line}\nshort\n`, line];
    const log = new LineLog({
      redact: (text) => redact(text, secrets),
      longestSecret: () => longestForm(secrets),
      write: (text) => written.push(text),
    });
    log.append(Buffer.from(`key: ${line}\n`));
    expect(written).toEqual(['key: [redacted]']);
  });
});
