// The arguments of the sandbox's tools: their schemas, and the one form that equal calls share.
// Paths are normalised and defaults applied, so that two spellings of one read have one digest.
import { posix } from 'node:path';
import { z } from 'zod';
import type { JsonObject } from '../../shared/json.ts';

/** The folder that everything the agent can name lies in. */
export const SANDBOX_ROOT = '/sandbox';

const path = z.string().min(1).max(1024).transform(normalizePath);

/** Arguments of `read_file`. */
export const readFileArguments = z
  .strictObject({
    path,
    offset_bytes: z.int().min(0).optional(),
    length_bytes: z.int().min(1).optional(),
    start_line: z.int().min(1).optional(),
    line_count: z.int().min(1).optional(),
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
  path,
  pattern: z.string().min(1).max(1000),
  literal: z.boolean().default(false),
  ignore_case: z.boolean().default(false),
  context_lines: z.int().min(0).max(20).default(0),
  max_matches: z.int().min(1).max(500).default(20),
  offset_bytes: z.int().min(0).default(0).describe('Lists matches from here on.'),
});

/** Arguments of `infer_schema`. */
export const inferSchemaArguments = z.strictObject({
  path,
  pointer: z
    .string()
    .max(1024)
    .regex(/^(\/.*)?$/s, 'must be empty or begin with "/"')
    .default('')
    .describe('JSON Pointer to a part, as in /data/items/0'),
});

/** Arguments of `query_json`. */
export const queryJsonArguments = z.strictObject({
  path,
  query: z.string().min(1).max(16_384),
  language: z.literal('jsonata').default('jsonata'),
});

/** Arguments of `list_files`. */
export const listFilesArguments = z.strictObject({
  prefix: z
    .string()
    .max(1024)
    .default('')
    .transform((prefix) => (prefix === '' ? '' : normalizePath(prefix))),
  after: z.string().max(1024).default('').describe('Only paths after this one'),
});

/** Arguments of `write_file`. */
export const writeFileArguments = z.strictObject({
  path,
  content: z.string(),
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
  const { $schema: _, ...schema } = z.toJSONSchema(ARGUMENT_SCHEMAS[tool], { io: 'input', override: shorten });
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

// The schema goes with every request: what only bounds a value is left to the check itself, whose fault names it.
const NOT_SHOWN = ['minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'default'];

function shorten({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  for (const key of NOT_SHOWN) delete jsonSchema[key];
}
