// Where a schema has a key, so that a key in the wrong place can be sent to the right one.
import { z } from 'zod';

/** The path of the object that has this key, as in `config.context_management` or `mcp_servers[]`; null if none has. */
export function placeOfKey(schema: z.ZodType, key: string): string | null {
  return search(schema, key, '');
}

function search(schema: unknown, key: string, path: string): string | null {
  if (schema instanceof z.ZodObject) return searchObject(schema, key, path);
  if (schema instanceof z.ZodOptional) return search(schema.unwrap(), key, path);
  if (schema instanceof z.ZodArray) return search(schema.element, key, `${path}[]`);
  if (schema instanceof z.ZodRecord) return search(schema.valueType, key, `${path}.*`);
  if (schema instanceof z.ZodUnion) return firstFound(schema.options, (option) => search(option, key, path));
  return null;
}

function searchObject(schema: z.ZodObject, key: string, path: string): string | null {
  if (path !== '' && Object.hasOwn(schema.shape, key)) return path;
  const members = Object.entries(schema.shape);
  return firstFound(members, ([name, member]) => search(member, key, path === '' ? name : `${path}.${name}`));
}

function firstFound<T>(items: readonly T[], find: (item: T) => string | null): string | null {
  for (const item of items) {
    const found = find(item);
    if (found !== null) return found;
  }
  return null;
}
