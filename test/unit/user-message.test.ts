// The check of a user's message.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkUserMessage, MAX_MESSAGE_BYTES, requireUserMessage, utf8Length } from '../../shared/user-message.ts';
import { parseDataAddress } from '../../shared/user-message-schema.ts';

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';

function check(content: unknown): string {
  const outcome = checkUserMessage({ type: 'user.message', content });
  if ('message' in outcome) return 'ok';
  return `${outcome.type} ${outcome.faults.map(({ path }) => path).join(' ')}`.trim();
}

const image = (url: unknown) => [{ type: 'image_url', image_url: { url } }];
const file = (file_data: unknown) => [{ type: 'file', file: { file_data } }];

describe('checkUserMessage', () => {
  test.each([
    ['a text', 'Hello'],
    ['text and image', [{ type: 'text', text: 'What is it?' }, ...image(PIXEL)]],
    ['an image alone', image(PIXEL)],
    ['an image by address', image('https://example.com/a.png?x=1')],
    ['a file with its media type', file('data:text/csv;charset=utf-8;base64,YSxi')],
    ['a PDF as bare base64', file('JVBERi0xLjcK')],
  ])('%s is accepted', (_name, content) => {
    expect(check(content)).toBe('ok');
  });

  test.each([
    ['', 'MessageEmpty content'],
    [' \n\t ', 'MessageEmpty content'],
    [[], 'MessageEmpty content'],
    [[{ type: 'text', text: ' ' }], 'MessageEmpty content'],
    [null, 'MessageInvalid content'],
    [undefined, 'MessageInvalid content'],
    [{ text: 'a' }, 'MessageInvalid content'],
    [['a'], 'MessageInvalid content.0'],
    [[{ type: 'audio' }], 'MessageInvalid content.0.type'],
    [image('http://example.com/a.png'), 'MessageInvalid content.0.image_url.url'],
    [image('file:///etc/passwd'), 'MessageInvalid content.0.image_url.url'],
    [image('data:text/html;base64,YSxi'), 'MessageInvalid content.0.image_url.url'],
    [image('data:image/png,raw'), 'MessageInvalid content.0.image_url.url'],
    [image('data:image/png;base64,'), 'MessageInvalid content.0.image_url.url'],
    [image('data:image/png;base64,a'), 'MessageInvalid content.0.image_url.url'],
    [image('data:image/png;base64,a-_b'), 'MessageInvalid content.0.image_url.url'],
    [image('data:;base64,YSxi'), 'MessageInvalid content.0.image_url.url'],
    [image(5), 'MessageInvalid content.0.image_url.url'],
    [file('YSxi'), 'MessageInvalid content.0.file.file_data'],
    [[{ type: 'text', text: 'a', cache: true }], 'MessageInvalid content.0.cache'],
  ])('the content %j is refused', (content, expected) => {
    expect(check(content)).toBe(expected);
  });

  test('a message of 10 MB is refused with its size, the limit and a mend', () => {
    expect(() => requireUserMessage({ type: 'user.message', content: 'x'.repeat(10_000_000) })).toThrow(
      expect.objectContaining({
        type: 'MessageTooLarge',
        message: 'The message has 10000036 bytes; the limit is 1048576',
        mend: expect.stringContaining('where a tool can read it'),
      }),
    );
  });

  test('the limit counts UTF-8 bytes of the JSON, and is met exactly', () => {
    const frame = JSON.stringify({ type: 'user.message', content: '' }).length;
    const fill = (MAX_MESSAGE_BYTES - frame) / 3;
    const exact = '語'.repeat(Math.floor(fill)) + 'x'.repeat((MAX_MESSAGE_BYTES - frame) % 3);
    expect(check(exact)).toBe('ok');
    expect(check(`${exact}x`)).toBe('MessageTooLarge');
  });

  test('requireUserMessage raises MessageEmpty, and lists several faults at once', () => {
    expect(() => requireUserMessage({ type: 'user.message', content: '' })).toThrow(
      expect.objectContaining({ type: 'MessageEmpty' }),
    );
    expect(() => requireUserMessage({ role: 'user', content: 5 })).toThrow(
      expect.objectContaining({ type: 'MessageInvalid', message: 'The message has 3 faults' }),
    );
  });
});

describe('utf8Length', () => {
  test('is the length of the encoded text, lone surrogates included', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0xffff })), fc.string({ unit: 'binary' }), (units, text) => {
        for (const each of [String.fromCharCode(...units), text])
          expect(utf8Length(each)).toBe(Buffer.byteLength(each));
      }),
    );
  });
});

describe('parseDataAddress', () => {
  test('gives the media type in lower case and the base64 as it is, for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1 }), (bytes) => {
        const base64 = Buffer.from(bytes).toString('base64');
        expect(parseDataAddress(`data:Image/PNG;name=a;base64,${base64}`)).toEqual({ mediaType: 'image/png', base64 });
      }),
    );
  });
});
