// The built-in server `discovery`: its name, those of its tools towards the model, and the limits of its answers.
// Source: parity page; architecture D12.

/** The built-in server by which tools are found whose definitions are not in the tool array. */
export const DISCOVERY_SERVER = 'discovery';

/** The tool by which a tool is called that the tool array does not have. */
export const CALL_TOOL = 'call_tool';

/** Its tools; the names towards the model are the same. */
export const DISCOVERY_TOOLS = [
  'search_tools',
  'list_tools',
  'get_tool_info',
  'get_tool_output_schema',
  CALL_TOOL,
] as const;

/** The name of a tool of the server. */
export type DiscoveryTool = (typeof DISCOVERY_TOOLS)[number];

/** What the system message says where the tools of a server are not all shown; the list of servers follows. */
export const DISCOVERY_INSTRUCTIONS =
  'Most tools of the servers below are not shown to you: find them with search_tools, then run them with call_tool.';

/** Tokens of one answer. @default of `discovery_tokens` */
export const DEFAULT_DISCOVERY_TOKENS = 2_000;

/** Below this an answer is still within its budget, but may be too short to go on from. */
export const LEAST_DISCOVERY_TOKENS = 300;

/** Hits of a search. @default of `limit` */
export const DEFAULT_SEARCH_LIMIT = 8;

/** A higher `limit` is taken as this. */
export const MOST_SEARCH_LIMIT = 50;

/** Whether the server has a tool of that name. */
export function isDiscoveryTool(tool: string): tool is DiscoveryTool {
  return (DISCOVERY_TOOLS as readonly string[]).includes(tool);
}
