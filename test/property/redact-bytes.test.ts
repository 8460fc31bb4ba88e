// Secrets in bytes: taken out as they are out of texts, and what surrounds them stays byte for byte.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { redact } from '../../shared/mcp-config-schema.ts';
import { redactBytes } from '../../worker/secrets.ts';

const secrets = fc.array(fc.constantFrom('aba', 'ab', 'ü€', 'bab', 'secret', ''), { maxLength: 4 });
const pieces = fc.array(fc.oneof(fc.constantFrom('a', 'b', 'ü€', 'secret'), fc.string({ unit: 'grapheme' })));

test('bytes are always redacted as their text is, and other bytes stay as they were', () => {
  fc.assert(
    fc.property(pieces, secrets, fc.uint8Array(), (words, hidden, junk) => {
      const text = words.join('');
      expect(Buffer.from(redactBytes(Buffer.from(text), hidden)).toString()).toBe(redact(text, hidden));
      const bytes = Uint8Array.from([...junk, 0xff, ...Buffer.from('secret'), 0xff, ...junk]);
      const clean = Buffer.from(redactBytes(bytes, ['secret']));
      expect(clean).toEqual(
        Buffer.concat([junk, Buffer.of(0xff), Buffer.from(redact('x', ['x'])), Buffer.of(0xff), junk]),
      );
    }),
  );
});

test('bytes without a secret are given back as they are', () => {
  const bytes = Buffer.alloc(1_000, 'x');
  expect(redactBytes(bytes, ['secret'])).toBe(bytes);
});
