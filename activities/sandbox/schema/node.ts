// What is known of all the values at one place of a document: how many of each kind, and a few of them.
// Bounded in size whatever the document: objects with very many keys fold into one node for all their values.

/** The numbers seen at a place. */
export interface NumberSummary {
  count: number;
  min: number;
  max: number;
  integers: boolean;
}

/** The strings seen at a place; `distinct` is null once there were too many or too long ones. */
export interface StringSummary {
  count: number;
  minLength: number;
  maxLength: number;
  distinct: Map<string, number> | null;
  readonly examples: string[];
}

/** A key of the objects at a place, and in how many of them it stands. */
export interface MemberSummary {
  count: number;
  readonly node: SchemaNode;
}

/** The objects seen at a place; once folded, `values` stands for all members and `keys` counts the distinct keys. */
export interface ObjectSummary {
  count: number;
  readonly members: Map<string, MemberSummary>;
  values: SchemaNode | null;
  readonly keys: Set<string>;
}

/** The arrays seen at a place, with their lengths. */
export interface ArraySummary {
  count: number;
  min: number;
  max: number;
  readonly items: SchemaNode;
}

/** All that was seen at one place. */
export interface SchemaNode {
  seen: number;
  nulls: number;
  trues: number;
  falses: number;
  /** Values nested deeper than is looked at. */
  deeper: number;
  numbers?: NumberSummary;
  strings?: StringSummary;
  objects?: ObjectSummary;
  arrays?: ArraySummary;
}

/** Keys of one object shape that are kept apart; with more it is a map. */
export const MEMBERS_KEPT = 200;

const DISTINCT_KEPT = 8;
const DISTINCT_CHARACTERS = 32;
const EXAMPLES_KEPT = 2;
const EXAMPLE_CHARACTERS = 40;
const KEYS_COUNTED = 100_000;

/** A place where nothing was seen yet. */
export function emptyNode(): SchemaNode {
  return { seen: 0, nulls: 0, trues: 0, falses: 0, deeper: 0 };
}

/** Adds a number. */
export function addNumber(node: SchemaNode, value: number): void {
  const numbers = (node.numbers ??= { count: 0, min: value, max: value, integers: true });
  numbers.count += 1;
  if (value < numbers.min) numbers.min = value;
  if (value > numbers.max) numbers.max = value;
  numbers.integers &&= Number.isInteger(value);
}

/** Adds a string by its beginning and its length in characters. */
export function addString(node: SchemaNode, head: string, length: number): void {
  const strings = (node.strings ??= {
    count: 0,
    minLength: length,
    maxLength: length,
    distinct: new Map(),
    examples: [],
  });
  strings.count += 1;
  if (length < strings.minLength) strings.minLength = length;
  if (length > strings.maxLength) strings.maxLength = length;
  if (strings.distinct) addDistinct(strings, head, length, 1);
  if (strings.examples.length < EXAMPLES_KEPT) addExample(strings, head, length);
}

function addDistinct(strings: StringSummary, text: string, length: number, times: number): void {
  if (!strings.distinct) return;
  const known = strings.distinct.get(text);
  if (known !== undefined) strings.distinct.set(text, known + times);
  else if (length <= DISTINCT_CHARACTERS && strings.distinct.size < DISTINCT_KEPT) strings.distinct.set(text, times);
  else strings.distinct = null;
}

function addExample(strings: StringSummary, head: string, length: number): void {
  const cut = head.slice(0, EXAMPLE_CHARACTERS).toWellFormed();
  const example = length > cut.length ? `${cut}…` : cut;
  if (example !== '' && !strings.examples.includes(example)) strings.examples.push(example);
}

/** Adds an object and gives its summary. */
export function addObject(node: SchemaNode): ObjectSummary {
  const objects = (node.objects ??= { count: 0, members: new Map(), values: null, keys: new Set() });
  objects.count += 1;
  return objects;
}

