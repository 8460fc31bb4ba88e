// What `twins.ts` tells, for results with large parts: told from bytes, so that the large string or object is only built where
// nothing else can tell. Both forms of one payload are then in the message, which was sent twice over.
import { isDeepStrictEqual } from 'node:util';

import type { JsonValue } from '../../shared/json.ts';
import { skipBlanks } from '../measure/json-scan.ts';
import { unescapeInPlace } from './json-strings.ts';
import { kindAt, skipValue, walkArray, walkObject, type JsonSpan } from './json-walk.ts';
import { jsonBytes, type LargeValues } from './large-json.ts';
import type { Twin } from './twins.ts';

/** What stands beside structured content, as bytes. */
export interface LargeBeside {
  readonly content: readonly JsonValue[];
  readonly large: LargeValues;
  readonly texts: readonly Buffer[];
  /** The texts, joined. */
  readonly text: Buffer;
}

/** Two spellings of one value differ by no more than this in length; what differs by more is kept twice at worst. */
const MOST_TIMES = 16;
const MOST_BYTES = 64 * 1024;

/** How structured content, as JSON, relates to what stands beside it. The bytes are valid JSON and stay as they are. */
export function twinOfLarge(structured: Buffer, beside: LargeBeside): Twin {
  const { content, texts, text } = beside;
  if (content.length === 0) return 'none';
  const only = onlyMember(structured);
  const whole = texts.length === 1 ? 'json' : 'text';
  if (texts.some((one) => one.equals(structured))) return whole;
  if (only !== undefined && texts.length > 0 && saysString(only.value, [text, ...texts])) return 'text';
  if (isContent(only?.value ?? structured, beside)) return 'blocks';
  const inner = unwrappedLarge(structured);
  const list = inner === undefined ? undefined : asList(inner, texts);
  if (list !== undefined) return list;
  const isSaid = texts.some((one) => saysJson(one, structured) || (inner !== undefined && saysJson(one, inner)));
  return isSaid ? whole : 'none';
}

/** What a mere wrapper (`{result: …}`, `{content: …}`) holds, as JSON; `undefined` for anything else. */
export function unwrappedLarge(structured: Buffer): Buffer | undefined {
  const only = onlyMember(structured);
  return only?.name === 'result' || only?.name === 'content' ? only.value : undefined;
}

function onlyMember(structured: Buffer): { readonly name: string; readonly value: Buffer } | undefined {
  const start = skipBlanks(structured, 0);
  if (kindAt(structured, start) !== '{') return undefined;
  const members: (JsonSpan & { readonly name: string })[] = [];
  walkObject(structured, start, (name, from) => {
    const to = skipValue(structured, from);
    if (members.length < 2) members.push({ name, from, to });
    return to;
  });
  const [first] = members;
  if (members.length !== 1 || first === undefined) return undefined;
  return { name: first.name, value: structured.subarray(first.from, first.to) };
}

/** Whether JSON is a string that one of the texts says; unescaped in a copy. */
function saysString(json: Buffer, texts: readonly Buffer[]): boolean {
  if (kindAt(json, 0) !== '"') return false;
  const escaped = json.length - 2;
  if (!texts.some((text) => text.length <= escaped && escaped <= 6 * text.length)) return false;
  const said = unescapeInPlace(Buffer.from(json.subarray(1, -1)));
  return texts.some((text) => text.equals(said));
}

/** Whether JSON is the list of content blocks itself. */
function isContent(json: Buffer, { content, large }: LargeBeside): boolean {
  if (itemsOf(json, content.length).length !== content.length) return false;
  const other = jsonBytes(content, large);
  return isLikeLength(json, other) && isDeepStrictEqual(parsed(json), parsed(other));
}

/** Whether the texts are the items of a list, one by one, and whether those are texts or JSON. */
function asList(inner: Buffer, texts: readonly Buffer[]): 'text' | 'list' | undefined {
  const items = texts.length > 1 ? itemsOf(inner, texts.length) : [];
  if (items.length === 0 || items.length !== texts.length) return undefined;
  const isList = items.every((item, index) => {
    const text = texts[index] ?? Buffer.alloc(0);
    return saysString(item, [text]) || saysJson(text, item);
  });
  if (!isList) return undefined;
  return items.every((item) => kindAt(item, 0) === '"') ? 'text' : 'list';
}

/** The items of an array, one more than `most` at most; none for what is no array. */
function itemsOf(json: Buffer, most: number): readonly Buffer[] {
  const start = skipBlanks(json, 0);
  if (kindAt(json, start) !== '[') return [];
  const items: Buffer[] = [];
  walkArray(json, start, (from) => {
    const to = skipValue(json, from);
    if (items.length <= most) items.push(json.subarray(from, to));
    return to;
  });
  return items;
}

/** Whether a text is the JSON of a value, whatever its spaces and the order of its keys. */
function saysJson(text: Buffer, json: Buffer): boolean {
  if (text.equals(json)) return true;
  if (!isLikeLength(text, json) || !isLikeStart(text, json)) return false;
  const value = parsed(text);
  // Not JSON: the text says something else.
  return value !== undefined && isDeepStrictEqual(value, parsed(json));
}

function isLikeLength(one: Buffer, other: Buffer): boolean {
  const [less = 0, more = 0] = [one.length, other.length].sort((x, y) => x - y);
  return more <= MOST_TIMES * less + MOST_BYTES;
}

/** The first character tells most texts apart from the JSON of a value, without a look at the rest. */
function isLikeStart(text: Buffer, json: Buffer): boolean {
  const [first, wanted] = [text, json].map((bytes) => kindAt(bytes, skipBlanks(bytes, 0)));
  if (wanted === undefined || first === undefined) return false;
  return /[-\d]/.test(wanted) ? /[-\d]/.test(first) : first === wanted;
}

/** `undefined` for what is no JSON. */
function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
