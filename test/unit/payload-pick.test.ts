// What a person finds in the file of a tool result: the payload without its envelope, whole, once.
import { describe, expect, it } from 'vitest';

import { pickPayload, type PickedPayload } from '../../activities/payload/pick.ts';
import type { JsonValue } from '../../shared/json.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

function pick(content: readonly JsonValue[], structuredContent?: JsonValue): PickedPayload {
  return pickPayload({ content, ...(structuredContent !== undefined && { structuredContent }) });
}

function mainText(payload: PickedPayload): string {
  return Buffer.from(payload.main.bytes).toString('utf8');
}

const text = (value: string): JsonValue => ({ type: 'text', text: value });

describe('the text of a result', () => {
  it('keeps real line breaks as they are (view-3)', () => {
    expect(mainText(pick([text('first\nsecond\r\n')]))).toBe('first\nsecond\r\n');
  });

  it('joins several texts by a newline', () => {
    expect(mainText(pick([text('a'), text('b')]))).toBe('a\nb');
  });

  it('leaves the media type to a look at the bytes', () => {
    expect(pick([text('{"a": 1}')]).main).toMatchObject({ mediaType: undefined, isText: true });
  });

  it('takes a bare string, which the protocol does not allow, for a text', () => {
    expect(mainText(pick(['plain']))).toBe('plain');
  });

  it('keeps the flag of an error', () => {
    expect(pickPayload({ content: [text('no')], isError: true }).isError).toBe(true);
    expect(pick([text('yes')]).isError).toBe(false);
  });
});

describe('structured content that says what the text says', () => {
  it.each([
    ['its JSON', '{"a":1,"b":[2]}', { a: 1, b: [2] }],
    ['its JSON in another order and form', '{\n  "b": [2],\n  "a": 1\n}', { a: 1, b: [2] }],
    ['the JSON of what a result wrapper holds', '[1, 2]', { result: [1, 2] }],
    ['the JSON of a wrapped string', '"x"', { result: 'x' }],
    ['the JSON of a wrapped number', '33', { result: 33 }],
    ['the JSON of an array', '[{"a":1}]', [{ a: 1 }]],
  ])('counts once: %s', (_, said, structured) => {
    const payload = pick([text(said)], structured);
    expect(mainText(payload)).toBe(said);
    expect(payload.main.mediaType).toBe('application/json');
    expect(payload.blocks).toEqual([]);
  });

  it.each([
    ['a content wrapper', { content: 'line one\nline two' }],
    ['a result wrapper', { result: 'line one\nline two' }],
    ['a wrapper of any other name', { answer: 'line one\nline two' }],
  ])('counts once as text: %s (view-7)', (_, structured) => {
    const payload = pick([text('line one\nline two')], structured);
    expect(mainText(payload)).toBe('line one\nline two');
    expect(payload.blocks).toEqual([]);
  });

  it('counts once when it lists the texts, which stay lines', () => {
    const payload = pick([text('a'), text('b')], { result: ['a', 'b'] });
    expect(mainText(payload)).toBe('a\nb');
    expect(payload.blocks).toEqual([]);
  });

  it('is one JSON list when the texts are its items', () => {
    const payload = pick([text('{"a": 1}'), text('{"a": 2}')], { result: [{ a: 1 }, { a: 2 }] });
    expect(mainText(payload)).toBe('[{"a":1},{"a":2}]');
    expect(payload.main.mediaType).toBe('application/json');
    expect(payload.blocks).toEqual([]);
  });

  it('counts once when the text says it and more', () => {
    const payload = pick([text('Found one.'), text('{"a":1}')], { a: 1 });
    expect(mainText(payload)).toBe('Found one.\n{"a":1}');
    expect(payload.blocks).toEqual([]);
  });

  it('counts once when it repeats the blocks', () => {
    const image = { type: 'image', data: PNG, mimeType: 'image/png' };
    const payload = pick([image], { content: [image] });
    expect(payload.main.bytes).toHaveLength(0);
    expect(payload.blocks.map((block) => block.kind)).toEqual(['image']);
  });
});

describe('structured content that says something of its own (view-4)', () => {
  it('is the payload when there is no text', () => {
    const payload = pick([], { b: 1, a: ['x'] });
    expect(mainText(payload)).toBe('{"b":1,"a":["x"]}');
    expect(payload.main.mediaType).toBe('application/json');
  });

  it('is a block beside a text that says other things', () => {
    const structured = { one: 1, two: 2, three: 3, four: 4, five: 5 };
    const payload = pick([text('A long story.')], structured);
    expect(mainText(payload)).toBe('A long story.');
    expect(payload.blocks).toMatchObject([{ kind: 'structured', extension: 'json', mediaType: 'application/json' }]);
    expect(JSON.parse(Buffer.from(payload.blocks[0]?.bytes ?? []).toString())).toEqual(structured);
  });

  it('is kept when its only member has a name that means something', () => {
    const payload = pick([text('33')], { temperature: 33 });
    expect(payload.blocks.map((block) => Buffer.from(block.bytes).toString())).toEqual(['{"temperature":33}']);
  });

  it('is kept when the text is the JSON of something else', () => {
    expect(pick([text('{"a":1}')], { a: 2 }).blocks).toHaveLength(1);
  });
});

describe('an empty result (view-4)', () => {
  it('is empty without content', () => {
    const payload = pick([]);
    expect(payload).toMatchObject({ main: { mediaType: 'text/plain', isText: true }, blocks: [], isError: false });
    expect(payload.main.bytes).toHaveLength(0);
  });

  it('is empty for an empty text and its twin', () => {
    const payload = pick([text('')], { content: '' });
    expect(payload.main.bytes).toHaveLength(0);
    expect(payload.blocks).toEqual([]);
  });

  it('is an empty object for an empty object, and an empty list for one', () => {
    expect(mainText(pick([], {}))).toBe('{}');
    expect(mainText(pick([], []))).toBe('[]');
  });
});

