// The built-in server `discovery`: tools by which a model finds tools. Every answer is a text within its budget of tokens.
// `call_tool` is not answered here: whoever proposes a turn's calls puts the tool behind it in its place.
import type { z } from 'zod';
import {
  CALL_TOOL,
  DEFAULT_DISCOVERY_TOKENS,
  DISCOVERY_TOOLS,
  isDiscoveryTool,
  type DiscoveryTool,
} from '../../shared/discovery-tools.ts';
import { canonicalJson, type JsonObject } from '../../shared/json.ts';
import { clip } from '../sandbox/text.ts';
import {
  discoverySchema,
  getToolInfoArguments,
  getToolOutputSchemaArguments,
  listToolsArguments,
  searchToolsArguments,
} from './arguments.ts';
import type { Asked, DiscoveryContext } from './context.ts';
import { DiscoveryFault } from './fault.ts';
import { clampAnswer } from './fit.ts';
import { listTools } from './list-tools.ts';
import { quoted } from './lines.ts';
import { searchTools } from './search-tools.ts';
import { getToolInfo, getToolOutputSchema } from './tool-info.ts';

/** What a tool answers. */
export interface DiscoveryAnswer {
  readonly text: string;
  readonly isError: boolean;
}

/**
 * Runs one tool.
 *
 * Contract: the text has at most `context.budget` tokens, whatever the catalogs hold. Every fault of the call (an unknown
 * tool or server, arguments that do not fit, a bad cursor or pointer) is an answer with `isError`.
 */
export async function callDiscoveryTool(
  tool: string,
  args: JsonObject,
  context: DiscoveryContext,
): Promise<DiscoveryAnswer> {
  const catalogs = [...context.catalogs].sort((a, b) => (a.server < b.server ? -1 : 1));
  const asked = { catalogs, budget: context.budget ?? DEFAULT_DISCOVERY_TOKENS };
  try {
    return { text: await clampAnswer(await answerOf(tool, args, asked), asked.budget), isError: false };
  } catch (thrown) {
    if (!(thrown instanceof DiscoveryFault)) throw thrown;
    return { text: await clampAnswer(thrown.message, asked.budget), isError: true };
  }
}

async function answerOf(tool: string, args: JsonObject, asked: Asked): Promise<string> {
  if (!isDiscoveryTool(tool)) {
    throw new DiscoveryFault(
      `There is no tool ${quoted(tool)} to find tools by. There are: ${DISCOVERY_TOOLS.join(', ')}.`,
    );
  }
  switch (tool) {
    case 'search_tools':
      return searchTools(parse(tool, searchToolsArguments, args), asked);
    case 'list_tools':
      return listTools(parse(tool, listToolsArguments, args), asked);
    case 'get_tool_info':
      return getToolInfo(parse(tool, getToolInfoArguments, args), asked);
    case 'get_tool_output_schema':
      return getToolOutputSchema(parse(tool, getToolOutputSchemaArguments, args), asked);
    case CALL_TOOL:
      throw new DiscoveryFault('call_tool was not taken apart, and nothing was called.');
  }
}

function parse<Schema extends z.ZodType>(tool: DiscoveryTool, schema: Schema, args: JsonObject): z.output<Schema> {
  const parsed = schema.safeParse(args);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.map(String).join('.') || 'arguments'}: ${message}`);
  throw new DiscoveryFault(
    `The arguments do not fit ${tool}: ${clip(problems.join('; '), 600)}. Its schema: ${canonicalJson(discoverySchema(tool))}`,
  );
}