/** The place of an object's member; `mayGrow` false folds the object instead of keeping one more key apart. */
export function memberNode(objects: ObjectSummary, key: string, mayGrow: boolean): SchemaNode {
  if (!objects.values) {
    const known = objects.members.get(key);
    if (known) {
      known.count += 1;
      return known.node;
    }
    if (mayGrow && objects.members.size < MEMBERS_KEPT) {
      const member = { count: 1, node: emptyNode() };
      objects.members.set(key, member);
      return member.node;
    }
    fold(objects);
  }
  if (objects.keys.size < KEYS_COUNTED) objects.keys.add(key);
  return (objects.values ??= emptyNode());
}

/** Whether the distinct keys of a folded object were more than are counted. */
export function hasMoreKeys(objects: ObjectSummary): boolean {
  return objects.keys.size >= KEYS_COUNTED;
}

/** Folds an object's members into one node for all its values. */
export function fold(objects: ObjectSummary): void {
  const values = (objects.values ??= emptyNode());
  for (const [key, member] of objects.members) {
    objects.keys.add(key);
    mergeNode(values, member.node);
  }
  objects.members.clear();
}

/** The arrays of a node. */
export function arraysOf(node: SchemaNode): ArraySummary {
  return (node.arrays ??= { count: 0, min: Infinity, max: 0, items: emptyNode() });
}

/** Adds an array's length once it is known. */
export function addArrayLength(arrays: ArraySummary, length: number): void {
  arrays.count += 1;
  arrays.min = Math.min(arrays.min, length);
  arrays.max = Math.max(arrays.max, length);
}

/** Adds all that was seen at `from` to `into`; `from` stays as it is. */
export function mergeNode(into: SchemaNode, from: SchemaNode): void {
  into.seen += from.seen;
  into.nulls += from.nulls;
  into.trues += from.trues;
  into.falses += from.falses;
  into.deeper += from.deeper;
  if (from.numbers) mergeNumbers(into, from.numbers);
  if (from.strings) mergeStrings(into, from.strings);
  if (from.objects) mergeObjects(into, from.objects);
  if (from.arrays) mergeArrays(into, from.arrays);
}

function mergeNumbers(into: SchemaNode, from: NumberSummary): void {
  const own = (into.numbers ??= { ...from, count: 0 });
  own.count += from.count;
  own.min = Math.min(own.min, from.min);
  own.max = Math.max(own.max, from.max);
  own.integers &&= from.integers;
}

function mergeStrings(into: SchemaNode, from: StringSummary): void {
  const own = (into.strings ??= { ...from, count: 0, distinct: new Map(), examples: [] });
  own.count += from.count;
  own.minLength = Math.min(own.minLength, from.minLength);
  own.maxLength = Math.max(own.maxLength, from.maxLength);
  if (!from.distinct) own.distinct = null;
  else for (const [text, times] of from.distinct) addDistinct(own, text, text.length, times);
  for (const example of from.examples) {
    if (own.examples.length < EXAMPLES_KEPT && !own.examples.includes(example)) own.examples.push(example);
  }
}

function mergeObjects(into: SchemaNode, from: ObjectSummary): void {
  const own = (into.objects ??= { count: 0, members: new Map(), values: null, keys: new Set() });
  own.count += from.count;
  for (const key of from.keys) if (own.keys.size < KEYS_COUNTED) own.keys.add(key);
  if (from.values) {
    if (!own.values) fold(own);
    mergeNode((own.values ??= emptyNode()), from.values);
  }
  for (const [key, member] of from.members) {
    const node = memberNode(own, key, true);
    const kept = own.members.get(key);
    if (kept) kept.count += member.count - 1;
    mergeNode(node, member.node);
  }
}

function mergeArrays(into: SchemaNode, from: ArraySummary): void {
  const own = arraysOf(into);
  own.count += from.count;
  own.min = Math.min(own.min, from.min);
  own.max = Math.max(own.max, from.max);
  mergeNode(own.items, from.items);
}
