// Walks a schema by JSON Pointer (RFC 6901), through local `$ref`s where the way leads there. Two segments are added that no
// RFC pointer can hold: `~from:N` at the end goes on in a long text, list or object, and `~at:N` takes a member by its number.
import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { DiscoveryFault } from './fault.ts';
import { nameList, quoted } from './lines.ts';
import { nearestNames } from './nearest-names.ts';

const MOST_REFERENCES = 32;
const LONGEST_POINTER = 4_000;

/** A part of a document. */
export interface Part {
  readonly value: JsonValue;
  /** The shortest pointer that leads there, without `~from`. */
  readonly pointer: string;
  /** Where to go on: characters of a text, members of what has members. */
  readonly from: number;
}

/** The part that a pointer names; raises `DiscoveryFault` with what there is where it names none. */
export function walkPointer(root: JsonValue, given: string): Part {
  const segments = segmentsOf(given);
  const from = startOf(segments.at(-1));
  if (from !== null) segments.pop();
  let part: Omit<Part, 'from'> = { value: root, pointer: '' };
  for (const segment of segments) part = step(root, part, segment);
  if (from !== null) checkStart(part, from);
  return { ...part, from: from ?? 0 };
}

/** The pointer to a member; one with a long name is taken by its number. */
export function memberPointer(pointer: string, name: string, index: number): string {
  const escaped = name.replaceAll('~', '~0').replaceAll('/', '~1');
  return escaped.length <= 100 && escaped.isWellFormed() ? `${pointer}/${escaped}` : `${pointer}/~at:${index}`;
}

/** What a local `$ref` leads to, over several if need be; null where there is none, or it leads nowhere. */
export function resolveReference(root: JsonValue, schema: JsonValue): Omit<Part, 'from'> | null {
  let part: Omit<Part, 'from'> | null = null;
  let value: JsonValue = schema;
  for (let hop = 0; hop < MOST_REFERENCES; hop += 1) {
    if (!isObject(value) || typeof value['$ref'] !== 'string') return part;
    part = plainWalk(root, value['$ref']);
    if (part === null) return null;
    value = part.value;
  }
  return null;
}

/** By plain members only. */
function plainWalk(root: JsonValue, reference: string): Omit<Part, 'from'> | null {
  if (reference.length > LONGEST_POINTER || !/^#(\/|$)/.test(reference)) return null;
  let part: Omit<Part, 'from'> = { value: root, pointer: '' };
  for (const segment of decodeFragment(reference).split('/').slice(1)) {
    const next = memberOf(part, unescaped(segment));
    if (next === null) return null;
    part = next;
  }
  return part;
}

function segmentsOf(given: string): string[] {
  if (given.length > LONGEST_POINTER)
    throw new DiscoveryFault(`The pointer is longer than ${LONGEST_POINTER} characters.`);
  const pointer = given.startsWith('#') ? decodeFragment(given) : given;
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) {
    throw new DiscoveryFault(`The pointer ${quoted(given)} must be empty or begin with "/", as in "/properties/name".`);
  }
  const segments = pointer.slice(1).split('/');
  const bad = segments.find((segment) => /~(?![01])/.test(segment) && !/^~(at|from):\d{1,12}$/.test(segment));
  if (bad === undefined) return segments;
  throw new DiscoveryFault(
    `The pointer has the part ${quoted(bad)}: in a name "~" is written "~0" and "/" is written "~1".`,
  );
}

/** A fragment of an address may be percent-encoded. */
function decodeFragment(reference: string): string {
  const fragment = reference.slice(1);
  try {
    return decodeURIComponent(fragment);
  } catch {
    // Not encoded, then: a percent sign is one.
    return fragment;
  }
}

function startOf(segment: string | undefined): number | null {
  const match = /^~from:(\d+)$/.exec(segment ?? '');
  return match ? Number(match[1]) : null;
}

function unescaped(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

function step(root: JsonValue, part: Omit<Part, 'from'>, segment: string): Omit<Part, 'from'> {
  const numbered = /^~at:(\d+)$/.exec(segment);
  const find = (at: Omit<Part, 'from'>): Omit<Part, 'from'> | null =>
    numbered ? memberAt(at, Number(numbered[1])) : memberOf(at, unescaped(segment));
  const here = find(part);
  if (here) return here;
  const target = resolveReference(root, part.value);
  const there = target && find(target);
  if (there) return there;
  throw notThere(target ?? part, segment);
}

function memberOf({ value, pointer }: Omit<Part, 'from'>, name: string): Omit<Part, 'from'> | null {
  if (Array.isArray(value)) {
    return /^(0|[1-9]\d{0,9})$/.test(name) ? memberAt({ value, pointer }, Number(name)) : null;
  }
  if (!isObject(value) || !Object.hasOwn(value, name)) return null;
  const index = name.length > 100 || !name.isWellFormed() ? Object.keys(value).indexOf(name) : 0;
  return { value: value[name] as JsonValue, pointer: memberPointer(pointer, name, index) };
}

function memberAt({ value, pointer }: Omit<Part, 'from'>, index: number): Omit<Part, 'from'> | null {
  if (typeof value !== 'object' || value === null) return null;
  const entry = Object.entries(value as JsonObject)[index];
  return entry ? { value: entry[1], pointer: memberPointer(pointer, entry[0], index) } : null;
}

function notThere({ value, pointer }: Omit<Part, 'from'>, segment: string): DiscoveryFault {
  const where = pointer === '' ? 'the schema' : quoted(pointer);
  const none = `There is no ${quoted(unescaped(segment))} in ${where}`;
  if (typeof value !== 'object' || value === null) return new DiscoveryFault(`${none}: it is a ${typeof value}.`);
  if (Array.isArray(value)) return new DiscoveryFault(`${none}: it is a list of ${value.length}, counted from 0.`);
  const names = Object.keys(value);
  if (names.length === 0) return new DiscoveryFault(`${none}: it is empty.`);
  const reference = (value as JsonObject)['$ref'];
  if (typeof reference === 'string') {
    return new DiscoveryFault(`${none}: its "$ref" ${quoted(reference)} leads nowhere in this schema.`);
  }
  return new DiscoveryFault(
    `${none}. It has: ${nameList(nearestNames(unescaped(segment), names, names.length), 600)}.`,
  );
}

function checkStart({ value, pointer }: Omit<Part, 'from'>, from: number): void {
  const where = pointer === '' ? 'The schema' : quoted(pointer);
  if (typeof value === 'string') {
    if (from >= value.length) throw new DiscoveryFault(`${where} has only ${value.length} characters.`);
  } else if (typeof value === 'object' && value !== null) {
    const members = Object.keys(value).length;
    if (from >= members) throw new DiscoveryFault(`${where} has only ${members} members, counted from 0.`);
  } else throw new DiscoveryFault(`${where} has no members to go on with.`);
}
