// One call as the model asked for it: its tool found, its arguments parsed and checked. What is wrong with it is a fault.
import { parseArguments } from '../model/tool-calls.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { CALL_TOOL, DISCOVERY_SERVER } from '../../shared/discovery-tools.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ModelAnswer } from '../../shared/model.ts';
import { nearest } from '../../shared/spec-nearest.ts';
import {
  hasDiscovery,
  isDeferred,
  isFound,
  knownServer,
  knownTools,
  serverNames,
  toolOfServer,
  type CallCatalogs,
} from './catalogs.ts';
import { cutName, schemaText, unavailableText, unknownServer, unknownToolOf, type Fault } from './faults.ts';
import { factsOf, judgeTool, noFacts, unfit, type Judged, type JudgedCall } from './judged.ts';
import { judgeWrapped } from './wrapper.ts';

type Asked = Pick<ModelAnswer['toolCalls'][number], 'name' | 'inputText'>;

/** Judges one call by the catalogs that the turn has. */
export function judgeAsked(asked: Asked, catalogs: CallCatalogs): JudgedCall {
  const parsed = parseArguments(asked.inputText);
  const raw = 'input' in parsed ? {} : { raw: parsed.raw };
  const input = 'input' in parsed ? parsed.input : {};
  const tool = findByName(asked.name, catalogs);
  if (!tool) return { judged: judgeUnknown(asked.name, input, parsed, catalogs), ...raw };
  if (!('input' in parsed)) {
    const problem = `the arguments are not a JSON object: ${parsed.problem}`;
    return { judged: { ...factsOf(tool), arguments: {}, fault: unfit(tool, problem, catalogs) }, ...raw };
  }
  if (tool.server === DISCOVERY_SERVER) return judgeDiscovery(tool, input, catalogs);
  return { judged: judgeTool(tool, input, catalogs) };
}

/** By its exposed name; a bare tool name that only one server offers will do too. */
function findByName(name: string, catalogs: CallCatalogs): CatalogTool | null {
  const tools = knownTools(catalogs);
  const exact = tools.find((tool) => tool.exposedName === name);
  if (exact) return exact;
  const bare = tools.filter((tool) => tool.tool === name);
  return bare.length === 1 ? (bare[0] ?? null) : null;
}

/** `call_tool` is taken apart; of the others, a server that has nothing to find is told at once. */
function judgeDiscovery(tool: CatalogTool, input: JsonObject, catalogs: CallCatalogs): JudgedCall {
  if (tool.tool === CALL_TOOL) return judgeWrapped(tool, input, catalogs);
  const judged = judgeTool(tool, input, catalogs);
  const fault = judged.fault ?? nothingToFind(tool.tool, input['mcp_server'], catalogs);
  return { judged: fault ? { ...judged, fault } : judged };
}

function nothingToFind(by: string, server: unknown, catalogs: CallCatalogs): Fault | null {
  if (typeof server !== 'string' || (server === '' && by === 'search_tools')) return null;
  const known = knownServer(catalogs, server);
  if (!known) return unknownServer(server, by, serverNames(catalogs));
  if (isFound(server, catalogs)) return null;
  if (known.unavailable) return { type: 'unknown-tool', text: unavailableText(by, known.unavailable), stage: 'server' };
  const names = known.shown.map(({ exposedName }) => exposedName);
  const text = `All tools of server "${server}" are shown to you already; call them by name: ${names.slice(0, 40).join(', ')}.`;
  return { type: 'bad-arguments', text };
}

type Parsed = ReturnType<typeof parseArguments>;

/** A name that is in no catalog: one of a deferred server is looked for there, whatever else is a fault. */
function judgeUnknown(name: string, input: JsonObject, parsed: Parsed, catalogs: CallCatalogs): Judged {
  const away = catalogs.frame.servers.find(
    (server) => server.unavailable !== undefined && !isDeferred(server) && isOf(name, server.name),
  );
  const unknown = { ...noFacts('', name), arguments: input };
  if (away) return { ...unknown, fault: { type: 'unknown-tool', text: unavailableText(name, away) } };
  return (
    (hasDiscovery(catalogs) && judgeOfServer(name, input, parsed, catalogs)) || {
      ...unknown,
      fault: unknownTool(name, catalogs),
    }
  );
}

/** `server__tool` and `server.tool`. */
function judgeOfServer(name: string, input: JsonObject, parsed: Parsed, catalogs: CallCatalogs): Judged | null {
  const server = namedServer(name, serverNames(catalogs));
  const known = server === undefined ? null : knownServer(catalogs, server);
  if (!known) return null;
  const rest = name.slice(known.name.length + (name.startsWith(`${known.name}__`) ? 2 : 1));
  const facts = { ...noFacts(known.name, rest), arguments: input };
  const tool = toolOfServer(known, rest);
  if (!('input' in parsed)) {
    const problem = `the arguments are not a JSON object: ${parsed.problem}`;
    if (tool) return { ...factsOf(tool), arguments: {}, fault: unfit(tool, problem, catalogs) };
    return { ...facts, fault: { type: 'bad-arguments', text: `\`${cutName(name)}\` was not called: ${problem}.` } };
  }
  if (tool) return judgeTool(tool, input, catalogs);
  if (known.tools === null) return { ...facts, unresolved: true };
  // All names of the others are told instead, with the schema of the nearest.
  return isFound(known.name, catalogs) ? { ...facts, fault: unknownToolOf(known.name, rest, known.tools) } : null;
}

/** The first `__` separates in exposed names; where no server has the name before it, the longest one that fits is meant. */
function namedServer(name: string, servers: readonly string[]): string | undefined {
  const before = name.slice(0, Math.max(0, name.indexOf('__')));
  if (servers.includes(before)) return before;
  return servers.filter((server) => isOf(name, server)).sort((a, b) => b.length - a.length)[0];
}

function unknownTool(name: string, catalogs: CallCatalogs): Fault {
  const { tools } = catalogs.frame;
  const names = tools.map((tool) => tool.exposedName);
  const near = nearest(cutName(name), names);
  const close = tools.find((tool) => tool.exposedName === near);
  const hint = close ? ` The nearest is \`${close.exposedName}\`, with this schema: ${schemaText(close)}` : '';
  const others = hasDiscovery(catalogs) ? ' search_tools finds others.' : '';
  const text =
    `There is no tool \`${cutName(name)}\`; the call was not made. ` +
    `The tools are: ${names.slice(0, 100).join(', ')}.${others}${hint}`;
  return { type: 'unknown-tool', text };
}

/** By the form in which names are exposed, and the one in which people write them. */
function isOf(name: string, server: string): boolean {
  return name.startsWith(`${server}__`) || name.startsWith(`${server}.`);
}
