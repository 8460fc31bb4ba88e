// JSON-safe values, the only kind that crosses Temporal, and the canonical text that digests are taken of.

/** A value that JSON can hold without loss. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** A JSON object. */
export type JsonObject = { readonly [key: string]: JsonValue };

/**
 * One text for one value: keys sorted by code unit, no spaces, `undefined` members left out.
 * Source: the idea of RFC 8785; numbers print as JavaScript prints them.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/** Whether a value is a plain object, neither an array nor null. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value has more levels of arrays and objects than that. Goes down level by level, so that no depth is too much for it. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const nested = level.filter((one) => typeof one === 'object' && one !== null);
    if (nested.length > 0 && depth >= levels) return true;
    level = nested.flatMap((one) => Object.values(one));
  }
  return false;
}
