// Whether a tool's input schema can be used at all: a model must not be offered a tool whose arguments cannot be checked.
import { createHash } from 'node:crypto';
import { setImmediate as nextTick } from 'node:timers/promises';

import { Ajv, type Options } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { LRUCache } from 'lru-cache';

import { messageOf } from '../../shared/errors.ts';
import { isObject, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { runBounded, TimeIsUp } from '../threads/bounded-run.ts';

const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-0[67]\/schema#?$/;
const DRAFT_2020 = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;
/** Nobody runs what is compiled here, so that its code need not be made better (a third of the time, tried). */
const OPTIONS = {
  strict: false,
  validateFormats: false,
  logger: false,
  addUsedSchema: false,
  code: { optimize: false },
} as const;

/** Of each dialect: what checks schemas as such, made once, for it compiles the meta-schema; and what compiles one. */
const DRAFTS = {
  modern: {
    checker: lazy(() => new Ajv2020(OPTIONS)),
    compiler: (more: CompilerOptions = {}) => new Ajv2020({ ...UNCHECKED, ...more }),
  },
  draft7: {
    checker: lazy(() => new Ajv(OPTIONS)),
    compiler: (more: CompilerOptions = {}) => new Ajv({ ...UNCHECKED, ...more }),
  },
};
const UNCHECKED = { ...OPTIONS, meta: false, validateSchema: false } as const;

type CompilerOptions = Pick<Options, 'allErrors'>;
type Compiler = (more?: CompilerOptions) => Ajv;

/** Checks of a catalog of a thousand tools take seconds: verdicts are kept, and the event loop is let go in between. */
const verdicts = new LRUCache<string, { readonly problem: string | undefined }>({ max: 10_000 });
const LONGEST_TURN_MS = 15;
/** A schema of 16,000 alternatives within each other took a core for a minute (tried). */
const COMPILE_MS = 2_000;
/** Texts of schemas that are no larger, in characters, compile at once, whatever is in them. */
const SMALL_SCHEMA = 16_384;
/** Of what is kept of a fault, which may quote the schema. It is cut shorter where secrets have been taken out. */
const MOST_KEPT = 2_000;

/** Checks schemas one after the other without holding up the event loop. */
export type SchemaChecker = (schema: JsonValue | undefined) => Promise<string | undefined>;

/** A checker for one listing: gives what is wrong with a schema, or `undefined`. */
export function createSchemaChecker(signal: AbortSignal): SchemaChecker {
  let since = performance.now();
  return async (schema) => {
    if (!isObject(schema)) return 'inputSchema is not an object';
    if (schema['type'] !== 'object')
      return `inputSchema must have type "object", it has ${JSON.stringify(schema['type'])}`;
    const text = JSON.stringify(schema);
    const key = createHash('sha256').update(text).digest('base64');
    const known = verdicts.get(key);
    if (known !== undefined) return known.problem;
    if (performance.now() - since > LONGEST_TURN_MS) {
      await nextTick();
      signal.throwIfAborted();
      since = performance.now();
    }
    const problem = text.length <= SMALL_SCHEMA ? compileProblem(schema) : boundedProblem(schema);
    verdicts.set(key, { problem });
    return problem;
  };
}

function boundedProblem(schema: JsonObject): string | undefined {
  try {
    return runBounded(COMPILE_MS, () => compileProblem(schema));
  } catch (error) {
    if (!(error instanceof TimeIsUp)) throw error;
    return `inputSchema takes more than ${COMPILE_MS / 1000} s to compile`;
  }
}

/** By `$schema`; without one (or with an unknown one) it is 2020-12, and what only draft 7 understands is taken as that. */
function compileProblem(schema: JsonObject): string | undefined {
  const { $schema, ...body } = schema;
  const dialect = typeof $schema === 'string' ? $schema : '';
  if (DRAFT_7.test(dialect)) return problemIn('draft7', body);
  const problem = problemIn('modern', body);
  if (problem === undefined || DRAFT_2020.test(dialect)) return problem;
  return problemIn('draft7', body) === undefined ? undefined : problem;
}

/** One Ajv a schema: two schemas may carry the same `$id`, and an Ajv keeps all it ever compiled. */
function problemIn(draft: keyof typeof DRAFTS, schema: JsonObject): string | undefined {
  const { checker, compiler } = DRAFTS[draft];
  try {
    // Raises what is wrong.
    void checker().validateSchema(schema, true);
    compileWith(compiler, schema);
    return undefined;
  } catch (error) {
    // V8's own words say nothing of the schema.
    if (error instanceof RangeError) return 'inputSchema is nested too deeply to be compiled';
    return `inputSchema does not compile: ${messageOf(error).slice(0, MOST_KEPT)}`;
  }
}

/** Code that stops at the first fault nests an `if` in the one before, so that 3,000 properties are too deep for V8; code that finds all does not. */
function compileWith(compiler: Compiler, schema: JsonObject): void {
  try {
    compiler().compile(schema);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    compiler({ allErrors: true }).compile(schema);
  }
}

function lazy<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}
