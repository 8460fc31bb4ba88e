// Paths of the file store and the sandbox stay where they belong, whatever text they are made from.
import { join, sep } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { pathBelow } from '../../activities/store/local-layout.ts';
import { normalizePath } from '../../activities/store/manifest.ts';
import { sha256Hex } from '../../shared/digest.ts';
import { LongshoreError } from '../../shared/errors.ts';
import { objectKey } from '../../shared/file-store.ts';

const hostile = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.stringMatching(/^[./\\%@\0a]{0,12}$/),
  fc
    .array(fc.constantFrom('..', '.', '/', 'sandbox', '\uD800', '\uDC00', '%2E', '~', 'é'), { maxLength: 8 })
    .map((p) => p.join('')),
);

test('a key made from any names gives a path strictly below the folder', () => {
  fc.assert(
    fc.property(fc.array(hostile, { minLength: 1, maxLength: 5 }), (names) => {
      const key = objectKey(sha256Hex, ...names);
      const path = pathBelow('/store', key);
      expect(path).toBe(['/store', ...key.split('/')].join(sep));
      expect(key.split('/').length).toBe(names.length);
      expect(join(path)).toBe(path);
      expect(path.split('/').every((part) => Buffer.byteLength(part) <= 200 && part !== '.' && part !== '..')).toBe(
        true,
      );
    }),
  );
});

test('any text taken as a key gives a path strictly below the folder or is refused', () => {
  fc.assert(
    fc.property(hostile, (key) => {
      const path = pathOrRefusal(key);
      expect(path === 'refused' || (path.startsWith('/store/') && !path.split('/').includes('..'))).toBe(true);
    }),
  );
});

test('distinct names give distinct keys', () => {
  fc.assert(
    fc.property(
      fc.array(hostile, { minLength: 1, maxLength: 3 }),
      fc.array(hostile, { minLength: 1, maxLength: 3 }),
      (a, b) => {
        const isSame = a.length === b.length && a.every((name, i) => name === b[i]);
        expect(objectKey(sha256Hex, ...a) === objectKey(sha256Hex, ...b)).toBe(isSame);
      },
    ),
  );
  expect(objectKey(sha256Hex, '\uD800')).not.toBe(objectKey(sha256Hex, '\uDFFF'));
  expect(objectKey(sha256Hex, '\uD800'.repeat(200))).not.toBe(objectKey(sha256Hex, '\uDFFF'.repeat(200)));
});

test('a sandbox path is normal and below /sandbox, or none', () => {
  fc.assert(
    fc.property(hostile, fc.boolean(), (text, below) => {
      const path = normalizePath(below ? `/sandbox/${text}` : text);
      if (path === null) return;
      expect(path).toMatch(/^\/sandbox\/[^/]/);
      expect(
        path
          .split('/')
          .slice(1)
          .some((part) => ['', '.', '..'].includes(part)),
      ).toBe(false);
      expect(normalizePath(path)).toBe(path);
    }),
  );
});

function pathOrRefusal(key: string): string {
  try {
    return pathBelow('/store', key);
  } catch (error) {
    if (error instanceof LongshoreError) return 'refused';
    throw error;
  }
}
