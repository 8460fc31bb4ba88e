// Before a call is sent: whether its tool still has the schema that the turn knows. One that has another, does not only read any
// more, or is gone, is not called; the answer says so, with what there is now. Source: architecture D12, case srv-2.
import type { Attempt } from './attempt.ts';
import { listTimeoutOf } from './catalogs/ask-server.ts';
import { cleanedSchema } from './catalogs/clean-schema.ts';
import type { Offered, PresentTools } from './catalogs/present-tools.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { nameList, oneLine, quoted } from './discovery/lines.ts';
import { nearestNames } from './discovery/nearest-names.ts';
import { countTokens } from './measure.ts';
import type { StagedFacts } from './staging.ts';
import { textFacts } from './text-facts.ts';
import type { CallToolInput } from '../shared/activities.ts';
import { LongshoreError } from '../shared/errors.ts';

/** A new schema stands in the answer up to this. */
const SHOWN_SCHEMA_TOKENS = 2_000;
/** No schema of so few tokens is longer. */
const SHOWN_SCHEMA_CHARACTERS = 16_000;
const PROBLEM_CHARACTERS = 300;

/** What the check works with. */
export interface SchemaCheck {
  readonly attempt: Pick<Attempt, 'signal'>;
  readonly dependencies: Pick<ActivityDependencies, 'redact' | 'listTimeoutMs'>;
  readonly present: PresentTools;
}

/**
 * The result in place of a call whose tool has changed; null where it may be sent. Raises what listing raises, such as
 * `McpServerUnavailable`: nothing was sent then.
 */
export async function checkSchema(input: CallToolInput, check: SchemaCheck): Promise<StagedFacts | null> {
  const { server, tool, schemaHash } = input;
  const listTimeoutMs = listTimeoutOf(check.dependencies);
  const deadline = AbortSignal.timeout(listTimeoutMs);
  const signal = AbortSignal.any([check.attempt.signal, deadline]);
  try {
    const offered = await check.present.of(server, signal);
    if (isAsKnown(input, offered)) return null;
    const now = offered.listing ? { ...offered, listing: offered.listing } : await check.present.asked(server, signal);
    if (isAsKnown(input, now)) return null;
    const definition = now.listing.tools.find(({ name }) => name === tool);
    const is = now.hashes.get(tool);
    if (!definition || is === undefined) return await gone(input, now);
    if (is === schemaHash) return await mayMore(input, now);
    const schema = JSON.stringify(cleanedSchema(definition.inputSchema, check.dependencies.redact));
    return await changed(input, is, schema);
  } catch (error) {
    if (!deadline.aborted || error !== deadline.reason || check.attempt.signal.aborted) throw error;
    throw listedLate(server, listTimeoutMs);
  }
}

/** Policy went by what the tool was: one that may do more now may be one that a person is to be asked about. */
function isAsKnown({ tool, schemaHash, tags: known }: CallToolInput, { hashes, tags }: Offered): boolean {
  if (hashes.get(tool) !== schemaHash) return false;
  return known === undefined || (tags.get(tool) ?? []).every((tag) => known.includes(tag));
}

async function mayMore(input: CallToolInput, { tags }: Offered): Promise<StagedFacts> {
  const { server, tool, schemaHash } = input;
  const text =
    `Tool ${quoted(tool)} of server ${quoted(server)} was not called: its server says that it may do more than this turn knew ` +
    `(it is ${(tags.get(tool) ?? []).join(', ')} now). Nothing was sent. If it is still to be called, call it again: whether it ` +
    'may run is decided anew.';
  return { ...(await textFacts(input, 'error', text)), schemaChanged: { was: schemaHash, is: schemaHash } };
}

async function changed(input: CallToolInput, is: string, schema: string): Promise<StagedFacts> {
  const { server, tool, schemaHash: was } = input;
  const text =
    `Tool ${quoted(tool)} of server ${quoted(server)} was not called: the server has changed its arguments since the definition ` +
    `that this turn knows. Nothing was sent. ${await wayOn(server, tool, schema)}`;
  return { ...(await textFacts(input, 'error', text)), schemaChanged: { was, is } };
}

async function wayOn(server: string, tool: string, schema: string): Promise<string> {
  const isShort =
    schema.length <= SHOWN_SCHEMA_CHARACTERS &&
    (await countTokens(schema, SHOWN_SCHEMA_TOKENS)).tokens <= SHOWN_SCHEMA_TOKENS;
  if (isShort) return `If it is still to be called, call it again with arguments that fit its new schema: ${schema}`;
  const by = `get_tool_info with mcp_server ${quoted(server)} and tool_name ${quoted(tool)}`;
  return `Its new schema is large: see it with ${by}, then call it again.`;
}

async function gone(
  input: CallToolInput,
  { hashes, problems }: Pick<Offered, 'hashes' | 'problems'>,
): Promise<StagedFacts> {
  const { server, tool, schemaHash: was } = input;
  const problem = problems.get(tool);
  const why =
    problem === undefined
      ? 'the server does not offer it any more'
      : `as the server describes it now, it cannot be used: ${oneLine(problem, PROBLEM_CHARACTERS)}`;
  const near = nearestNames(tool, [...hashes.keys()], 5);
  const others =
    near.length === 0 ? 'The server has no tools now.' : `Nearest of what it offers: ${nameList(near, 400)}.`;
  const text = `Tool ${quoted(tool)} of server ${quoted(server)} was not called: ${why}. Nothing was sent. ${others}`;
  return { ...(await textFacts(input, 'error', text)), schemaChanged: { was, is: null } };
}

function listedLate(server: string, listTimeoutMs: number): LongshoreError {
  return new LongshoreError(
    'McpServerUnavailable',
    `MCP server \`${server}\` did not list its tools within ${listTimeoutMs} ms, and the call was not sent`,
    'Check the server and its entry in the configuration.',
  );
}
