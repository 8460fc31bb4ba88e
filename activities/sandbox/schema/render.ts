// Writes a schema as short, indented text, at several levels of detail: whoever asks takes the first that fits.
import { count, plural } from '../text.ts';
import { hasMoreKeys, mergeNode, emptyNode, type ObjectSummary, type SchemaNode, type StringSummary } from './node.ts';

/** How much to show. */
export interface Detail {
  readonly examples: number;
  readonly depth: number;
  readonly members: number;
}

/** From the fullest to the shortest. */
export const DETAIL_LEVELS: readonly Detail[] = [
  { examples: 2, depth: 16, members: 200 },
  { examples: 1, depth: 8, members: 64 },
  { examples: 0, depth: 6, members: 48 },
  { examples: 0, depth: 4, members: 32 },
  { examples: 0, depth: 3, members: 24 },
  { examples: 0, depth: 2, members: 16 },
  { examples: 0, depth: 1, members: 12 },
  { examples: 0, depth: 1, members: 4 },
];

/** A node as text; lines after the first begin with `indent`. */
export function renderNode(node: SchemaNode, detail: Detail, indent = ''): string {
  const kinds = [
    ...(node.objects ? [renderObjects(node.objects, detail, indent)] : []),
    ...(node.arrays ? [renderArrays(node, detail, indent)] : []),
    ...(node.strings ? [renderStrings(node.strings, detail)] : []),
    ...(node.numbers ? [renderNumbers(node.numbers)] : []),
    ...(node.trues + node.falses > 0 ? ['boolean'] : []),
    ...(node.nulls > 0 ? ['null'] : []),
    ...(node.deeper > 0 ? ['… (nested deeper than is looked at)'] : []),
  ];
  return kinds.length === 0 ? 'nothing' : kinds.join(' | ');
}

function renderObjects(objects: ObjectSummary, detail: Detail, indent: string): string {
  const map = asMap(objects);
  if (map) {
    const number = `${count(map.keys.length)}${hasMoreKeys(objects) ? ' or more' : ''}`;
    const likes = map.keys
      .slice(0, 2)
      .map((key) => quote(key))
      .join(', ');
    const each = objects.count > 1 ? ` over ${count(objects.count)} objects` : '';
    if (detail.depth <= 0) return `object {[${number} keys like ${likes}${each}]: …}`;
    return `object {[${number} keys like ${likes}${each}]: ${renderNode(map.values, deeper(detail), indent)}}`;
  }
  if (objects.members.size === 0) return 'object {}';
  if (detail.depth <= 0) return `object {${plural(objects.members.size, 'key')}: …}`;
  const inner = `${indent}  `;
  const lines = [...objects.members].slice(0, detail.members).map(([key, member]) => {
    const some = member.count < objects.count;
    const presence = some ? ` (in ${count(member.count)} of ${count(objects.count)})` : '';
    return `${inner}${nameOf(key)}${some ? '?' : ''}: ${renderNode(member.node, deeper(detail), inner)}${presence}`;
  });
  const hidden = objects.members.size - lines.length;
  if (hidden > 0) lines.push(`${inner}… ${plural(hidden, 'more key')}`);
  return `object {\n${lines.join('\n')}\n${indent}}`;
}

function renderArrays(node: SchemaNode, detail: Detail, indent: string): string {
  const { arrays } = node;
  if (!arrays) return '';
  // An array that was never closed has no length.
  const least = Number.isFinite(arrays.min) ? arrays.min : 0;
  const length = least === arrays.max ? count(arrays.max) : `${count(least)} to ${count(arrays.max)}`;
  if (arrays.items.seen === 0) return 'array, empty';
  const items = detail.depth <= 0 ? '…' : renderNode(arrays.items, deeper(detail), indent);
  return `array of ${length}: ${items}`;
}

function renderStrings(strings: StringSummary, detail: Detail): string {
  if (
    strings.distinct &&
    strings.distinct.size > 0 &&
    strings.count >= 2 * strings.distinct.size &&
    detail.examples > 0
  ) {
    const values = [...strings.distinct.keys()].map((value) => quote(value));
    return values.length === 1 ? `string, always ${values.join('')}` : `string, one of ${values.join(' ')}`;
  }
  const examples = strings.examples.slice(0, detail.examples).map((value) => quote(value));
  const long = strings.maxLength > 200 ? ` of up to ${count(strings.maxLength)} characters` : '';
  return `string${long}${examples.length > 0 ? `, e.g. ${examples.join(', ')}` : ''}`;
}

function renderNumbers({ integers, min, max }: { integers: boolean; min: number; max: number }): string {
  const kind = integers ? 'integer' : 'number';
  return min === max ? `${kind} ${min}` : `${kind} ${min} to ${max}`;
}

interface KeyedValues {
  readonly keys: readonly string[];
  readonly values: SchemaNode;
}

// Merging the members of one object again for every level of detail would cost as much as the reading did.
const knownMaps = new WeakMap<ObjectSummary, { readonly map: KeyedValues | null }>();

function asMap(objects: ObjectSummary): KeyedValues | null {
  const known = knownMaps.get(objects);
  if (known) return known.map;
  const map = findMap(objects);
  knownMaps.set(objects, { map });
  return map;
}

// An object whose keys are data rather than names: folded already, or with many alike members.
function findMap(objects: ObjectSummary): KeyedValues | null {
  if (objects.values) return { keys: [...objects.keys], values: objects.values };
  const members = [...objects.members];
  if (members.length < 8) return null;
  const nodes = members.map(([, member]) => member.node);
  const kind = commonKind(nodes);
  if (kind === null) return null;
  const keys = members.map(([key]) => key);
  const numbered = keys.filter((key) => /^\d/.test(key)).length > keys.length / 2;
  const alike = kind === 'object' ? areAlike(nodes) : numbered || members.length > 40;
  if (!alike) return null;
  const values = emptyNode();
  for (const node of nodes) mergeNode(values, node);
  return { keys, values };
}

function commonKind(nodes: readonly SchemaNode[]): 'object' | 'array' | 'string' | 'number' | null {
  const kinds = ['objects', 'arrays', 'strings', 'numbers'] as const;
  const names = { objects: 'object', arrays: 'array', strings: 'string', numbers: 'number' } as const;
  const kind = kinds.find((name) => nodes.every((node) => node[name] && kinds.every((k) => k === name || !node[k])));
  return kind ? names[kind] : null;
}

// Objects that share at least half of all their keys, or are maps themselves.
function areAlike(nodes: readonly SchemaNode[]): boolean {
  const all = new Set<string>();
  let sum = 0;
  let maps = 0;
  for (const { objects } of nodes) {
    if (!objects) continue;
    if (asMap(objects)) maps += 1;
    for (const key of objects.members.keys()) all.add(key);
    sum += objects.members.size;
  }
  return maps > nodes.length / 2 || (all.size > 0 && sum / nodes.length >= all.size / 2);
}

function deeper(detail: Detail): Detail {
  return { ...detail, depth: detail.depth - 1 };
}

function nameOf(key: string): string {
  return /^[A-Za-z_$][\w$]{0,79}$/.test(key) ? key : quote(key);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…`.toWellFormed() : text);
}
