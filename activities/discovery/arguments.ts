// The arguments of the discovery tools, and their definitions towards the model. These go with every request of the turn, so
// they are few words: bounds that the schemas check are not shown, and a fault names them.
import { z } from 'zod';
import { CALL_TOOL, type DiscoveryTool } from '../../shared/discovery-tools.ts';
import type { JsonObject } from '../../shared/json.ts';
import type { ToolDefinition, ToolListing } from '../../shared/tool-server.ts';

const server = z.string().min(1);
const tool = z.string().min(1);
const pointer = z.string().default('');

/** Arguments of `search_tools`. */
export const searchToolsArguments = z.strictObject({
  query: z.string(),
  mcp_server: z.string().optional(),
  limit: z.int().min(1).optional(),
});

/** Arguments of `list_tools`. */
export const listToolsArguments = z.strictObject({
  mcp_server: server,
  cursor: z.string().optional(),
});

/** Arguments of `get_tool_info`; `pointer` is a JSON Pointer into the input schema. */
export const getToolInfoArguments = z.strictObject({ mcp_server: server, tool_name: tool, pointer });

/** Arguments of `get_tool_output_schema`; `pointer` is a JSON Pointer into the output schema. */
export const getToolOutputSchemaArguments = z.strictObject({ mcp_server: server, tool_name: tool, pointer });

/** Arguments of `call_tool`: the tool, and the arguments that it gets. */
export const callToolArguments = z.strictObject({
  mcp_server: server,
  tool_name: tool,
  input: z.looseObject({}).default({}),
});

const ARGUMENTS = {
  search_tools: searchToolsArguments,
  list_tools: listToolsArguments,
  get_tool_info: getToolInfoArguments,
  get_tool_output_schema: getToolOutputSchemaArguments,
  call_tool: callToolArguments,
} as const satisfies Record<DiscoveryTool, z.ZodType>;

const DESCRIPTIONS: Readonly<Record<DiscoveryTool, string>> = {
  search_tools: 'Finds tools of the tool servers by what they do. Each hit shows its arguments.',
  list_tools: "Lists a server's tools, by pages.",
  get_tool_info: 'Description and schemas of a tool. pointer: JSON Pointer to a part of inputSchema that was cut.',
  get_tool_output_schema: 'What a tool returns.',
  call_tool: 'Calls a tool of a tool server. input: its arguments.',
};

/** What the server offers, in the order of the names. */
export function discoveryListing(): ToolListing {
  // The keys of DESCRIPTIONS are the tools' names.
  const names = Object.keys(DESCRIPTIONS) as DiscoveryTool[];
  return { title: 'Discovery', tools: names.map((name) => definitionOf(name)), problems: [] };
}

/** The JSON Schema of a tool's arguments, as the model sees it. */
export function discoverySchema(name: DiscoveryTool): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(ARGUMENTS[name], { io: 'input', override: bare });
  // What zod makes of these schemas is JSON by its purpose.
  return schema as JsonObject;
}

/** `call_tool` itself changes nothing: the tool behind it has annotations of its own, and these count. */
function definitionOf(name: DiscoveryTool): ToolDefinition {
  const annotations = name === CALL_TOOL ? { openWorldHint: true } : { readOnlyHint: true, openWorldHint: false };
  return { name, description: DESCRIPTIONS[name], inputSchema: discoverySchema(name), annotations };
}

const NOT_SHOWN = ['minLength', 'minimum', 'maximum', 'default', 'additionalProperties'];

function bare({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  for (const key of NOT_SHOWN) delete jsonSchema[key];
  const { properties } = jsonSchema;
  if (properties && Object.keys(properties).length === 0) delete jsonSchema['properties'];
}
