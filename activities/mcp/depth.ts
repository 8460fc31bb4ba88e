// How deep a value read from JSON is nested. `JSON.parse` takes any depth; `JSON.stringify` and whatever walks a value by
// recursion ends in a stack overflow somewhere above some thousand levels.

import type { JsonObject, JsonValue } from '../../shared/json.ts';

/** Deeper than any result that means something, and far from the end of the stack. */
export const MOST_LEVELS = 500;

/** Whether arrays and objects are nested deeper than so many levels; itself without recursion. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let layer: readonly object[] = isNested(value) ? [value] : [];
  for (let depth = 0; layer.length > 0; depth += 1) {
    if (depth >= levels) return true;
    const next: object[] = [];
    for (const node of layer) for (const member of Object.values(node)) if (isNested(member)) next.push(member);
    layer = next;
  }
  return false;
}

/** In the place of what is nested too deeply to be written as JSON again. */
export function depthWords(what: string): string {
  return `[${what} nested deeper than ${MOST_LEVELS} levels cannot be kept and was left out]`;
}

/** A result without what is nested too deeply, in whose place words say so; the same result where nothing is. Total. */
export function withoutDepths(result: JsonObject): JsonObject {
  if (!isDeeperThan(result, MOST_LEVELS)) return result;
  const { content, ...others } = result;
  const deep = Object.keys(others).filter((key) => isDeeperThan(others[key], MOST_LEVELS - 1));
  const kept = Object.fromEntries(Object.entries(others).filter(([key]) => !deep.includes(key)));
  const blocks = Array.isArray(content) ? (content as readonly JsonValue[]) : content === undefined ? [] : [content];
  const shallow = blocks.map((block) => (isDeeperThan(block, MOST_LEVELS - 2) ? wordsBlock('A content block') : block));
  const lost = deep.map((key) => wordsBlock(key === 'structuredContent' ? 'Structured content' : `\`${key}\``));
  return { ...kept, content: [...shallow, ...lost] };
}

function wordsBlock(what: string): JsonObject {
  return { type: 'text', text: depthWords(what) };
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
