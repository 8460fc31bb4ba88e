// Whether structured content says the same as the rest of a result: servers send both forms of one payload for the sake
// of older clients, and a wrapper around it (`{content: …}`, `{result: …}`) where the protocol wants an object.
import { isDeepStrictEqual } from 'node:util';

import { isObject, type JsonValue } from '../../shared/json.ts';

/**
 * How structured content relates to what stands beside it: the texts say it as JSON (`json`), the texts are what it
 * wraps (`text`), its list is what the texts give one by one (`list`), it repeats the blocks (`blocks`), or it says
 * something of its own (`none`).
 */
export type Twin = 'json' | 'text' | 'list' | 'blocks' | 'none';

interface Beside {
  readonly content: readonly JsonValue[];
  readonly texts: readonly string[];
  /** The texts, joined. */
  readonly text: string;
}

/** Compares before it builds anything: both forms may hold 50 MB. */
export function twinOf(structured: JsonValue, beside: Beside): Twin {
  const only = onlyMember(structured);
  if (beside.texts.length > 0 && typeof only?.value === 'string') {
    if (only.value === beside.text || beside.texts.includes(only.value)) return 'text';
  }
  if (beside.content.length > 0 && isDeepStrictEqual(only?.value ?? structured, beside.content)) return 'blocks';
  const inner = unwrapped(structured);
  if (beside.texts.length > 1 && Array.isArray(inner) && isListOf(inner, beside.texts)) {
    return inner.every((item) => typeof item === 'string') ? 'text' : 'list';
  }
  const whole = beside.texts.length === 1 ? 'json' : 'text';
  for (const text of beside.texts) {
    if (saysJson(text, structured)) return whole;
    if (inner !== undefined && saysJson(text, inner)) return whole;
  }
  return 'none';
}

/** What a mere wrapper (`{result: …}`, `{content: …}`) holds; any other name says something of its own: `undefined`. */
export function unwrapped(structured: JsonValue): JsonValue | undefined {
  const only = onlyMember(structured);
  return only?.name === 'result' || only?.name === 'content' ? only.value : undefined;
}

function onlyMember(structured: JsonValue): { readonly name: string; readonly value: JsonValue } | undefined {
  if (!isObject(structured)) return undefined;
  const members = Object.entries(structured);
  const [first] = members;
  return members.length === 1 && first !== undefined ? { name: first[0], value: first[1] } : undefined;
}

function isListOf(items: readonly JsonValue[], texts: readonly string[]): boolean {
  if (items.length !== texts.length) return false;
  return items.every((item, index) => {
    const text = texts[index] ?? '';
    return item === text || saysJson(text, item);
  });
}

/** Whether a text is the JSON of a value, whatever its spaces and the order of its keys. */
function saysJson(text: string, value: JsonValue): boolean {
  if (!mayBeJsonOf(text, value)) return false;
  if (JSON.stringify(value) === text) return true;
  try {
    return isDeepStrictEqual(JSON.parse(text), value);
  } catch {
    // Not JSON: the text says something else.
    return false;
  }
}

/** The first character tells most texts apart from the JSON of a value, without a look at the rest. */
function mayBeJsonOf(text: string, value: JsonValue): boolean {
  const first = /\S/.exec(text.slice(0, 1_000))?.[0];
  if (first === undefined) return false;
  if (Array.isArray(value)) return first === '[';
  if (value === null) return first === 'n';
  if (typeof value === 'object') return first === '{';
  if (typeof value === 'string') return first === '"';
  if (typeof value === 'boolean') return first === (value ? 't' : 'f');
  return /[-\d]/.test(first);
}
