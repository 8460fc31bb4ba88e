// Asks one server what it offers, and selects by the spec. A server that cannot be asked is told to the model; a configuration
// that cannot work ends the turn, while the turn has not begun.
import { setImmediate as nextLoop } from 'node:timers/promises';
import type { ActivityDependencies } from '../dependencies.ts';
import type { SpecServer } from '../../shared/agent-spec.ts';
import type { CatalogServer, CatalogTool } from '../../shared/catalog.ts';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { effectOf, isEnabled, tagsOf, unknownSelectorNames } from '../../shared/policy.ts';
import { redactValue } from '../../shared/redact-value.ts';
import type { ToolDefinition, ToolListing } from '../../shared/tool-server.ts';
import { nearestNames } from '../discovery/nearest-names.ts';
import { cleanedSchema, schemaHashOf } from './clean-schema.ts';
import type { PresentTools } from './present-tools.ts';
import { cut, NAME_CHARACTERS, wordsOf } from './words.ts';

/** How long one server may take to start and list, unless the Worker says otherwise. */
const LIST_TIMEOUT_MS = 60_000;
/** What is wrong with a tool may quote its schema. */
const PROBLEM_CHARACTERS = 400;
/** Names of tools in one error. */
const NAMES_TOLD = 40;
/** Schemas are hashed on the event loop: so many tools at once. */
const CHUNK_TOOLS = 64;

/** A tool that has no name towards the model yet. */
export type Selected = Omit<CatalogTool, 'exposedName'>;

/** What one server contributes. */
export interface Offer {
  /** Absent for what the Workflow itself does: there is no server to ask. */
  readonly server?: CatalogServer;
  /** After the spec's selection. */
  readonly tools: readonly Selected[];
}

/** What a server answered. */
export interface Asked extends Offer {
  readonly server: CatalogServer;
  /** All that it offers; null where it could not be asked. */
  readonly all: readonly Selected[] | null;
}

/** What it takes to ask a server and to keep what it says. */
export type ListingDependencies = Pick<ActivityDependencies, 'pool' | 'store' | 'redact' | 'listTimeoutMs'>;

/** How a server is asked. */
export interface Asking {
  readonly dependencies: ListingDependencies;
  readonly signal: AbortSignal;
  readonly workflowId: string;
  /** Hears of the listing, so that calls can be compared with it. */
  readonly present?: PresentTools;
  /** Whether titles and annotations are kept. */
  readonly detailed: boolean;
  /** In the middle of a turn: whatever is wrong makes the server unavailable, and ends nothing. */
  readonly isLate?: boolean;
  /** Gets what was listed, before anything is said of the spec. */
  readonly onListed?: (all: readonly Selected[], server: CatalogServer) => Promise<void>;
}

/** How long a listing may take. */
export function listTimeoutOf({
  listTimeoutMs = LIST_TIMEOUT_MS,
}: Pick<ActivityDependencies, 'listTimeoutMs'>): number {
  return listTimeoutMs;
}

/** Asks it. Raises `McpServerUnknown`, `ToolUnknown` and the like, unless it `isLate`; always the signal's reason. */
export async function askServer(spec: SpecServer, asking: Asking): Promise<Asked> {
  const { dependencies, signal, isLate = false } = asking;
  const listTimeoutMs = listTimeoutOf(dependencies);
  const deadline = AbortSignal.timeout(listTimeoutMs);
  try {
    return await ask(spec, asking, AbortSignal.any([signal, deadline]));
  } catch (error) {
    const isFinal = !isLate && error instanceof LongshoreError && error.exitCode === 2;
    if (signal.aborted || isFinal) throw error;
    const late = `MCP server \`${spec.name}\` did not start and list its tools within ${listTimeoutMs} ms`;
    const why = error === deadline.reason ? late : messageOf(error);
    return unavailableServer(spec, dependencies, why);
  }
}

