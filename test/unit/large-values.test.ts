// Large values on their way from a message's bytes to its result: where they are taken out, what is left alone, who gets them.
import { afterEach, describe, expect, it, vi } from 'vitest';

import { EventLines } from '../../activities/mcp/event-lines.ts';
import { MOST_LEVELS } from '../../activities/mcp/depth.ts';
import { claimLarge, heldCount, shrink } from '../../activities/mcp/large-values.ts';
import { parseMessage, toToolResponse } from '../../activities/mcp/messages.ts';
import { pickPayload, type PickedPayload } from '../../activities/payload/pick.ts';
import type { JsonObject } from '../../shared/json.ts';

const LARGE = 'large enough, '.repeat(100_000);

function messageOf(result: unknown): Buffer {
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
}

function resultOf(small: string | undefined): JsonObject {
  if (small === undefined) throw new Error('nothing was taken out');
  return (JSON.parse(small) as { readonly result: JsonObject }).result;
}

function picked(result: unknown): PickedPayload {
  return pickPayload(toToolResponse(resultOf(shrink(messageOf(result)))));
}

const said = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');

describe('a message with large values', () => {
  afterEach(() => vi.useRealTimers());

  it('is small text, and its values lie in its own bytes', () => {
    const bytes = messageOf({ content: [{ type: 'text', text: `"${LARGE}"\n🦀` }] });
    const small = shrink(bytes);
    expect(small?.length).toBeLessThan(500);
    const [value] = [...(claimLarge(resultOf(small))?.values() ?? [])];
    expect(said(value?.bytes ?? new Uint8Array())).toBe(`"${LARGE}"\n🦀`);
    expect(value?.bytes.buffer).toBe(bytes.buffer);
  });

  it.each([
    ['a list of messages', [{ result: { content: [{ type: 'text', text: LARGE }] } }]],
    ['a value elsewhere', { result: { _meta: { text: LARGE }, other: { content: [{ text: LARGE }] } } }],
    ['an error', { error: { code: 1, message: LARGE } }],
    ['nothing large', { result: { content: [{ type: 'text', text: 'small' }] } }],
  ])('is left to be parsed: %s', (_, message) => {
    expect(shrink(Buffer.from(JSON.stringify(message)))).toBeUndefined();
  });

  it.each([
    ['a raw control character', `{"result":{"content":[{"type":"text","text":"${LARGE}\u0001"}]}}`],
    ['an unknown escape', `{"result":{"content":[{"type":"text","text":"${LARGE}\\x"}]}}`],
    ['more behind it', `{"result":{"content":[{"type":"text","text":"${LARGE}"}]}} {}`],
    ['an end too early', `{"result":{"content":[{"type":"text","text":"${LARGE}`],
    ['structured content that is no JSON', `{"result":{"structuredContent":{"a":"${LARGE}",}}}`],
  ])('is left as it was with %s', (_, text) => {
    const bytes = Buffer.from(text);
    expect(shrink(bytes)).toBeUndefined();
    expect(bytes.toString()).toBe(text);
  });

  it('is left as it was when it is no UTF-8', () => {
    const bytes = messageOf({ content: [{ type: 'text', text: `${LARGE}ÿ` }] });
    const broken = Buffer.concat([bytes.subarray(0, -6), Buffer.from([0xff]), bytes.subarray(-6)]);
    const before = Buffer.from(broken);
    expect(shrink(broken)).toBeUndefined();
    expect(broken.equals(before)).toBe(true);
  });

  it('is left to be parsed where structured content is nested too deeply to be kept', () => {
    const deep = (levels: number): string => `${'['.repeat(levels)}"${LARGE}"${']'.repeat(levels)}`;
    const message = (levels: number): Buffer => Buffer.from(`{"result":{"structuredContent":${deep(levels)}}}`);
    expect(shrink(message(MOST_LEVELS))).toBeUndefined();
    expect(shrink(message(100_000))).toBeUndefined();
    expect(claimLarge(resultOf(shrink(message(MOST_LEVELS - 1))))?.size).toBe(1);
  });

  it('drops what nobody claims, and says so to who comes late', () => {
    vi.useFakeTimers();
    const result = resultOf(shrink(messageOf({ content: [{ type: 'text', text: LARGE }] })));
    expect(heldCount()).toBe(1);
    vi.advanceTimersByTime(10_000);
    expect(heldCount()).toBe(0);
    expect(() => claimLarge(result)).toThrow('not taken in time');
  });

  it('gives a value once, so that no server can ask for that of another', () => {
    const result = resultOf(shrink(messageOf({ content: [{ type: 'text', text: LARGE }] })));
    expect(claimLarge(result)?.size).toBe(1);
    expect(() => claimLarge(result)).toThrow('not taken in time');
    expect(claimLarge({ content: [{ type: 'text', text: 'longshore-large-1' }] })).toBeUndefined();
  });

  it('stands whole in the words about an answer that breaks the form of JSON-RPC', () => {
    const message = { jsonrpc: '2.0', id: 1, result: { _meta: 7, content: [{ type: 'text', text: LARGE }] } };
    const error = parseMessage(shrink(Buffer.from(JSON.stringify(message))) ?? '');
    expect(error).toMatchObject({ error: { data: message } });
    expect(heldCount()).toBe(0);
  });
});

