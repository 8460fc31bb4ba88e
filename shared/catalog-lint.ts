// What makes a catalog hard to use for a model, or needlessly dear: descriptions that say too little or too much alike, missing
// annotations, huge definitions, names that collide. Advice for whoever writes or configures a server; nothing is refused.
import { alikeGroups } from './catalog-alike.ts';
import type { CatalogTool } from './catalog.ts';
import { splitWords, STOP_WORDS } from './words.ts';

/** What was found. */
export type LintRule =
  | 'says-too-little'
  | 'says-the-same'
  | 'no-annotations'
  | 'contradictory-annotations'
  | 'huge-definition'
  | 'same-name'
  | 'name-not-exposed';

/** One finding. */
export interface LintFinding {
  readonly rule: LintRule;
  /** In order of server and name. */
  readonly tools: readonly { readonly server: string; readonly tool: string }[];
  /** What it is and what to do about it, without the names. */
  readonly message: string;
}

/** Characters of JSON, some 2,000 tokens: what one answer about a tool may have. */
const HUGE_CHARACTERS = 8_000;
/** Fewer words beyond the name say too little. */
const LEAST_WORDS = 3;

/** All findings, by rule in the order of `LintRule`. Takes some tenths of a second for a thousand tools. */
export function lintCatalog(tools: readonly CatalogTool[]): readonly LintFinding[] {
  const sorted = [...tools].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  return [
    ...each(
      sorted.filter(saysTooLittle),
      'says-too-little',
      'has no description that says more than its name. Write what it does, and when to use it.',
    ),
    ...alikeGroups(sorted).map((group) =>
      finding(group, 'says-the-same', 'say nearly the same. Write in each what sets it apart.'),
    ),
    ...byServer(sorted.filter(lacksAnnotations)).map((group) =>
      finding(
        group,
        'no-annotations',
        `${group.length === 1 ? 'has' : 'have'} no annotations that say what a call may do, so each is taken as a write: gated by \`@write\`, and never sent again. Let the server give readOnlyHint or destructiveHint, or set \`annotations\` in the configuration.`,
      ),
    ),
    ...each(
      sorted.filter(contradicts),
      'contradictory-annotations',
      'calls itself read-only and destructive. It is taken as a write; correct one of the two.',
    ),
    ...huge(sorted),
    ...sameNames(sorted),
    ...each(
      sorted.filter(isHidden),
      'name-not-exposed',
      'has a name that providers do not take, so the model sees a shortened one with a hash. Use at most 64 of A-Z, a-z, 0-9, _ and -, server and "__" included.',
    ),
  ];
}

function keyOf({ server, tool }: CatalogTool): string {
  return JSON.stringify([server, tool]);
}

function finding(tools: readonly CatalogTool[], rule: LintRule, message: string): LintFinding {
  return { rule, tools: tools.map(({ server, tool }) => ({ server, tool })), message };
}

function each(tools: readonly CatalogTool[], rule: LintRule, message: string): readonly LintFinding[] {
  return tools.map((tool) => finding([tool], rule, message));
}

function saysTooLittle({ tool, title = '', description }: CatalogTool): boolean {
  const known = new Set(splitWords(tool));
  const words = splitWords(`${title} ${description}`.slice(0, 2_000)).filter((word) => !STOP_WORDS.has(word));
  const isNew = words.some((word) => !known.has(word) && !known.has(word.replace(/s$/, '')) && !known.has(`${word}s`));
  return !isNew || new Set(words).size < LEAST_WORDS;
}

/** Catalogs of old have no annotations but what they came to: a plain write may then have been annotated as one. */
function lacksAnnotations({ annotations, tags, effect }: CatalogTool): boolean {
  if (annotations) return annotations.readOnlyHint === undefined && annotations.destructiveHint === undefined;
  return effect === 'write' && tags.every((tag) => tag === '@write');
}

function contradicts({ tags }: CatalogTool): boolean {
  return tags.includes('@read-only') && tags.includes('@destructive');
}

function isHidden({ tool, exposedName }: CatalogTool): boolean {
  return exposedName !== tool && !exposedName.endsWith(`__${tool}`);
}

function huge(tools: readonly CatalogTool[]): readonly LintFinding[] {
  return tools.flatMap((tool) => {
    const { description, inputSchema, outputSchema } = tool;
    const characters = JSON.stringify({ description, inputSchema, outputSchema }).length;
    if (characters <= HUGE_CHARACTERS) return [];
    const size = characters.toLocaleString('en-US');
    return [
      finding(
        [tool],
        'huge-definition',
        `has a definition of ${size} characters: preloaded, every request carries it. Leave it deferred, or make it smaller.`,
      ),
    ];
  });
}

function byServer(tools: readonly CatalogTool[]): readonly (readonly CatalogTool[])[] {
  return groupsBy(tools, ({ server }) => server);
}

/** By words, so that `getUser` and `get_user` are the same. */
function sameNames(tools: readonly CatalogTool[]): readonly LintFinding[] {
  return groupsBy(tools, ({ tool }) => splitWords(tool).join(' ') || tool)
    .filter((group) => group.length > 1)
    .map((group) => {
      const isOneServer = new Set(group.map(({ server }) => server)).size === 1;
      const where = isOneServer
        ? 'of one server have the same words in their names'
        : 'of several servers have the same name';
      return finding(
        group,
        'same-name',
        `${where}. They are kept apart, but a model may take one for the other: rename or disable one.`,
      );
    });
}

function groupsBy(
  tools: readonly CatalogTool[],
  key: (tool: CatalogTool) => string,
): readonly (readonly CatalogTool[])[] {
  const groups = new Map<string, CatalogTool[]>();
  for (const tool of tools) {
    const group = groups.get(key(tool));
    if (group) group.push(tool);
    else groups.set(key(tool), [tool]);
  }
  return [...groups.values()];
}