describe('further blocks', () => {
  it('decodes images and sounds', () => {
    const payload = pick([
      text('see'),
      { type: 'image', data: PNG, mimeType: 'image/png' },
      { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
    ]);
    expect(payload.blocks).toMatchObject([
      { kind: 'image', mediaType: 'image/png', extension: 'png' },
      { kind: 'audio', mediaType: 'audio/wav', extension: 'wav' },
    ]);
    expect(Buffer.from(payload.blocks[0]?.bytes ?? []).toString('base64')).toBe(PNG);
  });

  it.each([
    ['line breaks', 'AAEC\nAwQF\n'],
    ['a data URL', 'data:image/png;base64,AAECAwQF'],
    ['no padding', 'AAECAwQF'],
  ])('decodes base64 with %s', (_, data) => {
    const [block] = pick([{ type: 'image', data, mimeType: 'image/png' }]).blocks;
    expect([...(block?.bytes ?? [])]).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it.each(['not base64 at all!', 'no!base64', 'AA=A', 'A', ''])(
    'keeps an image that is none as the text it came as: "%s"',
    (data) => {
      const [block] = pick([{ type: 'image', data, mimeType: 'image/png' }]).blocks;
      expect(block).toMatchObject({ kind: 'text', mediaType: 'text/plain', extension: 'txt' });
      expect(Buffer.from(block?.bytes ?? []).toString()).toBe(data);
      expect(block?.label).toContain('image/png');
    },
  );

  it('keeps an embedded text resource beside an acknowledgement, with its address (view-5)', () => {
    const resource = { uri: 'file:///notes.md', mimeType: 'text/markdown', text: '# Notes\n\nreal lines\n' };
    const payload = pick([text('Here it is.'), { type: 'resource', resource }]);
    expect(mainText(payload)).toBe('Here it is.');
    expect(payload.blocks).toMatchObject([
      { kind: 'resource', mediaType: 'text/markdown', extension: 'md', label: 'file:///notes.md' },
    ]);
    expect(Buffer.from(payload.blocks[0]?.bytes ?? []).toString()).toBe(resource.text);
  });

  it('makes a text resource the payload when it is all there is', () => {
    const payload = pick([{ type: 'resource', resource: { uri: 'x://1', mimeType: 'text/csv', text: 'a,b\n1,2\n' } }]);
    expect(mainText(payload)).toBe('a,b\n1,2\n');
    expect(payload.main.mediaType).toBe('text/csv');
    expect(payload.blocks).toEqual([]);
  });

  it('keeps two text resources as blocks', () => {
    const resource = (uri: string): JsonValue => ({ type: 'resource', resource: { uri, text: uri } });
    const payload = pick([resource('x://1'), resource('x://2')]);
    expect(payload.main.bytes).toHaveLength(0);
    expect(payload.blocks.map((block) => block.label)).toEqual(['x://1', 'x://2']);
  });

  it('decodes a blob and takes its extension from its address when the type says nothing', () => {
    const [block] = pick([{ type: 'resource', resource: { uri: 'file:///a/b.parquet', blob: 'AAEC' } }]).blocks;
    expect(block).toMatchObject({ kind: 'resource', mediaType: 'application/octet-stream', extension: 'parquet' });
  });

  it('keeps a link as its JSON', () => {
    const link = { type: 'resource_link', uri: 'x://1', name: 'one', description: 'The first' };
    const [block] = pick([link]).blocks;
    expect(block).toMatchObject({ kind: 'resource-link', extension: 'json', label: 'x://1' });
    expect(JSON.parse(Buffer.from(block?.bytes ?? []).toString())).toEqual(link);
  });

  it('keeps a block of an unknown type as its JSON', () => {
    const [block] = pick([{ type: 'hologram', beams: 3 }]).blocks;
    expect(block).toMatchObject({ kind: 'text', label: 'hologram' });
    expect(Buffer.from(block?.bytes ?? []).toString()).toBe('{"type":"hologram","beams":3}');
  });

  it('is one JSON document above a thousand blocks', () => {
    const content = Array.from({ length: 1_001 }, (_, index) => text(String(index)));
    const payload = pick(content, { more: true });
    expect(payload.blocks).toEqual([]);
    expect(JSON.parse(mainText(payload))).toEqual({ content, structuredContent: { more: true } });
  });

  it('bounds and cleans labels and media types', () => {
    const uri = `x://a\u0000b\u202e\n${'z'.repeat(5_000)}`;
    const [block] = pick([{ type: 'resource', resource: { uri, mimeType: `a\nb`, blob: 'AAEC' } }]).blocks;
    expect(block?.label?.length).toBeLessThanOrEqual(2_000);
    expect(block?.label).not.toMatch(/\p{C}/u);
    expect(block?.mediaType).toBe('application/octet-stream');
  });
});

describe('the cost', () => {
  it('takes a text of 50 MB and its wrapped twin in one comparison and one copy', () => {
    const value = 'some words and a line break\n'.repeat(1_800_000);
    const before = performance.now();
    const payload = pick([text(value)], { content: value.slice(0, -1).concat('\n') });
    expect(performance.now() - before).toBeLessThan(1_500);
    expect(payload.main.bytes).toHaveLength(value.length);
    expect(payload.blocks).toEqual([]);
  });
});
