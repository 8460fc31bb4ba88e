// The arguments of the sandbox's tools: their schemas, and the one form that equal calls share.
// Paths are normalised and defaults applied, so that two spellings of one read have one digest.
import { posix } from 'node:path';
import { z } from 'zod';
import type { JsonObject } from '../../shared/json.ts';

/** The folder that everything the agent can name lies in. */
export const SANDBOX_ROOT = '/sandbox';

const path = z.string().min(1).max(1024).transform(normalizePath);
const filePath = path.describe('Path of the file, as in /sandbox/tool-results/…');

/** Arguments of `read_file`. */
export const readFileArguments = z
  .strictObject({
    path: filePath,
    offset_bytes: z.int().min(0).optional().describe('Start at this byte, from 0.'),
    length_bytes: z.int().min(1).optional().describe('Bytes to show; at most what fits the limit is shown.'),
    start_line: z.int().min(1).optional().describe('Start at this line, from 1; instead of offset_bytes.'),
    line_count: z.int().min(1).optional().describe('Lines to show; instead of length_bytes.'),
  })
  .transform(({ offset_bytes, length_bytes, start_line, line_count, ...rest }, context) => {
    const byLines = start_line !== undefined || line_count !== undefined;
    if (!byLines) return { ...rest, offset_bytes: offset_bytes ?? 0, ...(length_bytes ? { length_bytes } : {}) };
    if (offset_bytes !== undefined || length_bytes !== undefined) {
      context.addIssue('give bytes (offset_bytes, length_bytes) or lines (start_line, line_count), not both');
    }
    return { ...rest, start_line: start_line ?? 1, ...(line_count ? { line_count } : {}) };
  });

/** Arguments of `search_file`. */
export const searchFileArguments = z.strictObject({
  path: filePath,
  pattern: z
    .string()
    .min(1)
    .max(1000)
    .describe('Regular expression in RE2 syntax (no lookaround, no backreferences), matched within each line.'),
  literal: z.boolean().default(false).describe('Take the pattern as plain text.'),
  ignore_case: z.boolean().default(false),
  context_lines: z.int().min(0).max(20).default(0).describe('Lines to show before and after each match.'),
  max_matches: z.int().min(1).max(500).default(20).describe('Matches to list; all are counted.'),
  offset_bytes: z.int().min(0).default(0).describe('List only matches that start at this byte or later.'),
});

/** Arguments of `infer_schema`. */
export const inferSchemaArguments = z.strictObject({
  path: filePath,
  pointer: z
    .string()
    .max(1024)
    .regex(/^(\/.*)?$/s, 'must be empty or begin with "/"')
    .default('')
    .describe('JSON Pointer to the part to describe, as in /data/items/0. The whole file if left out.'),
});

/** Arguments of `query_json`. */
export const queryJsonArguments = z.strictObject({
  path: filePath,
  query: z.string().min(1).max(16_384).describe('In JSONata.'),
  language: z.literal('jsonata').default('jsonata'),
});

/** Arguments of `list_files`. */
export const listFilesArguments = z.strictObject({
  prefix: z
    .string()
    .max(1024)
    .default('')
    .transform((prefix) => (prefix === '' ? '' : normalizePath(prefix)))
    .describe('Only paths that begin so.'),
  after: z.string().max(1024).default('').describe('Only paths after this one: the next page.'),
});

/** Arguments of `write_file`. */
export const writeFileArguments = z.strictObject({
  path: path.describe('Where to write.'),
  content: z.string().describe('The whole content, at most 1 MiB as UTF-8.'),
});

/** Every tool's schema, by its name. */
export const ARGUMENT_SCHEMAS = {
  read_file: readFileArguments,
  search_file: searchFileArguments,
  infer_schema: inferSchemaArguments,
  query_json: queryJsonArguments,
  list_files: listFilesArguments,
  write_file: writeFileArguments,
} as const;

/** The name of a tool of the sandbox. */
export type SandboxTool = keyof typeof ARGUMENT_SCHEMAS;

/** Whether the sandbox has a tool of that name. */
export function isSandboxTool(tool: string): tool is SandboxTool {
  return Object.hasOwn(ARGUMENT_SCHEMAS, tool);
}

/** The JSON Schema of a tool's arguments, as the model sees it. */
export function argumentSchema(tool: SandboxTool): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(ARGUMENT_SCHEMAS[tool], { io: 'input', override: dropSafeBounds });
  // What zod makes of these schemas is JSON by its purpose.
  return schema as JsonObject;
}

/**
 * A path as the manifest knows it: absolute below `/sandbox`, without `.`, `..` and doubled slashes.
 * `notes/a.txt`, `./notes/a.txt` and `sandbox/notes/a.txt` all mean `/sandbox/notes/a.txt`.
 */
export function normalizePath(given: string): string {
  const absolute = given.startsWith('/') ? given : `/${given}`;
  const plain = posix.normalize(absolute);
  if (given.startsWith('/') || plain === SANDBOX_ROOT || plain.startsWith(`${SANDBOX_ROOT}/`)) return plain;
  return posix.normalize(`${SANDBOX_ROOT}/${given}`);
}

/**
 * The arguments in the form that equal calls share: path normalised, defaults applied. What does not fit the schema, or
 * belongs to no tool, comes back as it is.
 */
export function normalizeSandboxArguments(tool: string, given: JsonObject): JsonObject {
  if (!isSandboxTool(tool)) return given;
  const parsed = ARGUMENT_SCHEMAS[tool].safeParse(given);
  return parsed.success ? parsed.data : given;
}

// JSON Schema bounds that only say "a safe integer" cost tokens and tell nothing.
function dropSafeBounds({ jsonSchema }: { jsonSchema: { minimum?: number; maximum?: number } }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}
