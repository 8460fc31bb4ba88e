// A tool in one line: `name(arg: type, arg?: type) — first sentence`. It is enough to call most tools by.
import type { CatalogTool } from '../../shared/catalog.ts';
import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { firstSentence, oneLine, shownName } from './lines.ts';
import { resolveReference } from './pointer.ts';

/** Required arguments all count, but no line is endless. */
const REQUIRED_SHOWN = 12;
const SHOWN = 8;
const ARGUMENT_CHARACTERS = 48;
const TYPE_CHARACTERS = 48;
const ENUM_VALUES = 4;

/**
 * The line of a search hit; a sentence of at most 140 characters.
 *
 * @param common optional arguments that are only counted
 */
export function signatureLine(tool: CatalogTool, common: ReadonlySet<string> = new Set()): string {
  return withSentence(`${shownName(tool)}(${argumentList(tool.inputSchema, common)})`, tool, 140);
}

/** The line of a list: no arguments, a sentence of at most 90 characters. */
export function nameLine(tool: CatalogTool): string {
  return withSentence(shownName(tool), tool, 90);
}

function withSentence(head: string, { description, title }: CatalogTool, characters: number): string {
  const sentence = firstSentence(description === '' ? (title ?? '') : description, characters);
  return sentence === '' ? head : `${head} — ${sentence}`;
}

/** The required arguments first, then the others, each in the schema's order. */
function argumentList(schema: JsonObject, common: ReadonlySet<string>): string {
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as readonly JsonValue[]) : []);
  const needed = properties.filter(([name]) => required.has(name));
  const others = properties.filter(([name]) => !required.has(name));
  const firsts = needed.slice(0, REQUIRED_SHOWN);
  const seconds = others.filter(([name]) => !common.has(name)).slice(0, Math.max(0, SHOWN - firsts.length));
  const shown = [
    ...firsts.map(([name, property]) => `${argumentName(name)}: ${typeOf(property, schema)}`),
    ...seconds.map(([name, property]) => `${argumentName(name)}?: ${typeOf(property, schema)}`),
  ];
  const more = needed.length - firsts.length;
  if (more > 0) shown.push(`… ${more} more required, ${others.length - seconds.length} optional`);
  else if (others.length > seconds.length) shown.push(`… ${others.length - seconds.length} optional`);
  return shown.join(', ');
}

function argumentName(name: string): string {
  const line = oneLine(name, ARGUMENT_CHARACTERS);
  return /^[\w$.-]+$/.test(line) ? line : JSON.stringify(line);
}

/** In few words: `string`, `"a"|"b"`, `number[]`, `object`; `any` where the schema says nothing. */
export function typeOf(given: JsonValue, root: JsonObject): string {
  const text = describeType(given, root, 0);
  return text.length <= TYPE_CHARACTERS ? text : plainType(given);
}

function describeType(given: JsonValue, root: JsonObject, level: number): string {
  if (!isObject(given) || level > 3) return 'any';
  const schema = dereferenced(given, root);
  if ('const' in schema) return literal(schema['const']);
  if (Array.isArray(schema['enum'])) return valuesOf(schema['enum'] as readonly JsonValue[]);
  const choices = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(choices) && choices.length > 0) return unionOf(choices as readonly JsonValue[], root, level);
  const type = schema['type'];
  if (type === 'array') return `${arrayItem(schema['items'], root, level)}[]`;
  if (Array.isArray(type)) return joined(type.map((name) => oneLine(String(name), 20)));
  if (typeof type === 'string') return oneLine(type, 20);
  return isObject(schema['properties']) ? 'object' : 'any';
}

function arrayItem(items: JsonValue | undefined, root: JsonObject, level: number): string {
  const item = describeType(items ?? null, root, level + 1);
  return item.includes('|') ? `(${item})` : item;
}

function unionOf(choices: readonly JsonValue[], root: JsonObject, level: number): string {
  return joined(choices.slice(0, 6).map((choice) => describeType(choice, root, level + 1)));
}

function valuesOf(values: readonly JsonValue[]): string {
  const shown = values.slice(0, ENUM_VALUES).map(literal);
  return joined(values.length > ENUM_VALUES ? [...shown, '…'] : shown);
}

function literal(value: JsonValue): string {
  if (typeof value === 'string') return JSON.stringify(oneLine(value, 24));
  return typeof value === 'object' && value !== null ? 'object' : String(value);
}

function joined(types: readonly string[]): string {
  return [...new Set(types)].join('|');
}

/** Of a type whose description is too long. */
function plainType(schema: JsonValue): string {
  const type = isObject(schema) ? schema['type'] : undefined;
  return typeof type === 'string' ? oneLine(type, 20) : 'any';
}

function dereferenced(schema: JsonObject, root: JsonObject): JsonObject {
  const target = resolveReference(root, schema);
  return target && isObject(target.value) ? target.value : schema;
}
