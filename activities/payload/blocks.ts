// One content block of an MCP result as bytes with a kind, a media type and a name. Total: a block of any form gives one.
import type { BlockFacts } from '../../shared/facts.ts';
import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { decodeBase64 } from './base64.ts';
import { cleanMediaType, extensionOf } from './extension.ts';

/** A further block of a result, decoded. */
export interface PickedBlock {
  readonly kind: BlockFacts['kind'];
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  /** Without a dot. */
  readonly extension: string;
  /** A resource's address, a link's address, or what was wrong; at most 300 characters, no control characters. */
  readonly label?: string;
}

const LONGEST_LABEL = 300;
const GENERIC_TYPES: ReadonlySet<string> = new Set(['text/plain', 'application/octet-stream']);
const SUFFIX = /\.([A-Za-z0-9]{1,8})(?:[?#].*)?$/;

/** The text of a text block (or of a bare string, which some servers send); `undefined` for every other block. */
export function textOf(block: JsonValue): string | undefined {
  if (typeof block === 'string') return block;
  if (!isObject(block) || block['type'] !== 'text') return undefined;
  return typeof block['text'] === 'string' ? block['text'] : undefined;
}

/** Any block that is no text block, as bytes. What is not understood is kept as its JSON. */
export function pickBlock(block: JsonValue): PickedBlock {
  if (!isObject(block)) return jsonBlock('text', block);
  const { type } = block;
  if (type === 'image' || type === 'audio') return mediaBlock(type, block);
  if (type === 'resource') return resourceBlock(block);
  if (type === 'resource_link') return jsonBlock('resource-link', block, block['uri']);
  return jsonBlock('text', block, type);
}

/** A value as a block of JSON. */
export function jsonBlock(kind: PickedBlock['kind'], value: JsonValue, label?: unknown): PickedBlock {
  const bytes = Buffer.from(JSON.stringify(value));
  return { kind, bytes, mediaType: 'application/json', extension: 'json', ...labelled(label) };
}

function mediaBlock(kind: 'image' | 'audio', block: JsonObject): PickedBlock {
  const mediaType = cleanMediaType(block['mimeType']) ?? 'application/octet-stream';
  if (typeof block['data'] !== 'string') return jsonBlock('text', block, `${kind} without data`);
  return binaryBlock(kind, block['data'], { mediaType, what: `${kind} ${mediaType}` });
}

function resourceBlock(block: JsonObject): PickedBlock {
  const resource = block['resource'];
  if (!isObject(resource)) return jsonBlock('text', block, 'resource without a body');
  const uri = typeof resource['uri'] === 'string' ? resource['uri'] : '';
  const given = cleanMediaType(resource['mimeType']);
  if (typeof resource['text'] === 'string') {
    const mediaType = given ?? 'text/plain';
    const extension = resourceExtension(mediaType, uri);
    return { kind: 'resource', bytes: Buffer.from(resource['text']), mediaType, extension, ...labelled(uri) };
  }
  if (typeof resource['blob'] === 'string') {
    return binaryBlock('resource', resource['blob'], {
      mediaType: given ?? 'application/octet-stream',
      what: uri,
      uri,
    });
  }
  return jsonBlock('resource', block, uri);
}

/** What is not base64, or holds nothing, is kept as the text it came as: no model is shown a broken image. */
function binaryBlock(
  kind: 'image' | 'audio' | 'resource',
  data: string,
  names: { readonly mediaType: string; readonly what: string; readonly uri?: string },
): PickedBlock {
  const bytes = decodeBase64(data);
  if (bytes === undefined || bytes.length === 0) {
    const problem = bytes === undefined ? 'not valid base64, kept as it came' : 'empty';
    const label = labelled(`${names.what} (${problem})`.trimStart());
    return { kind: 'text', bytes: Buffer.from(data), mediaType: 'text/plain', extension: 'txt', ...label };
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
