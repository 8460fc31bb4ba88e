// For every MCP result: nothing is lost, nothing throws, and what goes into records is bounded.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { pickPayload, type PickedPayload } from '../../activities/payload/pick.ts';
import type { JsonValue } from '../../shared/json.ts';
import type { ToolResponse } from '../../shared/tool-server.ts';

const words = fc.string({ unit: 'grapheme', maxLength: 40 });
const data = fc.uint8Array({ minLength: 1, maxLength: 60 });

const textBlock = words.map((text) => ({ type: 'text', text }));
const imageBlock = data.map((bytes) => ({
  type: 'image',
  mimeType: 'image/png',
  data: Buffer.from(bytes).toString('base64'),
}));
const textResource = fc.tuple(words, words).map(([uri, text]) => ({ type: 'resource', resource: { uri, text } }));
const blobResource = fc.tuple(words, data).map(([uri, bytes]) => ({
  type: 'resource',
  resource: { uri, blob: Buffer.from(bytes).toString('base64') },
}));
const link = words.map((uri) => ({ type: 'resource_link', uri, name: 'n' }));
const block = fc.oneof(textBlock, imageBlock, textResource, blobResource, link);
const content = fc.array(block, { maxLength: 8 });

function textsOf(payload: PickedPayload): string[] {
  return [payload.main.bytes, ...payload.blocks.map((picked) => picked.bytes)].map((bytes) =>
    Buffer.from(bytes).toString(),
  );
}

function holdsBytes(payload: PickedPayload, base64: string): boolean {
  return payload.blocks.some((picked) => Buffer.from(picked.bytes).toString('base64') === base64);
}

type Block = typeof block extends fc.Arbitrary<infer T> ? T : never;

function isKept(item: Block, payload: PickedPayload): boolean {
  const texts = textsOf(payload);
  if ('text' in item) return texts.some((text) => text.includes(item.text));
  if ('data' in item) return holdsBytes(payload, item.data);
  if ('name' in item) return texts.includes(JSON.stringify(item));
  if ('text' in item.resource) return texts.includes(item.resource.text);
  return holdsBytes(payload, item.resource.blob);
}

describe('pickPayload', () => {
  it('never loses a text, an image, a resource or a link', () => {
    fc.assert(
      fc.property(content, (blocks) => {
        const payload = pickPayload({ content: blocks });
        expect(blocks.filter((item) => !isKept(item, payload))).toEqual([]);
      }),
    );
  });

  it('never loses structured content: it stands in the payload, in a block, or the texts say it', () => {
    fc.assert(
      fc.property(content, fc.dictionary(words, fc.jsonValue({ maxDepth: 2 })), (blocks, object) => {
        const structuredContent = JSON.parse(JSON.stringify(object)) as JsonValue;
        const payload = pickPayload({ content: blocks, structuredContent });
        const kept = textsOf(payload).includes(JSON.stringify(structuredContent));
        const said = [structuredContent, ...Object.values(structuredContent as object)].some((value) =>
          blocks.some((item) => 'text' in item && (item.text === value || item.text.trim() === JSON.stringify(value))),
        );
        expect(kept || said || JSON.stringify(blocks) === JSON.stringify(Object.values(object)[0])).toBe(true);
      }),
    );
  });

  it('keeps one copy of structured content and a text that is its JSON, however it is written', () => {
    fc.assert(
      fc.property(fc.dictionary(words, fc.jsonValue()), fc.integer({ min: 0, max: 4 }), (object, indent) => {
        const structuredContent = JSON.parse(JSON.stringify(object)) as JsonValue;
        const text = JSON.stringify(structuredContent, null, indent);
        const payload = pickPayload({ content: [{ type: 'text', text }], structuredContent });
        expect(textsOf(payload)).toEqual([text]);
      }),
    );
  });

  it('keeps a wrapped text byte for byte, once', () => {
    fc.assert(
      fc.property(words, fc.constantFrom('content', 'result', 'text'), (text, name) => {
        const payload = pickPayload({ content: [{ type: 'text', text }], structuredContent: { [name]: text } });
        expect(textsOf(payload)).toEqual([text]);
      }),
    );
  });

  it('takes any result at all', () => {
    const anything = fc.record(
      {
        content: fc.oneof(fc.array(fc.oneof(block, fc.jsonValue())), fc.jsonValue()),
        structuredContent: fc.jsonValue(),
        isError: fc.oneof(fc.boolean(), fc.jsonValue()),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(anything, (result) => {
        const payload = pickPayload(result as unknown as ToolResponse);
        for (const picked of payload.blocks) {
          expect((picked.label ?? '').length).toBeLessThanOrEqual(2_000);
          expect(picked.extension).toMatch(/^[a-z0-9]{1,8}$/);
          expect(picked.mediaType).toMatch(/^[^\s]{3,100}$/);
        }
      }),
    );
  });
});
