// For every MCP result: taken apart as bytes, with placeholders in its messages, it gives what it gives when it is parsed.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { claimLarge, heldCount, shrink } from '../../activities/mcp/large-values.ts';
import { toToolResponse } from '../../activities/mcp/messages.ts';
import { pickPayload, type PickedPayload } from '../../activities/payload/pick.ts';
import { endOfString, unescapeInPlace } from '../../activities/payload/json-strings.ts';
import type { JsonObject } from '../../shared/json.ts';

const words = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 30 }), fc.string({ unit: 'binary', maxLength: 30 }));
const base64 = fc.oneof(
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => `data:image/png;base64,${Buffer.from(bytes).toString('base64url')}`),
  fc.uint8Array({ maxLength: 90 }).map((bytes) => Buffer.from(bytes).toString('base64').replaceAll(/.{20}/g, '$&\r\n')),
  words,
  fc.constantFrom('A', 'AAA=A', '====', 'AA==', ' AAAA ', 'AA=\n=', 'AAAA='),
);
const plain = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
/** Texts that are JSON of something, in several spellings. */
const jsonText = fc
  .tuple(plain, fc.integer({ min: 0, max: 3 }))
  .map(([value, indent]) => JSON.stringify(value, null, indent));
const text = fc.oneof(words, jsonText);
const block = fc.oneof(
  text.map((said) => ({ type: 'text', text: said })),
  fc.record({ type: fc.constantFrom('image', 'audio'), mimeType: words, data: base64 }),
  fc.tuple(words, text).map(([uri, said]) => ({ type: 'resource', resource: { uri, text: said } })),
  fc.tuple(words, base64).map(([uri, blob]) => ({ type: 'resource', resource: { uri, blob } })),
  fc.record({ type: words, text, data: words, resource: plain }),
  plain,
);
/** Content and structured content that say the same, as servers send both. */
const twins = fc
  .tuple(plain, fc.constantFrom('result', 'content', 'other'), fc.integer({ min: 0, max: 2 }), words)
  .chain(([value, name, indent, said]) => {
    const json = JSON.stringify(value, null, indent);
    return fc.constantFrom<unknown>(
      { content: [{ type: 'text', text: json }], structuredContent: value },
      { content: [{ type: 'text', text: json }], structuredContent: { [name]: value } },
      { content: [{ type: 'text', text: said }], structuredContent: { [name]: said } },
      {
        content: [
          { type: 'text', text: json },
          { type: 'text', text: said },
        ],
        structuredContent: { [name]: [value, said] },
      },
      {
        content: [
          { type: 'text', text: said },
          { type: 'text', text: said },
        ],
        structuredContent: { [name]: [said, said] },
      },
      { content: [{ type: 'text', text: said }], structuredContent: [{ type: 'text', text: said }] },
      { content: [{ type: 'text', text: said }], structuredContent: { [name]: [{ text: said, type: 'text' }] } },
    );
  });
const result = fc.oneof(
  twins,
  fc.record(
    { content: fc.oneof(fc.array(block, { maxLength: 6 }), plain), structuredContent: plain, isError: fc.boolean() },
    { requiredKeys: [] },
  ),
);

/** A message as a server may write it: with blanks, and with escapes where none is needed. */
function bytesOf(message: unknown, spelling: { readonly indent: number; readonly escaped: boolean }): Buffer {
  const json = JSON.stringify(message, null, spelling.indent);
  if (!spelling.escaped) return Buffer.from(json);
  const ascii = json.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return Buffer.from(ascii);
}

/** JSON written by the server and JSON written here say the same in different letters. */
function comparable({ main, blocks, isError }: PickedPayload): unknown {
  const bytes = (one: { readonly bytes: Uint8Array; readonly mediaType: string | undefined }): string => {
    const said = Buffer.from(one.bytes).toString('latin1');
    return one.mediaType === 'application/json' ? JSON.stringify(JSON.parse(Buffer.from(one.bytes).toString())) : said;
  };
  return {
    main: { ...main, bytes: bytes(main) },
    blocks: blocks.map((one) => ({ ...one, bytes: bytes(one) })),
    isError,
  };
}

