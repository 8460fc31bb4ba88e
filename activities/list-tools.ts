// The Activity `longshoreListTools`: asks every server of the spec, selects, names, and stores the turn's catalog.
import { runAttempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { countTokens } from './measure.ts';
import { sandboxListing } from './sandbox/server.ts';
import type { SpecServer } from '../shared/agent-spec.ts';
import type { ListToolsInput } from '../shared/activities.ts';
import { ASK_USER_QUESTION_TOOL } from '../shared/ask-user.ts';
import type { Catalog, CatalogFacts, CatalogServer, CatalogTool } from '../shared/catalog.ts';
import { digestOf } from '../shared/digest.ts';
import { LongshoreError, messageOf } from '../shared/errors.ts';
import { exposeNames } from '../shared/exposed-names.ts';
import { canonicalJson, isObject, type JsonValue } from '../shared/json.ts';
import { DEFAULT_TOOL_TIMEOUT_MS } from '../shared/mcp-config.ts';
import { effectOf, isEnabled, tagsOf, unknownSelectorNames } from '../shared/policy.ts';
import { redactValue } from '../shared/redact-value.ts';
import { PEOPLE_SERVER, SANDBOX_SERVER } from '../shared/sandbox-tools.ts';
import type { ToolDefinition, ToolListing } from '../shared/tool-server.ts';

/** How long one server may take to start and list, unless the Worker says otherwise. */
const LIST_TIMEOUT_MS = 60_000;

/** What servers say of themselves stands in history and in every request; the file store has no more of it either. */
const DESCRIPTION_CHARACTERS = 1_000;
/** Names have no end that the protocol sets. */
const NAME_CHARACTERS = 200;
/** What is wrong with a tool may quote its schema. */
const PROBLEM_CHARACTERS = 400;
/** Of the tools left out, this many stand in history one by one. */
const PROBLEMS_TOLD = 20;

type Selected = Omit<CatalogTool, 'exposedName'>;

interface Offer {
  /** Absent for what the Workflow itself does: there is no server to ask. */
  readonly server?: CatalogServer;
  readonly tools: readonly Selected[];
}

/** Makes the Activity. */
export function createListTools(dependencies: ActivityDependencies): (input: ListToolsInput) => Promise<CatalogFacts> {
  return (input) =>
    runAttempt(dependencies.redact, async (attempt) => {
      const offers = await Promise.all([
        sandboxOffer(),
        ...input.servers.map((server) => {
          dependencies.pool.toolChanges.listing(input.turn.workflowId, server.name);
          return offerOf(server, dependencies, attempt.signal);
        }),
      ]);
      const asked = input.askUserQuestions ? [questionOffer()] : [];
      return storeCatalog(catalogOf([...offers, ...asked]), dependencies);
    });
}

function catalogOf(offers: readonly Offer[]): Catalog {
  const selected = offers.flatMap((offer) => offer.tools);
  const names = exposeNames(selected.map(({ server, tool }) => ({ server, tool })));
  const tools = selected
    .map((tool, index) => withName(tool, names[index] ?? tool.tool))
    .sort((a, b) => (a.exposedName < b.exposedName ? -1 : 1));
  return { version: 1, servers: offers.flatMap((offer) => offer.server ?? []), tools };
}

/** A name that cannot be exposed as it is stands in the description: a model is told it by people, and by other tools. */
function withName(tool: Selected, exposedName: string): CatalogTool {
  if (tool.server === PEOPLE_SERVER) return { ...tool, exposedName: tool.tool };
  if (exposedName.endsWith(`__${tool.tool}`)) return { ...tool, exposedName };
  const name = cut(tool.tool.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' '), NAME_CHARACTERS);
  return { ...tool, exposedName, description: `Tool "${name}" of server "${tool.server}". ${tool.description}`.trim() };
}

async function storeCatalog(catalog: Catalog, { store }: ActivityDependencies): Promise<CatalogFacts> {
  const ref = await store.putBlob(Buffer.from(canonicalJson(catalog)));
  const definitions = catalog.tools.map(({ exposedName, description, inputSchema }) =>
    JSON.stringify({ name: exposedName, description, parameters: inputSchema }),
  );
  const { tokens } = await countTokens(definitions.join('\n'));
  return { ref, servers: catalog.servers.map(briefly), toolCount: catalog.tools.length, definitionTokens: tokens };
}

/** As history has it; the stored catalog names every problem. */
function briefly(server: CatalogServer): CatalogServer {
  const more = server.problems.length - PROBLEMS_TOLD;
  if (more <= 0) return server;
  const rest = { tool: '', problem: `${more} more tools were left out; the stored catalog names them` };
  return { ...server, problems: [...server.problems.slice(0, PROBLEMS_TOLD), rest] };
}

async function sandboxOffer(): Promise<Offer> {
  const listing = sandboxListing();
  const tools = listing.tools.map((tool) => select(SANDBOX_SERVER, tool, false));
  const server = { name: SANDBOX_SERVER, toolCount: tools.length, timeoutMs: DEFAULT_TOOL_TIMEOUT_MS, problems: [] };
  return { server, tools };
}

