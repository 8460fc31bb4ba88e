// Picks the payload out of an MCP result: what a person would expect to find in a file, not the envelope around it.
// Nothing is dropped: what is not the payload itself becomes a block beside it.
import { isObject, type JsonValue } from '../../shared/json.ts';
import type { ToolResponse } from '../../shared/tool-server.ts';
import { bytesOf, jsonBlock, pickBlock, textOf, type PickedBlock } from './blocks.ts';
import { cleanMediaType } from './extension.ts';
import { jsonBytes, NOTHING_LARGE, type LargeValues } from './large-json.ts';
import { twinOfLarge, unwrappedLarge } from './large-twins.ts';
import { twinOf, unwrapped, type Twin } from './twins.ts';

/** The payload itself. */
interface PickedMain {
  /** Empty for a result without text, structured content or a single text resource. */
  readonly bytes: Uint8Array;
  /** As far as the result itself says; `undefined` where only a look at the bytes can tell. */
  readonly mediaType: string | undefined;
  readonly isText: boolean;
}

/** A result taken apart. */
export interface PickedPayload {
  readonly main: PickedMain;
  /** In the order of the result; structured content that says more than the text comes last. */
  readonly blocks: readonly PickedBlock[];
  readonly isError: boolean;
}

/** Above this number of blocks the whole result is kept as one JSON document. */
const MOST_BLOCKS = 1_000;

/**
 * Takes a result apart. Total: a result of any form gives a payload, and every text, image and resource of it stands
 * in the payload or in a block. Texts are joined by a newline and otherwise kept as they came; structured content that
 * says the same as the rest counts once. Large values become the payload within their own memory, so that a response that
 * has some is taken apart once. Source: architecture D5.
 */
export function pickPayload(response: ToolResponse): PickedPayload {
  const content = Array.isArray(response.content) ? (response.content as readonly JsonValue[]) : [];
  const isError = response.isError === true;
  const { structuredContent, large = NOTHING_LARGE } = response;
  if (content.length > MOST_BLOCKS) return { main: jsonMain(jsonBytes(wholeOf(response), large)), blocks: [], isError };

  const texts: string[] = [];
  const others: JsonValue[] = [];
  for (const block of content) {
    const text = textOf(block);
    if (text === undefined) others.push(block);
    else texts.push(text);
  }
  const { text, relation } = compared({ content, texts, structured: structuredContent, large });
  const blocks = others.map((block) => pickBlock(block, large));
  return { ...arrange({ text, ...relation, others, blocks }), isError };
}

interface Compared {
  /** The texts, joined. */
  readonly text: Buffer;
  readonly relation: Relation;
}

/** Structured content beside the rest. */
interface Relation {
  readonly twin: Twin;
  /** Its JSON, for twins `none` and `list`; what a wrapper holds is unwrapped for `list`. */
  readonly structured?: Buffer;
}

interface Uncompared {
  readonly content: readonly JsonValue[];
  readonly texts: readonly string[];
  readonly structured: JsonValue | undefined;
  readonly large: LargeValues;
}

function compared({ content, texts, structured, large }: Uncompared): Compared {
  if (large.size > 0) {
    const bytes = texts.map((text) => bytesOf(text, large));
    const text = joined(bytes);
    if (structured === undefined) return { text, relation: { twin: 'blocks' } };
    const json = jsonBytes(structured, large);
    const twin = twinOfLarge(json, { content, large, texts: bytes, text });
    return { text, relation: { twin, structured: (twin === 'list' ? unwrappedLarge(json) : undefined) ?? json } };
  }
  const text = texts.length === 1 ? (texts[0] ?? '') : texts.join('\n');
  const twin = structured === undefined ? 'blocks' : twinOf(structured, { content, texts, text });
  const isKept = structured !== undefined && (twin === 'none' || twin === 'list');
  const kept = isKept
    ? { structured: jsonBytes(twin === 'list' ? (unwrapped(structured) ?? structured) : structured) }
    : {};
  return { text: Buffer.from(text), relation: { twin, ...kept } };
}

function joined(texts: readonly Buffer[]): Buffer {
  const [only] = texts;
  if (texts.length === 1 && only !== undefined) return only;
  const newline = Buffer.from('\n');
  return Buffer.concat(texts.flatMap((text, index) => (index === 0 ? [text] : [newline, text])));
}

interface Parts extends Relation {
  readonly text: Buffer;
  readonly others: readonly JsonValue[];
  /** Of `others`, one each. */
  readonly blocks: readonly PickedBlock[];
}

function arrange(parts: Parts): Omit<PickedPayload, 'isError'> {
  const { text, twin, structured, blocks } = parts;
  if (twin === 'list' && structured !== undefined) return { main: jsonMain(structured), blocks };
  if (text.length > 0) {
    const main = textMain(text, twin === 'json' ? 'application/json' : undefined);
    if (twin !== 'none' || structured === undefined) return { main, blocks };
    return { main, blocks: [...blocks, jsonBlock('structured', structured)] };
  }
  if (twin === 'none' && structured !== undefined) return { main: jsonMain(structured), blocks };
  return onlyTextResource(parts) ?? { main: textMain(text, 'text/plain'), blocks };
}

/** Where a result is one text resource and no text, its body is the payload. */
function onlyTextResource({ others, blocks }: Parts): Omit<PickedPayload, 'isError'> | undefined {
  const indexes = others.flatMap((block, index) => (resourceTextOf(block) === undefined ? [] : [index]));
  const [index] = indexes;
  const block = index === undefined ? undefined : blocks[index];
  if (indexes.length !== 1 || block === undefined || index === undefined) return undefined;
  const mediaType = cleanMediaType(resourceOf(others[index])?.['mimeType']);
  return {
    main: { bytes: block.bytes, mediaType, isText: true },
    blocks: blocks.filter((_, position) => position !== index),
  };
}

function resourceOf(block: JsonValue | undefined): Record<string, unknown> | undefined {
  if (!isObject(block) || block['type'] !== 'resource') return undefined;
  return isObject(block['resource']) ? block['resource'] : undefined;
}

function resourceTextOf(block: JsonValue): string | undefined {
  const text = resourceOf(block)?.['text'];
  return typeof text === 'string' ? text : undefined;
}

function wholeOf(response: ToolResponse): JsonValue {
  const { content, structuredContent } = response;
  return structuredContent === undefined ? { content } : { content, structuredContent };
}

function textMain(bytes: Buffer, mediaType: string | undefined): PickedMain {
  return { bytes, mediaType, isText: true };
}

function jsonMain(json: Buffer): PickedMain {
  return textMain(json, 'application/json');
}
