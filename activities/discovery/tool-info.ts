// The answers of `get_tool_info` and `get_tool_output_schema`: JSON, whole where it fits the budget, else with its larger parts
// cut and the pointer of each named.
import type { z } from 'zod';
import type { CatalogTool } from '../../shared/catalog.ts';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { getToolInfoArguments } from './arguments.ts';
import { toolOf, type Asked } from './context.ts';
import { fitRoom } from './fit.ts';
import { quoted, shownName } from './lines.ts';
import { walkPointer, type Part } from './pointer.ts';
import { fitsRoom, viewWithin } from './schema-view.ts';

type PartArguments = z.output<typeof getToolInfoArguments>;

/** The description is reached by a pointer that no schema has: `~d` is no escape. */
const DESCRIPTION = '/~description';
const OUTPUT_ELSEWHERE = '[cut, get_tool_output_schema shows it]';

/** Description and schemas of a tool, or the part of its input schema that `pointer` names. */
export async function getToolInfo(args: PartArguments, asked: Asked): Promise<string> {
  const tool = toolOf(asked, args.mcp_server, args.tool_name);
  if (args.pointer === '' || args.pointer === '#') {
    return fitRoom(asked.budget, (room) => withHint(JSON.stringify(infoWithin(tool, room)), 'get_tool_info'));
  }
  const part = infoPart(tool, args.pointer);
  const title = part.pointer.startsWith(DESCRIPTION) ? 'description' : 'inputSchema';
  return partAnswer(part, `${title} of ${quoted(shownName(tool))}`, { asked, by: 'get_tool_info' });
}

/** What a tool returns, or the part of it that `pointer` names. */
export async function getToolOutputSchema(args: PartArguments, asked: Asked): Promise<string> {
  const tool = toolOf(asked, args.mcp_server, args.tool_name);
  const name = quoted(shownName(tool));
  if (!tool.outputSchema) return `Tool ${name} does not say what it returns: it has no output schema. A call shows it.`;
  const part = walkPointer(tool.outputSchema, args.pointer);
  return partAnswer(part, `outputSchema of ${name}`, { asked, by: 'get_tool_output_schema' });
}

function infoPart(tool: CatalogTool, pointer: string): Part {
  if (pointer !== DESCRIPTION && !pointer.startsWith(`${DESCRIPTION}/`)) return walkPointer(tool.inputSchema, pointer);
  return { ...walkPointer(tool.description, pointer.slice(DESCRIPTION.length)), pointer: DESCRIPTION };
}

/** The input schema matters most; the description has at least a quarter, and the output schema what is left. */
function infoWithin(tool: CatalogTool, room: number): JsonObject {
  const { description, inputSchema, outputSchema } = tool;
  const whole = { description, inputSchema, ...(outputSchema && { outputSchema }) };
  const head = { mcp_server: tool.server, tool_name: shownName(tool), tags: tool.tags };
  if (fitsRoom(whole, room)) return { ...head, ...whole };
  const words: Part = { value: description, pointer: DESCRIPTION, from: 0 };
  const schema: Part = { value: inputSchema, pointer: '', from: 0 };
  const least = Math.floor(room / 4);
  const shownWords = fitsRoom(description, least)
    ? description
    : viewWithin(words, roomBeside(inputSchema, room, least));
  const shownSchema = viewWithin(schema, Math.max(0, room - JSON.stringify(shownWords).length));
  return {
    ...head,
    description: shownWords,
    inputSchema: shownSchema,
    ...(outputSchema && { outputSchema: OUTPUT_ELSEWHERE }),
  };
}

function roomBeside(other: JsonValue, room: number, least: number): number {
  return fitsRoom(other, room - least) ? room - JSON.stringify(other).length : least;
}

function partAnswer(
  part: Part,
  title: string,
  { asked, by }: { readonly asked: Asked; readonly by: string },
): Promise<string> {
  const start = part.from === 0 ? '' : ` from ${part.from}`;
  const where = part.pointer === '' ? '' : ` at ${quoted(part.pointer)}`;
  return fitRoom(asked.budget, (room) =>
    withHint(`${title}${where}${start}:\n${JSON.stringify(viewWithin(part, room))}`, by),
  );
}

/** Says how to go on where something was cut, or refers to another part. */
function withHint(text: string, by: string): string {
  const cut = text.includes('[cut, ');
  const refers = text.includes('"$ref":"#');
  if (!cut && !refers) return text;
  const how = cut ? `What is cut: ${by} with its pointer.` : `A "$ref": ${by} with it as pointer.`;
  return `${text}\n${how}`;
}
