// What has changed between two catalogs: tools added, removed and changed, and where in a tool.
import type { CatalogTool } from './catalog.ts';
import type { ToolName } from './exposed-names.ts';
import { canonicalJson, isObject, type JsonValue } from './json.ts';

/** The parts of a tool that are compared. */
export type ToolPart = 'title' | 'description' | 'inputSchema' | 'outputSchema' | 'annotations' | 'tags' | 'effect';

/** A place that differs. */
export interface ChangedPlace {
  readonly part: ToolPart;
  /** Within the part, as a JSON Pointer; '' for all of it. */
  readonly pointer: string;
  readonly change: 'added' | 'removed' | 'changed';
}

/** A tool that both catalogs have, and that is not the same in both. */
export interface ToolChange extends ToolName {
  readonly parts: readonly ToolPart[];
  /** The first of them, in order of the parts; at most 50. */
  readonly places: readonly ChangedPlace[];
  /** How many there are. */
  readonly placeCount: number;
}

/** All differences; each list is sorted by server and tool. */
export interface CatalogDiff {
  readonly added: readonly ToolName[];
  readonly removed: readonly ToolName[];
  readonly changed: readonly ToolChange[];
  /** How many tools are the same in both. */
  readonly unchanged: number;
}

const PARTS: readonly ToolPart[] = [
  'title',
  'description',
  'inputSchema',
  'outputSchema',
  'annotations',
  'tags',
  'effect',
];
const PLACES_SHOWN = 50;

/** Compares two catalogs by server and tool; the order of tools and of keys does not count. */
export function diffCatalogs(before: readonly CatalogTool[], after: readonly CatalogTool[]): CatalogDiff {
  const was = byName(before);
  const is = byName(after);
  const added = [...is].flatMap(([key, tool]) => (was.has(key) ? [] : [nameOf(tool)]));
  const removed = [...was].flatMap(([key, tool]) => (is.has(key) ? [] : [nameOf(tool)]));
  const both = [...was].flatMap(([key, tool]) => {
    const other = is.get(key);
    return other ? [[tool, other] as const] : [];
  });
  const changed = both.flatMap(([old, now]) => changeOf(old, now) ?? []);
  return {
    added: added.sort(inOrder),
    removed: removed.sort(inOrder),
    changed: changed.sort(inOrder),
    unchanged: both.length - changed.length,
  };
}

function byName(tools: readonly CatalogTool[]): ReadonlyMap<string, CatalogTool> {
  return new Map(tools.map((tool) => [JSON.stringify([tool.server, tool.tool]), tool]));
}

function nameOf({ server, tool }: ToolName): ToolName {
  return { server, tool };
}

function inOrder(a: ToolName, b: ToolName): number {
  const [left, right] = a.server === b.server ? [a.tool, b.tool] : [a.server, b.server];
  return left < right ? -1 : left > right ? 1 : 0;
}

function changeOf(before: CatalogTool, after: CatalogTool): ToolChange | null {
  const places: ChangedPlace[] = [];
  const sameInput = before.schemaHash !== '' && before.schemaHash === after.schemaHash;
  for (const part of PARTS) {
    if (part === 'inputSchema' && sameInput) continue;
    // Parts are JSON by their types.
    const [was, is] = [before[part] as JsonValue | undefined, after[part] as JsonValue | undefined];
    comparePlaces(was, is, (pointer, change) => places.push({ part, pointer, change }));
  }
  if (places.length === 0) return null;
  const parts = PARTS.filter((part) => places.some((place) => place.part === part));
  return { ...nameOf(after), parts, places: places.slice(0, PLACES_SHOWN), placeCount: places.length };
}

type Tell = (pointer: string, change: ChangedPlace['change']) => void;

function comparePlaces(was: JsonValue | undefined, is: JsonValue | undefined, tell: Tell, pointer = ''): void {
  if (was === undefined && is === undefined) return;
  if (was === undefined) return tell(pointer, 'added');
  if (is === undefined) return tell(pointer, 'removed');
  if (!isObject(was) || !isObject(is)) {
    if (canonicalJson(was) !== canonicalJson(is)) tell(pointer, 'changed');
    return;
  }
  for (const key of [...new Set([...Object.keys(was), ...Object.keys(is)])].sort()) {
    const below = `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    comparePlaces(own(was, key), own(is, key), tell, below);
  }
}

function own(value: Record<string, unknown>, key: string): JsonValue | undefined {
  return Object.hasOwn(value, key) ? (value[key] as JsonValue) : undefined;
}
