// One content block of an MCP result as bytes with a kind, a media type and a name. Total: a block of any form gives one.
import type { BlockFacts } from '../../shared/facts.ts';
import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { decodeBase64 } from './base64.ts';
import { cleanMediaType, extensionOf } from './extension.ts';
import { jsonBytes, NOTHING_LARGE, viewOf, type LargeValues } from './large-json.ts';

/** A further block of a result, decoded. */
export interface PickedBlock {
  readonly kind: BlockFacts['kind'];
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  /** Without a dot. */
  readonly extension: string;
  /** A resource's address, a link's address, or what was wrong; at most 2,000 characters, no control characters. */
  readonly label?: string;
}

/** More than is shown of one: it is cut shorter where secrets have been taken out. */
const LONGEST_LABEL = 2_000;
const GENERIC_TYPES: ReadonlySet<string> = new Set(['text/plain', 'application/octet-stream']);
const SUFFIX = /\.([A-Za-z0-9]{1,8})(?:[?#].*)?$/;

/** The text of a text block (or of a bare string, which some servers send); `undefined` for every other block. */
export function textOf(block: JsonValue): string | undefined {
  if (typeof block === 'string') return block;
  if (!isObject(block) || block['type'] !== 'text') return undefined;
  return typeof block['text'] === 'string' ? block['text'] : undefined;
}

/** Any block that is no text block, as bytes. What is not understood is kept as its JSON. */
export function pickBlock(block: JsonValue, large: LargeValues = NOTHING_LARGE): PickedBlock {
  const asJson = (kind: PickedBlock['kind'], label?: unknown): PickedBlock =>
    jsonBlock(kind, jsonBytes(block, large), label);
  if (!isObject(block)) return asJson('text');
  const { type } = block;
  if (type === 'image' || type === 'audio') {
    return mediaBlock(type, block, large) ?? asJson('text', `${type} without data`);
  }
  if (type === 'resource') {
    if (!isObject(block['resource'])) return asJson('text', 'resource without a body');
    return resourceBlock(block['resource'], large) ?? asJson('resource', block['resource']['uri']);
  }
  if (type === 'resource_link') return asJson('resource-link', block['uri']);
  return asJson('text', type);
}

/** A JSON document as a block. */
export function jsonBlock(kind: PickedBlock['kind'], bytes: Uint8Array, label?: unknown): PickedBlock {
  return { kind, bytes, mediaType: 'application/json', extension: 'json', ...labelled(label) };
}

/** The UTF-8 of a string, or what it stands for. */
export function bytesOf(text: string, large: LargeValues): Buffer {
  const found = large.get(text);
  return found === undefined ? Buffer.from(text) : viewOf(found.bytes);
}

function mediaBlock(kind: 'image' | 'audio', block: JsonObject, large: LargeValues): PickedBlock | undefined {
  if (typeof block['data'] !== 'string') return undefined;
  const mediaType = cleanMediaType(block['mimeType']) ?? 'application/octet-stream';
  return binaryBlock(kind, bytesOf(block['data'], large), { mediaType, what: `${kind} ${mediaType}` });
}

function resourceBlock(resource: Record<string, unknown>, large: LargeValues): PickedBlock | undefined {
  const { text, blob } = resource;
  const uri = typeof resource['uri'] === 'string' ? resource['uri'] : '';
  const given = cleanMediaType(resource['mimeType']);
  if (typeof text === 'string') {
    const mediaType = given ?? 'text/plain';
    const extension = resourceExtension(mediaType, uri);
    return { kind: 'resource', bytes: bytesOf(text, large), mediaType, extension, ...labelled(uri) };
  }
  if (typeof blob !== 'string') return undefined;
  const mediaType = given ?? 'application/octet-stream';
  return binaryBlock('resource', bytesOf(blob, large), { mediaType, what: uri, uri });
}

/** What is not base64, or holds nothing, is kept as the text it came as: no model is shown a broken image. */
function binaryBlock(
  kind: 'image' | 'audio' | 'resource',
  data: Buffer,
  names: { readonly mediaType: string; readonly what: string; readonly uri?: string },
): PickedBlock {
  const bytes = decodeBase64(data);
  if (bytes === undefined || bytes.length === 0) {
    const problem = bytes === undefined ? 'not valid base64, kept as it came' : 'empty';
    const label = labelled(`${names.what} (${problem})`.trimStart());
    return { kind: 'text', bytes: data, mediaType: 'text/plain', extension: 'txt', ...label };
  }
  const extension = resourceExtension(names.mediaType, names.uri ?? '');
  return { kind, bytes, mediaType: names.mediaType, extension, ...labelled(names.uri) };
}

/** The media type's extension; where that says little, the one of the address. */
function resourceExtension(mediaType: string, uri: string): string {
  const byType = extensionOf(mediaType);
  if (byType !== 'bin' && !GENERIC_TYPES.has(mediaType)) return byType;
  const suffix = SUFFIX.exec(uri.slice(-300))?.[1];
  return suffix === undefined ? byType : suffix.toLowerCase();
}

function labelled(label: unknown): { readonly label?: string } {
  if (typeof label !== 'string') return {};
  const clean = label
    .slice(0, 2 * LONGEST_LABEL)
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim();
  const short = clean.length > LONGEST_LABEL ? `${clean.slice(0, LONGEST_LABEL - 1).toWellFormed()}…` : clean;
  return short === '' ? {} : { label: short };
}
