// Takes secrets out of values as `redact` takes them out of texts.
import { isObject } from './json.ts';

/** The same value without secrets in any of its texts and keys, however deep. */
export function redactValue<T>(value: T, redactText: (text: string) => string): T;
export function redactValue(value: unknown, redactText: (text: string) => string): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((item) => redactValue(item, redactText));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [redactText(key), redactValue(item, redactText)]),
  );
}
