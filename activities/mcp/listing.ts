// What a server offers, from all its pages: each tool once, unusable ones left out and named.
import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import type { ToolAnnotations, ToolDefinition, ToolListing } from '../../shared/tool-server.ts';
import { isDeeperThan } from './depth.ts';
import type { SchemaChecker } from './schema-check.ts';

/** More pages than this are a server that never ends. */
export const MOST_PAGES = 1_000;
/** More tools than this no model can be offered; further pages are not asked for. */
export const MOST_TOOLS = 20_000;
/** Of a tool's whole description; schemas are walked by recursion. */
const MOST_TOOL_LEVELS = 100;

type Problem = ToolListing['problems'][number];

/** Asks for one page: the result of `tools/list` as it came. */
export type ListPage = (params: JsonObject) => Promise<JsonObject>;

/** Reads pages until there is no cursor, an empty one, or one that was seen before. Source: case cat-3. */
export async function listAllTools(listPage: ListPage): Promise<readonly JsonValue[]> {
  const tools: JsonValue[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const result = await listPage(cursor === undefined ? {} : { cursor });
    if (Array.isArray(result['tools'])) for (const tool of result['tools'] as readonly JsonValue[]) tools.push(tool);
    const next = result['nextCursor'];
    if (typeof next !== 'string' || next === '' || seen.has(next) || tools.length >= MOST_TOOLS) return tools;
    seen.add(next);
    cursor = next;
  }
  return tools;
}

/** Tools as described, with the configuration's annotations over the server's. Source: cases cat-2 and cat-3. */
export async function describeTools(
  raw: readonly JsonValue[],
  checkSchema: SchemaChecker,
  overrides: { readonly [tool: string]: ToolAnnotations },
): Promise<Pick<ToolListing, 'tools' | 'problems'>> {
  const tools: ToolDefinition[] = [];
  const problems: Problem[] = [];
  /** What each name was given as: a bad copy takes no name from a good one. */
  const copies = new Map<string, Set<string>>();
  const good = new Set<string>();
  for (const tool of raw) {
    const name = isObject(tool) ? tool['name'] : undefined;
    if (!isObject(tool) || typeof name !== 'string' || name === '') {
      problems.push({ tool: '', problem: 'a tool without a name' });
      continue;
    }
    if (isDeeperThan(tool, MOST_TOOL_LEVELS)) {
      problems.push({ tool: name, problem: `its description is nested deeper than ${MOST_TOOL_LEVELS} levels` });
      continue;
    }
    const text = JSON.stringify(tool);
    const known = copies.get(name) ?? new Set();
    if (known.has(text)) continue;
    copies.set(name, known.add(text));
    if (good.has(name)) {
      problems.push({ tool: name, problem: 'given more than once; the first good one counts' });
      continue;
    }
    const problem = await checkSchema(tool['inputSchema']);
    if (problem === undefined) {
      good.add(name);
      tools.push(describe(tool, name, overrides));
    } else problems.push({ tool: name, problem });
  }
  return { tools, problems };
}

function describe(
  tool: JsonObject,
  name: string,
  overrides: { readonly [tool: string]: ToolAnnotations },
): ToolDefinition {
  const { title, description, inputSchema, outputSchema } = tool;
  const override = Object.hasOwn(overrides, name) ? overrides[name] : undefined;
  const annotations = { ...annotationsOf(tool['annotations']), ...override };
  return {
    name,
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    // `checkSchema` has found it to be an object.
    inputSchema: inputSchema as JsonObject,
    ...(isObject(outputSchema) && { outputSchema }),
    ...(Object.keys(annotations).length > 0 && { annotations }),
  };
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/** A hint that is not a boolean says nothing. */
function annotationsOf(value: JsonValue | undefined): ToolAnnotations {
  if (!isObject(value)) return {};
  const hints = HINTS.filter((hint) => typeof value[hint] === 'boolean').map((hint) => [hint, value[hint]]);
  const { title } = value;
  return { ...(typeof title === 'string' && { title }), ...Object.fromEntries(hints) };
}
