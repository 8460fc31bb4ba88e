// The built-in server `sandbox`: tools with which the agent inspects its own files, and one with which it writes some.
// Every answer is a text for a model, within the limit of tokens that the call has.
import type { z } from 'zod';
import { LongshoreError, messageOf } from '../../shared/errors.ts';
import { canonicalJson, type JsonObject } from '../../shared/json.ts';
import { SANDBOX_READ_TOOLS } from '../../shared/sandbox-tools.ts';
import type { ToolDefinition, ToolListing } from '../../shared/tool-server.ts';
import {
  argumentSchema,
  inferSchemaArguments,
  isSandboxTool,
  listFilesArguments,
  queryJsonArguments,
  readFileArguments,
  searchFileArguments,
  writeFileArguments,
  type SandboxTool,
} from './arguments.ts';
import { countTokens } from '../measure.ts';
import { loadManifest } from '../store/manifest.ts';
import { SandboxFault, supersededNote, type SandboxAnswer, type SandboxContext } from './files.ts';
import { clampText } from './fit.ts';
import { describeFile } from './infer-schema.ts';
import { listFiles } from './list-files.ts';
import { queryFile } from './query-json.ts';
import { readFile } from './read-file.ts';
import { searchFile } from './search-file.ts';
import { clip } from './text.ts';
import { closeQueryProcesses } from './query-process.ts';
import { closeThreads } from './threads.ts';
import { writeFile } from './write-file.ts';

export { normalizeSandboxArguments } from './arguments.ts';
export type { SandboxAnswer, SandboxContext } from './files.ts';

/** The tools whose third identical use in a turn is refused by the Workflow. */
export const sandboxReadTools: ReadonlySet<string> = new Set(SANDBOX_READ_TOOLS);

const DESCRIPTIONS: Readonly<Record<SandboxTool, string>> = {
  read_file:
    'Shows part of a sandbox file, by bytes (default: from the start) or by lines, within a limit; the first line says what was shown and where to go on. For large JSON use infer_schema and query_json.',
  search_file:
    'Finds a regular expression (RE2: no lookaround or backreferences) or literal text within the lines of a sandbox file of any size. Counts all matches, lists the first with line, byte offset and context.',
  infer_schema:
    'Describes a sandbox file without reading it all: types, keys and array lengths of JSON and JSON lines, or where it is not valid; columns and rows of CSV; lines of text.',
  query_json:
    'Computes an answer from a JSON, JSON lines or CSV file by JSONata: $count(agents), $sum(items.price), items[price > 10].name. JSON lines and CSV are arrays: $[0], $[name="x"].price. A list of one item comes as the item itself.',
  list_files: "Lists this turn's sandbox files: size, type, and the call that made each.",
  write_file:
    'Writes a text file of at most 1 MiB below /sandbox/, not below /sandbox/tool-results/; replaces what was there. Readable from the next step on.',
};

/** What the server offers. */
export function sandboxListing(): ToolListing {
  // The keys of DESCRIPTIONS are the tools' names.
  const names = Object.keys(DESCRIPTIONS) as SandboxTool[];
  return { title: 'Sandbox files', tools: names.map((name) => definitionOf(name)), problems: [] };
}

function definitionOf(name: SandboxTool): ToolDefinition {
  const annotations =
    name === 'write_file'
      ? { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false }
      : { readOnlyHint: true, openWorldHint: false };
  return { name, description: DESCRIPTIONS[name], inputSchema: argumentSchema(name), annotations };
}

/**
 * Runs one tool.
 *
 * Contract: every fault of the call (an unknown tool, arguments that do not fit, a path that is not there, content that the
 * store has lost) comes back as an answer with `isError`. It raises only the signal's reason and the store's retryable
 * errors (`StoreUnavailable`, `StoreFull`, `StoreConflict`).
 */
export async function callSandboxTool(tool: string, args: JsonObject, context: SandboxContext): Promise<SandboxAnswer> {
  context.signal.throwIfAborted();
  const answer = await answerWithNote(tool, args, context).catch((thrown: unknown) =>
    faultAnswer(tool, thrown, context.signal),
  );
  return { ...answer, text: await clampText(answer.text, context.perResultTokens) };
}

/** A read of a path that a newer file answers for says so in its first line. */
async function answerWithNote(tool: string, args: JsonObject, context: SandboxContext): Promise<SandboxAnswer> {
  const { path } = args;
  if (!sandboxReadTools.has(tool) || typeof path !== 'string') return answerOf(tool, args, context);
  const known = { ...context, manifest: await loadManifest(context.store, context.turn) };
  const note = await supersededNote(known, path);
  if (note === null) return answerOf(tool, args, known);
  const { tokens } = await countTokens(note);
  const answer = await answerOf(tool, args, {
    ...known,
    perResultTokens: Math.max(1, known.perResultTokens - tokens - 1),
  });
  return { ...answer, text: `${note}\n${answer.text}` };
}

/** Ends the sandbox's idle threads and processes; the next call starts new ones. For a Worker's shutdown. */
export async function closeSandbox(): Promise<void> {
  closeQueryProcesses();
  await closeThreads();
}

async function answerOf(tool: string, args: JsonObject, context: SandboxContext): Promise<SandboxAnswer> {
  switch (tool) {
    case 'read_file':
      return readFile(parse(tool, readFileArguments, args), context);
    case 'search_file':
      return searchFile(parse(tool, searchFileArguments, args), context);
    case 'infer_schema':
      return describeFile(parse(tool, inferSchemaArguments, args), context);
    case 'query_json':
      return queryFile(parse(tool, queryJsonArguments, args), context);
    case 'list_files':
      return listFiles(parse(tool, listFilesArguments, args), context);
    case 'write_file':
      return writeFile(parse(tool, writeFileArguments, args), context);
    default:
      throw new SandboxFault(
        `The server sandbox has no tool ${JSON.stringify(clip(tool, 80))}. It has: ${Object.keys(DESCRIPTIONS).join(', ')}.`,
      );
  }
}

function parse<Schema extends z.ZodType>(tool: SandboxTool, schema: Schema, args: JsonObject): z.output<Schema> {
  const parsed = schema.safeParse(args);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.map(String).join('.') || 'arguments'}: ${message}`);
  throw new SandboxFault(
    `The arguments do not fit ${tool}: ${clip(problems.join('; '), 600)}. Its schema: ${canonicalJson(argumentSchema(tool))}`,
  );
}

function faultAnswer(tool: string, thrown: unknown, signal: AbortSignal): SandboxAnswer {
  if (signal.aborted) throw signal.reason;
  if (thrown instanceof LongshoreError && thrown.retryable) throw thrown;
  if (thrown instanceof SandboxFault) return { text: thrown.message, isError: true };
  if (thrown instanceof LongshoreError) return { text: `${thrown.message} ${thrown.mend}`, isError: true };
  return {
    text: `The tool ${isSandboxTool(tool) ? tool : 'call'} failed: ${clip(messageOf(thrown), 500)}`,
    isError: true,
  };
}
