// A schema within so much room: whole where it fits, else with its larger parts cut, each cut part named with the pointer
// that shows it. Room is in characters of JSON; whoever has tokens to keep to tries smaller rooms.
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import { clip } from '../sandbox/text.ts';
import { memberPointer, type Part } from './pointer.ts';

/** Servers' descriptions are not taken when they are nested deeper; whatever is, is cut. */
const MOST_LEVELS = 110;
/** A longer pointer is not worth its room. */
const POINTER_CHARACTERS = 800;
const KEY_CHARACTERS = 200;
/** What is worth opening needs this much room beyond its marker. */
const OPENING_CHARACTERS = 40;

/** Whether a value, as JSON, has at most so many characters. */
export function fitsRoom(value: JsonValue, room: number): boolean {
  return sizeUpTo(value, room, 0) <= room;
}

/** The part, with as much of it as has room; `Part.from` says where it begins. */
export function viewWithin(part: Part, room: number): JsonValue {
  return show(part, room, 0);
}

function show(part: Part, room: number, level: number): JsonValue {
  const { value, from, pointer } = part;
  if (from === 0 && sizeUpTo(value, room, level) <= room) return value;
  if (typeof value === 'string') return shortened(value, part, room);
  if (typeof value !== 'object' || value === null) return value;
  if (level >= MOST_LEVELS) return markerOf(value, pointer);
  return showMembers(part, room, level);
}

/** The beginning of a text, and where the rest is. */
function shortened(text: string, { from, pointer }: Part, room: number): JsonValue {
  const marker = `… [cut, ${text.length} characters, pointer ${continued(pointer, from)}]`;
  const length = Math.max(16, room - marker.length - 12);
  if (text.length - from <= length) return text.slice(from).toWellFormed();
  const end = characterEdge(text, from + length);
  return `${text.slice(from, end).toWellFormed()}… [cut, ${text.length} characters, pointer ${continued(pointer, end)}]`;
}

interface Member {
  readonly key: string;
  readonly part: Part;
  /** Room for key and marker, or for all of it where that is less. */
  readonly least: number;
  /** Room that it could use beyond that. */
  readonly wanted: number;
}

/** Every member gets the room of its marker; what is left is shared out, the smallest first. */
function showMembers({ value, pointer, from }: Part, room: number, level: number): JsonValue {
  const isList = Array.isArray(value);
  const entries = Object.entries(value as JsonObject);
  const rest = `[cut, ${entries.length} members, pointer ${continued(pointer, entries.length)}]`;
  const taken: Member[] = [];
  let left = room - 2;
  for (let index = from; index < entries.length; index += 1) {
    const [key = '', member = null] = entries[index] ?? [];
    const child = { value: member, pointer: memberPointer(pointer, key, index), from: 0 };
    const next = measured({ key: isList ? null : key, index, level }, child, room);
    const reserve = index + 1 < entries.length ? rest.length + 8 : 0;
    if (taken.length > 0 && next.least + reserve > left) break;
    left -= next.least;
    taken.push(next);
  }
  const shown = shareOut(
    taken,
    Math.max(0, left - (from + taken.length < entries.length ? rest.length + 8 : 0)),
    level,
  );
  const end = from + taken.length;
  const more = end < entries.length ? `[cut, ${entries.length - end} more, pointer ${continued(pointer, end)}]` : null;
  if (isList) return more === null ? shown.map(([, item]) => item) : [...shown.map(([, item]) => item), more];
  // As entries: a member may be called `__proto__`.
  return Object.fromEntries(more === null ? shown : [...shown, [freeKey(shown), more]]);
}

/** @param place its key is null in a list */
function measured(
  { key, index, level }: { readonly key: string | null; readonly index: number; readonly level: number },
  part: Part,
  room: number,
): Member {
  const shownKey = key === null ? '' : shortKey(key, index);
  const size = sizeUpTo(part.value, room, level + 1);
  const marker = leastOf(part);
  return {
    key: shownKey,
    part,
    least: (key === null ? 1 : JSON.stringify(shownKey).length + 2) + Math.min(size, marker),
    wanted: Math.max(0, size - marker),
  };
}

function shortKey(key: string, index: number): string {
  const shown = key.length <= KEY_CHARACTERS ? key : `${clip(key, 60)} (${key.length} characters, number ${index})`;
  return shown.toWellFormed();
}

/** The room of a marker with its quotes. */
function leastOf({ value, pointer }: Part): number {
  if (typeof value === 'string') return Math.min(pointer.length, POINTER_CHARACTERS) + 64;
  return typeof value === 'object' && value !== null ? markerOf(value, pointer).length + 2 : 24;
}

function shareOut(members: readonly Member[], room: number, level: number): [string, JsonValue][] {
  const shares = new Map<Member, number>();
  let left = room;
  let waiting = members.filter(({ wanted }) => wanted > 0).length;
  for (const member of members.filter(({ wanted }) => wanted > 0).sort((a, b) => a.wanted - b.wanted)) {
    const share = Math.min(member.wanted, Math.floor(left / waiting));
    shares.set(member, share);
    left -= share;
    waiting -= 1;
  }
  return members.map((member) => [member.key, showMember(member, shares.get(member) ?? 0, level)]);
}

function showMember({ part, wanted }: Member, share: number, level: number): JsonValue {
  const { value, pointer } = part;
  if (share >= wanted) return value;
  if (typeof value === 'string') return shortened(value, part, leastOf(part) + share);
  if (typeof value !== 'object' || value === null) return value;
  return share < OPENING_CHARACTERS ? markerOf(value, pointer) : show(part, leastOf(part) + share, level + 1);
}

/** What stands in the place of a list or object that was cut. */
function markerOf(value: JsonValue, pointer: string): string {
  const members = Object.keys(value as JsonObject).length;
  const what = Array.isArray(value) ? `list of ${members}` : `object of ${members}`;
  return `[cut, ${what}, ${pointerWords(pointer)}]`;
}

function pointerWords(pointer: string): string {
  return pointer.length <= POINTER_CHARACTERS ? `pointer ${pointer}` : 'nested too deeply for a pointer';
}

function continued(pointer: string, from: number): string {
  return pointer.length <= POINTER_CHARACTERS ? `${pointer}/~from:${from}` : '(too long to name)';
}

function freeKey(entries: readonly (readonly [string, JsonValue])[]): string {
  const keys = new Set(entries.map(([key]) => key));
  let key = '…';
  while (keys.has(key)) key += '…';
  return key;
}

function characterEdge(text: string, at: number): number {
  const unit = text.charCodeAt(at - 1);
  return unit >= 0xd800 && unit < 0xdc00 ? at - 1 : at;
}

/** The characters of a value as JSON, or more than `most`: no further than that is it looked at. */
function sizeUpTo(value: JsonValue, most: number, level: number): number {
  if (typeof value === 'string') return value.length > most ? most + 1 : JSON.stringify(value).length;
  if (typeof value !== 'object' || value === null) return String(value).length;
  if (level > MOST_LEVELS) return Number.MAX_SAFE_INTEGER;
  const isList = Array.isArray(value);
  let size = 2;
  for (const [key, member] of Object.entries(value as JsonObject)) {
    if (!isList) size += JSON.stringify(key).length + 1;
    size += 1 + sizeUpTo(member, most, level + 1);
    if (size > most) return Math.min(size, Number.MAX_SAFE_INTEGER);
  }
  return size;
}
