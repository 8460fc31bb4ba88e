// A schema without secrets, and its hash: the same wherever a tool is listed.
import { createHash } from 'node:crypto';
import { canonicalJson, isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { redactValue } from '../../shared/redact-value.ts';

const WORDS_OF_SCHEMAS = new Set(['description', 'title', '$comment', 'default', 'examples']);

/** The digest that `digestOf` of a schema is, by Node's hash. */
export function schemaHashOf(schema: JsonObject): string {
  return createHash('sha256').update(canonicalJson(schema)).digest('hex');
}

/** Words and defaults may show secrets; names and rules stay, since calls go by them. */
export function cleanedSchema<T extends JsonValue>(schema: T, redact: (text: string) => string): T;
export function cleanedSchema(schema: JsonValue, redact: (text: string) => string): JsonValue {
  if (Array.isArray(schema)) return schema.map((item) => cleanedSchema(item, redact));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    // A property may have such a name: then its value is a schema.
    const isWords = WORDS_OF_SCHEMAS.has(key) && !isObject(value);
    return [key, isWords ? redactValue(value, redact) : cleanedSchema(value, redact)];
  });
  return Object.fromEntries(entries);
}
