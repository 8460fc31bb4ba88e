// The index that `search_tools` asks: tools by name, title, description and argument names, in memory. One index serves all
// turns with the same catalogs, since it is kept by their hashes; it holds places in the catalogs, not the tools.
import { setImmediate as nextTick } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import MiniSearch, { type Options } from 'minisearch';
import type { CatalogTool } from '../../shared/catalog.ts';
import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { splitWords } from '../../shared/words.ts';
import { stemOf, stemsOf } from './words.ts';

/** Finds tools by words. */
export interface SearchIndex {
  /** Places in the tools that were indexed, best first; equal ones by name. None for a query without a word. */
  search(query: string): readonly number[];
  /** Optional arguments that most of a server's tools have: in a line they say nothing. */
  readonly common: ReadonlySet<string>;
}

interface ToolDocument {
  readonly id: number;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: string;
}

/** What a tool is for stands at the beginning of its description. */
const DESCRIPTION_CHARACTERS = 1_000;
const ARGUMENT_NAMES = 100;
const ARGUMENT_LEVELS = 6;
const QUERY_TERMS = 24;
/** An argument is common if more tools than this, and more than half of their server's, have it. */
const COMMON_TOOLS = 20;
/** How long indexing may hold the event loop. */
const LONGEST_TURN_MS = 15;
/** Tools whose indexes are kept, over all catalogs: some 5 KB each. */
const KEPT_TOOLS = 25_000;

const kept = new LRUCache<string, Promise<SearchIndex>>({ maxSize: KEPT_TOOLS, maxEntrySize: 2 * KEPT_TOOLS });

/**
 * The index of these tools, built once for a key.
 *
 * @param key says what the tools are: equal keys, equal tools in equal order
 */
export function searchIndexOf(key: string, tools: readonly CatalogTool[]): Promise<SearchIndex> {
  const known = kept.get(key);
  if (known) return known;
  const built = buildSearchIndex(tools);
  kept.set(key, built, { size: Math.min(KEPT_TOOLS, tools.length + 1) });
  built.catch(() => kept.delete(key));
  return built;
}

/** Builds an index, letting go of the event loop in between. */
export async function buildSearchIndex(tools: readonly CatalogTool[]): Promise<SearchIndex> {
  const known = new Set<string>();
  const index = new MiniSearch<ToolDocument>(optionsOf(known));
  let since = performance.now();
  // Lengths are averaged in the order of adding: in one order, so that the same tools have the same ranks.
  const names: ToolNames[] = [];
  for (const id of inOrderOfNames(tools)) {
    const tool = tools[id];
    if (!tool) continue;
    index.add(documentOf(id, tool));
    names[id] = { stems: stemsOf(tool.tool.slice(0, 200)).join(' '), exposedName: tool.exposedName };
    if (performance.now() - since < LONGEST_TURN_MS) continue;
    await nextTick();
    since = performance.now();
  }
  return { search: (query) => rank(index, names, query), common: commonArguments(tools) };
}

/** By server; of a small one no argument is common. */
function commonArguments(tools: readonly CatalogTool[]): ReadonlySet<string> {
  const counts = new Map<string, Map<string, number>>();
  const sizes = new Map<string, number>();
  for (const { server, inputSchema } of tools) {
    sizes.set(server, (sizes.get(server) ?? 0) + 1);
    const ofServer = counts.get(server) ?? new Map<string, number>();
    counts.set(server, ofServer);
    for (const name of argumentNamesOf(inputSchema)) ofServer.set(name, (ofServer.get(name) ?? 0) + 1);
  }
  const common = [...counts].flatMap(([server, names]) => {
    const least = Math.max(COMMON_TOOLS, (sizes.get(server) ?? 0) / 2);
    return [...names].filter(([, count]) => count > least).map(([name]) => name);
  });
  return new Set(common);
}

function argumentNamesOf({ properties }: JsonObject): readonly string[] {
  return isObject(properties) ? Object.keys(properties).slice(0, ARGUMENT_NAMES) : [];
}

function inOrderOfNames(tools: readonly CatalogTool[]): readonly number[] {
  const name = (id: number): string => tools[id]?.exposedName ?? '';
  return tools.map((_, id) => id).sort((a, b) => (name(a) < name(b) ? -1 : 1));
}

/** A word that the catalog has is meant; only others may be beginnings or misspelt. */
function optionsOf(known: Set<string>): Options<ToolDocument> {
  return {
    fields: ['name', 'title', 'description', 'arguments'],
    tokenize: splitWords,
    processTerm: (word) => {
      const stem = stemOf(word);
      if (stem !== null) known.add(stem);
      return stem;
    },
    searchOptions: {
      processTerm: stemOf,
      // A word counts once or twice, not more, and more in a short name than in a long one.
      bm25: { k: 0.6, b: 0.9, d: 0.2 },
      boost: { name: 3, title: 2, description: 1, arguments: 0.5 },
      prefix: (term) => term.length >= 3,
      fuzzy: (term) => term.length >= 4 && !known.has(term) && 0.25,
      maxFuzzy: 2,
    },
  };
}

function documentOf(id: number, { tool, title, description, inputSchema }: CatalogTool): ToolDocument {
  const names: string[] = [];
  addArgumentNames(inputSchema, names, 0);
  return {
    id,
    name: tool.slice(0, 200),
    title: title?.slice(0, 200) ?? '',
    description: description.slice(0, DESCRIPTION_CHARACTERS),
    arguments: names.join(' '),
  };
}

/** Of the arguments and of what is nested in them; the outer ones first. */
function addArgumentNames(schema: JsonValue | undefined, names: string[], level: number): void {
  if (!isObject(schema) || level > ARGUMENT_LEVELS) return;
  const inner: JsonValue[] = [];
  if (isObject(schema['properties'])) {
    for (const [name, property] of Object.entries(schema['properties'])) {
      if (names.length >= ARGUMENT_NAMES) return;
      names.push(name.slice(0, 100));
      inner.push(property);
    }
  }
  if (isObject(schema['items'])) inner.push(schema['items']);
  for (const property of inner) addArgumentNames(property, names, level + 1);
}

interface ToolNames {
  readonly stems: string;
  readonly exposedName: string;
}

/** A tool that is named by the query comes first. Scores are rounded: their last digits depend on the order of sums. */
function rank(index: MiniSearch<ToolDocument>, names: readonly ToolNames[], query: string): readonly number[] {
  const words = splitWords(query.slice(0, 1_000)).slice(0, QUERY_TERMS);
  const whole = words.flatMap((word) => stemOf(word) ?? []).join(' ');
  if (whole === '') return [];
  const hits = index.search(words.join(' ')).map(({ id, score }) => {
    const place = id as number; // as `documentOf` gave it
    const name = names[place];
    return { place, named: name?.stems === whole, score: Number(score.toPrecision(9)), name: name?.exposedName ?? '' };
  });
  hits.sort((a, b) => Number(b.named) - Number(a.named) || b.score - a.score || (a.name < b.name ? -1 : 1));
  return hits.map(({ place }) => place);
}
