// A schema without secrets, and its hash: the same wherever a tool is listed.
import { createHash } from 'node:crypto';
import { canonicalJson, isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { redactValue } from '../../shared/redact-value.ts';

/** What a call goes by. */
const RULES = new Set([
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$id',
  '$ref',
  '$schema',
  'const',
  'dependentRequired',
  'enum',
  'format',
  'pattern',
  'required',
  'type',
]);
/** Schemas by names that are free: one may be called `default`. */
const NAMED = new Set(['$defs', 'definitions', 'dependencies', 'dependentSchemas', 'patternProperties', 'properties']);
/** Values of any form. */
const VALUES = new Set(['default', 'example', 'examples']);

/** The digest that `digestOf` of a schema is, by Node's hash. */
export function schemaHashOf(schema: JsonObject): string {
  return createHash('sha256').update(canonicalJson(schema)).digest('hex');
}

/** Names and rules stay, since calls go by them. All else may show secrets, also in keywords of the server's own. */
export function cleanedSchema<T extends JsonValue>(schema: T, redact: (text: string) => string): T;
export function cleanedSchema(schema: JsonValue, redact: (text: string) => string): JsonValue {
  if (typeof schema === 'string') return redact(schema);
  if (Array.isArray(schema)) return schema.map((item) => cleanedSchema(item, redact));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]) => [key, cleanedKeyword(key, value, redact)]);
  return Object.fromEntries(entries);
}

function cleanedKeyword(key: string, value: JsonValue, redact: (text: string) => string): JsonValue {
  if (RULES.has(key)) return value;
  if (VALUES.has(key)) return redactValue(value, redact);
  if (!NAMED.has(key) || !isObject(value)) return cleanedSchema(value, redact);
  // In `dependencies` of draft 7, a list is one of names.
  const schemas = Object.entries(value).map(([name, schema]) => [
    name,
    Array.isArray(schema) ? schema : cleanedSchema(schema, redact),
  ]);
  return Object.fromEntries(schemas);
}