function questionOffer(): Offer {
  return { tools: [select(PEOPLE_SERVER, ASK_USER_QUESTION_TOOL, false)] };
}

/** A server that cannot be asked is told to the model; a configuration that cannot work ends the turn. */
async function offerOf(spec: SpecServer, dependencies: ActivityDependencies, signal: AbortSignal): Promise<Offer> {
  const { pool } = dependencies;
  const server = pool.server(spec.name);
  const settings = pool.settings(spec.name);
  const known = { name: spec.name, timeoutMs: settings.timeoutMs };
  const { listTimeoutMs = LIST_TIMEOUT_MS } = dependencies;
  const deadline = AbortSignal.timeout(listTimeoutMs);
  try {
    const listing = await server.listTools(AbortSignal.any([signal, deadline]));
    checkSelectors(spec, listing);
    const tools = listing.tools
      .map((tool) => select(spec.name, cleaned(tool, dependencies), settings.honoursIdempotencyKeys))
      .filter((tool) => isEnabled(spec, tool.tool, tool.tags));
    const words = wordsOf(settings.description, listing, dependencies.redact);
    // Before it is cut: half a secret at the end would not be found.
    const problems = listing.problems.map(({ tool, problem }) => ({
      tool: cut(dependencies.redact(tool), NAME_CHARACTERS),
      problem: cut(dependencies.redact(problem), PROBLEM_CHARACTERS),
    }));
    return { server: { ...known, toolCount: tools.length, problems, ...words }, tools };
  } catch (error) {
    if (signal.aborted || (error instanceof LongshoreError && error.exitCode === 2)) throw error;
    const late = `MCP server \`${spec.name}\` did not start and list its tools within ${listTimeoutMs} ms`;
    const why = error === deadline.reason ? late : messageOf(error);
    const reason = dependencies.redact(why);
    const words = wordsOf(settings.description, {}, dependencies.redact);
    return { server: { ...known, ...words, toolCount: 0, problems: [], unavailable: reason }, tools: [] };
  }
}

/** The configured description comes first, and the server's own instructions are told beside it. Source: case cat-5. */
function wordsOf(
  configured: string | undefined,
  { instructions, title }: Pick<ToolListing, 'instructions' | 'title'>,
  redact: (text: string) => string,
): Pick<CatalogServer, 'description' | 'instructions'> {
  const clean = (text: string): string => cut(redact(text).trim(), DESCRIPTION_CHARACTERS);
  const description = clean(configured ?? title ?? '');
  const own = clean(instructions ?? '');
  return {
    ...(description !== '' && (configured !== undefined || own === '') && { description }),
    ...(own !== '' && own !== description && { instructions: own }),
  };
}

/** A server may show what it was configured with in words and defaults. Names and rules stay, since calls go by them. */
function cleaned(tool: ToolDefinition, { redact }: ActivityDependencies): ToolDefinition {
  const { name, inputSchema, outputSchema, ...words } = tool;
  return {
    ...redactValue(words, redact),
    name,
    inputSchema: cleanedSchema(inputSchema, redact),
    ...(outputSchema && { outputSchema: cleanedSchema(outputSchema, redact) }),
  };
}

const WORDS_OF_SCHEMAS = new Set(['description', 'title', '$comment', 'default', 'examples']);

function cleanedSchema<T extends JsonValue>(schema: T, redact: (text: string) => string): T;
function cleanedSchema(schema: JsonValue, redact: (text: string) => string): JsonValue {
  if (Array.isArray(schema)) return schema.map((item) => cleanedSchema(item, redact));
  if (!isObject(schema)) return schema;
  const entries = Object.entries(schema).map(([key, value]) => {
    // A property may have such a name: then its value is a schema.
    const isWords = WORDS_OF_SCHEMAS.has(key) && !isObject(value);
    return [key, isWords ? redactValue(value, redact) : cleanedSchema(value, redact)];
  });
  return Object.fromEntries(entries);
}

function cut(text: string, characters: number): string {
  return text.length <= characters ? text : `${text.slice(0, characters - 1).toWellFormed()}…`;
}

function checkSelectors(spec: SpecServer, listing: ToolListing): void {
  const offered = [...listing.tools.map((tool) => tool.name), ...listing.problems.map((problem) => problem.tool)];
  const unknown = unknownSelectorNames(spec, offered);
  if (unknown.length === 0) return;
  const named = unknown.map(({ name, path }) => `\`${name}\` (${path})`).join(', ');
  throw new LongshoreError(
    'ToolUnknown',
    `The spec names tools that server \`${spec.name}\` does not offer: ${named}`,
    `Remove them, or start the server with them. It offers: ${offered.slice(0, 40).join(', ') || 'none'}.`,
  );
}

function select(server: string, tool: ToolDefinition, honoursKeys: boolean): Selected {
  const { name, description, inputSchema, outputSchema, annotations } = tool;
  return {
    server,
    tool: name,
    description: description ?? tool.title ?? annotations?.title ?? '',
    inputSchema,
    ...(outputSchema && { outputSchema }),
    tags: tagsOf(annotations),
    effect: effectOf(annotations, honoursKeys),
    schemaHash: digestOf(inputSchema),
  };
}
