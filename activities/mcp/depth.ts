// How deep a value read from JSON is nested. `JSON.parse` takes any depth; `JSON.stringify` and whatever walks a value by
// recursion ends in a stack overflow somewhere above some thousand levels.

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

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