async function ask(spec: SpecServer, asking: Asking, signal: AbortSignal): Promise<Asked> {
  const { dependencies, workflowId, present, onListed } = asking;
  const { pool, redact } = dependencies;
  const server = pool.server(spec.name);
  const { timeoutMs, description } = pool.settings(spec.name);
  pool.toolChanges.listing(workflowId, spec.name);
  const listing = await server.listTools(signal);
  const words = wordsOf(description, listing, redact);
  // Before it is cut: half a secret at the end would not be found.
  const problems = listing.problems.map(({ tool, problem }) => ({
    tool: cut(redact(tool), NAME_CHARACTERS),
    problem: cut(redact(problem), PROBLEM_CHARACTERS),
  }));
  const all = await selectedOf(spec.name, listing.tools, asking);
  present?.remember(spec.name, listing, new Map(all.map(({ tool, schemaHash }) => [tool, schemaHash])));
  const entry = { name: spec.name, timeoutMs, problems, ...words };
  await onListed?.(all, { ...entry, toolCount: all.length });
  checkSelectors(spec, listing);
  const tools = all.filter((tool) => isEnabled(spec, tool.tool, tool.tags));
  return { server: { ...entry, toolCount: tools.length }, tools, all };
}

function unavailableServer(spec: SpecServer, { pool, redact }: ListingDependencies, why: string): Asked {
  const isKnown = pool.names().includes(spec.name);
  const settings = isKnown ? pool.settings(spec.name) : { timeoutMs: 0 };
  const words = wordsOf('description' in settings ? settings.description : undefined, {}, redact);
  const entry = { name: spec.name, timeoutMs: settings.timeoutMs, ...words, toolCount: 0, problems: [] };
  return { server: { ...entry, unavailable: redact(why) }, tools: [], all: null };
}

async function selectedOf(
  server: string,
  tools: readonly ToolDefinition[],
  { dependencies, detailed }: Asking,
): Promise<readonly Selected[]> {
  const { honoursIdempotencyKeys } = dependencies.pool.settings(server);
  const selected: Selected[] = [];
  for (const [index, tool] of tools.entries()) {
    if (index % CHUNK_TOOLS === CHUNK_TOOLS - 1) await nextLoop();
    selected.push(select(server, cleaned(tool, dependencies), { honoursKeys: honoursIdempotencyKeys, detailed }));
  }
  return selected;
}

/** A tool as catalogs have it. */
export function select(
  server: string,
  tool: ToolDefinition,
  { honoursKeys = false, detailed }: { readonly honoursKeys?: boolean; readonly detailed: boolean },
): Selected {
  const { name, description, inputSchema, outputSchema, annotations } = tool;
  const title = tool.title ?? annotations?.title;
  const { title: _title, ...hints } = annotations ?? {};
  return {
    server,
    tool: name,
    ...(detailed && title !== undefined && description !== undefined && title !== description && { title }),
    description: description ?? title ?? '',
    inputSchema,
    ...(outputSchema && { outputSchema }),
    tags: tagsOf(annotations),
    effect: effectOf(annotations, honoursKeys),
    ...(detailed && Object.keys(hints).length > 0 && { annotations: hints }),
    schemaHash: schemaHashOf(inputSchema),
  };
}

/** A server may show what it was configured with in words and defaults. Names and rules stay, since calls go by them. */
function cleaned(tool: ToolDefinition, { redact }: ListingDependencies): ToolDefinition {
  const { name, inputSchema, outputSchema, ...words } = tool;
  return {
    ...redactValue(words, redact),
    name,
    inputSchema: cleanedSchema(inputSchema, redact),
    ...(outputSchema && { outputSchema: cleanedSchema(outputSchema, redact) }),
  };
}

function checkSelectors(spec: SpecServer, listing: ToolListing): void {
  const offered = [...listing.tools.map((tool) => tool.name), ...listing.problems.map((problem) => problem.tool)];
  const unknown = unknownSelectorNames(spec, offered);
  if (unknown.length === 0) return;
  const named = unknown.map(({ name, path }) => `\`${name}\` (${path})`).join(', ');
  throw new LongshoreError(
    'ToolUnknown',
    `The spec names tools that server \`${spec.name}\` does not offer: ${named}`,
    `Correct or remove them, or start the server with them. It offers, nearest first: ${someOf(
      unknown.map(({ name }) => name),
      offered,
    )}.`,
  );
}

/** Names of tools, those first that are most like what was meant. */
function someOf(unknown: readonly string[], offered: readonly string[]): string {
  const near = unknown.flatMap((name) => nearestNames(name, offered, 3));
  const names = [...new Set([...near, ...offered])];
  const more = names.length - NAMES_TOLD;
  return `${names.slice(0, NAMES_TOLD).join(', ') || 'none'}${more > 0 ? `, and ${more} more` : ''}`;
}
