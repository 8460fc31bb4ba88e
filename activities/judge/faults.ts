// Why a call was not made, in words for the model: what was wrong, and how to do it right.
import { viewWithin } from '../discovery/schema-view.ts';
import { nameList, quoted, shownName } from '../discovery/lines.ts';
import { nearestNames } from '../discovery/nearest-names.ts';
import type { ProposedCall } from '../../shared/activities.ts';
import type { CatalogServer, CatalogTool } from '../../shared/catalog.ts';

/** Why a call cannot be made; its tokens are counted when it goes out. */
export type Fault = Omit<NonNullable<ProposedCall['fault']>, 'tokens'>;

/** A schema is shown whole in an error up to this many characters. */
const SHOWN_SCHEMA_CHARACTERS = 4_000;
/** Of why a server is not there. */
const REASON_CHARACTERS = 1_000;
const NAME_CHARACTERS = 128;

/** A name goes into records and messages: bounded, and well-formed. */
export function cutName(name: string): string {
  return name.slice(0, NAME_CHARACTERS).toWellFormed();
}

/** Of arguments that do not fit, of a tool in the array. */
export function badArguments(tool: CatalogTool, problem: string): Fault {
  const text = `\`${tool.exposedName}\` was not called: ${problem}. Call it again with arguments that fit this schema: ${schemaText(tool)}`;
  return { type: 'bad-arguments', text };
}

/** The same of a tool that is not in the array. */
export function badInput(tool: CatalogTool, problem: string): Fault {
  const { server, inputSchema } = tool;
  const whole = JSON.stringify(inputSchema);
  const isWhole = whole.length <= SHOWN_SCHEMA_CHARACTERS;
  const shown = isWhole
    ? whole
    : JSON.stringify(viewWithin({ value: inputSchema, pointer: '', from: 0 }, SHOWN_SCHEMA_CHARACTERS));
  const rest = isWhole ? '' : ' What is cut: get_tool_info with its pointer.';
  const text =
    `Tool ${quoted(shownName(tool))} of server ${quoted(server)} was not called: ${problem}. ` +
    `Call it again with arguments that fit this schema: ${shown}${rest}`;
  return { type: 'bad-arguments', text };
}

/** Of arguments of the wrapper itself. */
export function badWrapper(tool: CatalogTool, problem: string): Fault {
  const text =
    `\`${tool.exposedName}\` called nothing: ${problem}. Its arguments are the server, the tool, and in input what the tool gets. ` +
    `Its schema: ${schemaText(tool)}`;
  return { type: 'bad-arguments', text };
}

/** Of a server that the turn does not have. */
export function unknownServer(name: string, by: string, known: readonly string[]): Fault {
  const near = nearestNames(name, known, known.length);
  const servers = near.length === 0 ? 'There are none.' : `Servers, nearest first: ${nameList(near, 600)}.`;
  const text = `There is no tool server ${quoted(name)}; \`${by}\` called nothing. ${servers}`;
  return { type: 'unknown-tool', text, stage: 'server' };
}

/** Of a tool that a server does not have. */
export function unknownToolOf(server: string, name: string, tools: readonly CatalogTool[]): Fault {
  const none = `Server ${quoted(server)} has no tool ${quoted(name)}; the call was not made.`;
  if (tools.length === 0) return { type: 'unknown-tool', text: `${none} It has no tools.` };
  const near = nearestNames(name, tools.map(shownName), 5);
  const text = `${none} Nearest: ${nameList(near, 600)}.`;
  return { type: 'unknown-tool', text };
}

/** Of a server that was not there when the turn began, and whose tools are all in the array otherwise. */
export function unavailableText(name: string, { name: server, unavailable = '' }: CatalogServer): string {
  return (
    `\`${cutName(name)}\` was not called: server \`${server}\` was not available when this turn asked for its tools: ${reasonOf(unavailable)}. ` +
    'None of its tools can be called in this turn; a new turn asks it again.'
  );
}

/** Of a server that is not there now, and is asked again with the next call. */
export function unavailableNow(name: string, { name: server, unavailable = '' }: CatalogServer): Fault {
  const text =
    `\`${cutName(name)}\` was not called: server \`${server}\` is not available now: ${reasonOf(unavailable)}. ` +
    'It is asked again with the next call of one of its tools.';
  return { type: 'unknown-tool', text, stage: 'server' };
}

/** A schema as it stands in a fault. */
export function schemaText(tool: CatalogTool): string {
  const text = JSON.stringify(tool.inputSchema);
  return text.length <= SHOWN_SCHEMA_CHARACTERS ? text : `${text.slice(0, SHOWN_SCHEMA_CHARACTERS).toWellFormed()}…`;
}

function reasonOf(unavailable: string): string {
  return unavailable
    .replace(/[.\s]+$/, '')
    .slice(0, REASON_CHARACTERS)
    .toWellFormed();
}
