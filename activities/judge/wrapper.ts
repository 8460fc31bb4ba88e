// `call_tool` taken apart: the call behind it is what policy, approval and records see.
import { callToolArguments } from '../discovery/arguments.ts';
import { parseArguments } from '../model/tool-calls.ts';
import type { CatalogTool } from '../../shared/catalog.ts';
import { CALL_TOOL, DISCOVERY_SERVER } from '../../shared/discovery-tools.ts';
import type { JsonObject } from '../../shared/json.ts';
import { knownServer, serverNames, toolOfServer, type CallCatalogs } from './catalogs.ts';
import { badWrapper, unavailableText, unknownServer, unknownToolOf, type Fault } from './faults.ts';
import { factsOf, judgeTool, noFacts, type Judged, type JudgedCall } from './judged.ts';

const PROBLEM_CHARACTERS = 600;

/** What stands in the wrapper. */
interface Wrapped {
  readonly server: string;
  readonly tool: string;
  readonly input: JsonObject;
}

/** Judges the call behind the wrapper; a fault of the wrapper itself names the wrapper. */
export function judgeWrapped(callTool: CatalogTool, given: JsonObject, catalogs: CallCatalogs): JudgedCall {
  const wrapped = unwrap(given);
  if (typeof wrapped === 'string') {
    return { judged: { ...factsOf(callTool), arguments: given, fault: badWrapper(callTool, wrapped) } };
  }
  if (wrapped.server === DISCOVERY_SERVER && wrapped.tool === CALL_TOOL) {
    const problem = `it cannot be called through itself: give it the server and the tool that are meant`;
    return { judged: { ...factsOf(callTool), arguments: given, fault: badWrapper(callTool, problem) } };
  }
  return { judged: { ...judgeBehind(wrapped, catalogs), via: CALL_TOOL }, wrapper: given };
}

function judgeBehind({ server, tool: name, input }: Wrapped, catalogs: CallCatalogs): Judged {
  const known = knownServer(catalogs, server);
  const facts = { ...noFacts(known ? server : '', name), arguments: input };
  const failed = (fault: Fault): Judged => ({ ...facts, fault });
  if (!known) return failed(unknownServer(server, CALL_TOOL, serverNames(catalogs)));
  const tool = toolOfServer(known, name);
  if (tool) return judgeTool(tool, input, catalogs);
  if (known.unavailable)
    return failed({ type: 'unknown-tool', text: unavailableText(name, known.unavailable), stage: 'server' });
  if (known.tools === null) return { ...facts, unresolved: true };
  return failed(unknownToolOf(server, name, known.tools));
}

/** The call behind it, or what is wrong. Models write the arguments as JSON text too. */
function unwrap(given: JsonObject): Wrapped | string {
  const { input } = given;
  const parsed = typeof input === 'string' ? parseArguments(input) : null;
  if (parsed && !('input' in parsed)) return `input is not a JSON object: ${parsed.problem}`;
  const checked = callToolArguments.safeParse(parsed ? { ...given, input: parsed.input } : given);
  if (!checked.success) {
    const problems = checked.error.issues
      .slice(0, 5)
      .map(({ path, message }) => `${path.map(String).join('.') || 'the arguments'}: ${message}`);
    return problems.join('; ').slice(0, PROBLEM_CHARACTERS).toWellFormed();
  }
  const { mcp_server: server, tool_name: tool } = checked.data;
  // Checked just above: an object, or nothing.
  const own = (parsed ? parsed.input : given['input']) as JsonObject | undefined;
  return { server, tool, input: own ?? {} };
}