describe('the payload of large values', () => {
  const rows = { rows: Array.from({ length: 40_000 }, (_, id) => ({ id, name: 'one of the rows' })) };

  it('is the structured content where a short text says how much of it there is', () => {
    const { main, blocks } = picked({ content: [{ type: 'text', text: '40000 rows' }], structuredContent: rows });
    expect(said(main.bytes)).toBe('40000 rows');
    expect(blocks.map((block) => [block.kind, said(block.bytes)])).toEqual([['structured', JSON.stringify(rows)]]);
  });

  it('counts once what is sent as text and as structured content', () => {
    const text = JSON.stringify(rows);
    expect(picked({ content: [{ type: 'text', text }], structuredContent: rows })).toMatchObject({ blocks: [] });
    const wrapped = picked({ content: [{ type: 'text', text: LARGE }], structuredContent: { result: LARGE } });
    expect(said(wrapped.main.bytes)).toBe(LARGE);
    expect(wrapped.blocks).toEqual([]);
  });

  it('is what base64 says, and the base64 itself where it is none', () => {
    const data = Buffer.from(LARGE).toString('base64');
    const { blocks } = picked({
      content: [
        { type: 'image', mimeType: 'image/png', data: data.replaceAll(/.{76}/g, '$&\r\n') },
        { type: 'resource', resource: { uri: 'x:y.bin', blob: `${data}!` } },
      ],
    });
    expect(blocks.map((block) => said(block.bytes))).toEqual([LARGE, `${data}!`]);
  });

  it('stands in the JSON of blocks that nobody knows, and of results with too many blocks', () => {
    const unknown = { type: 'new', text: `"${LARGE}"\u0001\n` };
    expect(picked({ content: [unknown] }).blocks.map((block) => said(block.bytes))).toEqual([JSON.stringify(unknown)]);
    const content = [unknown, ...Array.from({ length: 1_000 }, () => ({ type: 'text', text: 'x' }))];
    expect(said(picked({ content, structuredContent: rows }).main.bytes)).toBe(
      JSON.stringify({ content, structuredContent: rows }),
    );
  });
});

describe('the lines of an event stream', () => {
  const message = messageOf({ content: [{ type: 'text', text: LARGE }] }).toString();

  function passed(text: string, chunkBytes: number): string {
    const lines = new EventLines(64 * 1024 * 1024);
    const bytes = Buffer.from(text);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += chunkBytes)
      pieces.push(...lines.append(bytes.subarray(at, at + chunkBytes)));
    return Buffer.concat(pieces).toString();
  }

  it.each([
    ['LF', '\n'],
    ['CR', '\r'],
    ['CRLF', '\r\n'],
  ])('come as they were, ended by %s, however they were cut', (_, end) => {
    const text = [': hello', 'id: 7', 'data: {"a":1}', 'data: 2', '', '', 'event: x', 'data:é', ''].join(end) + end;
    for (const size of [1, 2, 3, 7, 1_000]) expect(passed(text, size)).toBe(text);
  });

  it.each(['\n', '\r', '\r\n'])('lose the large values of a message in one line, ended by %j', (end) => {
    const text = `id: 1${end}data: ${message}${end}${end}`;
    for (const size of [65_535, 10_000_000]) {
      const small = passed(text, size);
      expect(small.length).toBeLessThan(500);
      expect(small.startsWith(`id: 1${end}data: {"jsonrpc"`) && small.endsWith(`}${end}${end}`)).toBe(true);
      const data = /data: (.*)/.exec(small)?.[1];
      expect(said(pickPayload(toToolResponse(resultOf(data))).main.bytes)).toBe(LARGE);
    }
  });

  it('keep a large line that is a further part of a message, or no message', () => {
    for (const text of [`data: [\ndata: ${message}\ndata: ]\n\n`, `: ${message}\n\n`, `data: ${LARGE}\n\n`]) {
      expect(passed(text, 65_536)).toBe(text);
    }
    expect(heldCount()).toBe(0);
  });
});