function resultOf(small: string): JsonObject {
  return (JSON.parse(small) as { readonly result: JsonObject }).result;
}

function isMessage(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString());
    return true;
  } catch {
    // No JSON: that is what was asked.
    return false;
  }
}

const spelling = fc.record({ indent: fc.integer({ min: 0, max: 2 }), escaped: fc.boolean() });

describe('a result taken out of a message as bytes', () => {
  it('gives the payload that it gives when it is parsed', () => {
    let shrunk = 0;
    fc.assert(
      fc.property(result, spelling, fc.integer({ min: 0, max: 40 }), (given, how, leastBytes) => {
        const bytes = bytesOf({ jsonrpc: '2.0', id: 1, result: given }, how);
        const parsed = JSON.parse(bytes.toString()) as { readonly result: JsonObject };
        const expected = comparable(pickPayload(toToolResponse(parsed.result)));
        const small = shrink(bytes, leastBytes);
        if (small === undefined) return;
        shrunk += 1;
        const response = toToolResponse(resultOf(small));
        expect(comparable(pickPayload(response))).toEqual(expected);
        expect(heldCount()).toBe(0);
      }),
      { numRuns: 3_000 },
    );
    expect(shrunk).toBeGreaterThan(1_000);
  });

  it('is left as it was where the bytes are no message', () => {
    const cut = fc.tuple(result, fc.nat(), fc.uint8Array({ maxLength: 2 }));
    fc.assert(
      fc.property(cut, ([given, at, noise]) => {
        const whole = bytesOf({ result: given }, { indent: 0, escaped: false });
        const bytes = Buffer.concat([whole.subarray(0, at % whole.length), noise, whole.subarray(at % whole.length)]);
        const before = Buffer.from(bytes);
        const small = shrink(bytes, 0);
        const isJson = small !== undefined && isMessage(before);
        if (small !== undefined) claimLarge(resultOf(small));
        expect(small === undefined ? bytes.equals(before) : isJson).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a JSON string as bytes', () => {
  const piece = fc.constantFrom(
    'a',
    'zwölf',
    '🦀',
    '\\n',
    '\\"',
    '\\\\',
    '\\/',
    '\\u00e9',
    '\\ud83d',
    '\\uDE00',
    '\\uD83D\\uDE00',
    '\\u0000',
    '"',
    '\n',
    '\\x',
    '\\u12',
    '\\b\\f\\r\\t',
    '\u007f',
    'plain text of some length',
  );

  it('ends, and says, what JSON.parse says', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), fc.nat({ max: 4 }), (pieces, shift) => {
        const json = pieces.join('');
        const bytes = Buffer.from(`${' '.repeat(shift)}${json}" and more`);
        const end = endOfString(bytes, shift);
        const expected = parsedStart(json);
        expect(end === -1 ? undefined : end - shift).toBe(expected?.length);
        const content = end === -1 ? Buffer.alloc(0) : unescapeInPlace(bytes.subarray(shift, end));
        expect(content).toEqual(Buffer.from(expected?.value ?? ''));
      }),
      { numRuns: 5_000 },
    );
  });
});

/** What is up to the first quotation mark that ends a string, and its length in bytes. */
function parsedStart(json: string): { readonly value: string; readonly length: number } | undefined {
  const whole = `${json}"`;
  for (let at = whole.indexOf('"'); at !== -1; at = whole.indexOf('"', at + 1)) {
    try {
      const start = whole.slice(0, at);
      return { value: JSON.parse(`"${start}"`) as string, length: Buffer.byteLength(start) };
    } catch {
      // An escaped quotation mark, or no valid string at all.
    }
  }
  return undefined;
}
