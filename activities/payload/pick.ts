// Picks the payload out of an MCP result: what a person would expect to find in a file, not the envelope around it.
// Nothing is dropped: what is not the payload itself becomes a block beside it.
import { isObject, type JsonValue } from '../../shared/json.ts';
import type { ToolResponse } from '../../shared/tool-server.ts';
import { jsonBlock, pickBlock, textOf, type PickedBlock } from './blocks.ts';
import { cleanMediaType } from './extension.ts';
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
 * says the same as the rest counts once. Source: architecture D5.
 */
export function pickPayload(response: ToolResponse): PickedPayload {
  const content = Array.isArray(response.content) ? (response.content as readonly JsonValue[]) : [];
  const isError = response.isError === true;
  if (content.length > MOST_BLOCKS) return { main: jsonMain(wholeOf(response)), blocks: [], isError };

  const texts: string[] = [];
  const others: JsonValue[] = [];
  for (const block of content) {
    const text = textOf(block);
    if (text === undefined) others.push(block);
    else texts.push(text);
  }
  const text = texts.length === 1 ? (texts[0] ?? '') : texts.join('\n');
  const { structuredContent } = response;
  const twin = structuredContent === undefined ? 'blocks' : twinOf(structuredContent, { content, texts, text });
  const blocks = others.map((block) => pickBlock(block));
  return { ...arrange({ text, twin, structured: structuredContent, others, blocks }), isError };
}

interface Parts {
  readonly text: string;
  readonly twin: Twin;
  readonly structured: JsonValue | undefined;
  readonly others: readonly JsonValue[];
  /** Of `others`, one each. */
  readonly blocks: readonly PickedBlock[];
}

function arrange(parts: Parts): Omit<PickedPayload, 'isError'> {
  const { text, twin, structured, blocks } = parts;
  if (twin === 'list' && structured !== undefined)
    return { main: jsonMain(unwrapped(structured) ?? structured), blocks };
  if (text !== '') {
    const main = textMain(text, twin === 'json' ? 'application/json' : undefined);
    if (twin !== 'none' || structured === undefined) return { main, blocks };
    return { main, blocks: [...blocks, jsonBlock('structured', structured)] };
  }
  if (twin === 'none' && structured !== undefined) return { main: jsonMain(structured), blocks };
  return onlyTextResource(parts) ?? { main: textMain('', 'text/plain'), blocks };
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

function textMain(text: string, mediaType: string | undefined): PickedMain {
  return { bytes: Buffer.from(text), mediaType, isText: true };
}

function jsonMain(value: JsonValue): PickedMain {
  return textMain(JSON.stringify(value), 'application/json');
}
