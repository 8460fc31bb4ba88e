// Checks a tool call's arguments against the tool's schema, so that a model hears of a fault without a call being made.
// Schemas come from servers: one that does not compile lets everything pass, for the server checks again.
import { Ajv, type ErrorObject, type FuncKeywordDefinition, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { digestOf } from '../../shared/digest.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { boundText } from './redact.ts';

const MAX_FAULTS = 5;

/** Validators by the digest of their schema; false for one that does not compile. */
const validators = new LRUCache<string, ValidateFunction | false>({ max: 500 });

/** A server's pattern must not hang the process: linear time, or not checked at all. */
const linearRegExp = Object.assign(
  (pattern: string) => {
    // Ajv tells patterns apart by their text, so both kinds give it.
    const toString = (): string => pattern;
    try {
      const compiled = RE2JS.compile(pattern);
      return { test: (text: string) => compiled.test(text), toString };
    } catch {
      // Look-around and back-references, which no linear engine knows; the server checks again.
      return { test: () => true, toString };
    }
  },
  { code: 'linearRegExp' },
);

const OPTIONS: Options = {
  strict: false,
  allErrors: true,
  logger: false,
  validateFormats: true,
  code: { regExp: linearRegExp },
};

/** As the standard has it, in one pass: Ajv compares each item with each (51 s for 20,000 objects, tried). */
const UNIQUE_ITEMS: FuncKeywordDefinition = {
  keyword: 'uniqueItems',
  type: 'array',
  schemaType: 'boolean',
  validate: (isUnique: boolean, items: readonly JsonValue[]) =>
    !isUnique || new Set(items.map((item) => canonicalJson(item))).size === items.length,
  error: { message: 'must NOT have duplicate items' },
};

/**
 * Checks arguments against a JSON Schema: draft 2020-12 unless `$schema` names another, then draft-07, by which one without
 * `$schema` is read too where only that draft can.
 * Gives null if they fit or the schema does not compile, else up to five faults, each with its path:
 * `/depth must be integer; /paths must NOT have fewer than 1 items`.
 */
export function validateArguments(schema: JsonObject, input: JsonObject): string | null {
  const key = digestOf(schema);
  let validate = validators.get(key);
  if (validate === undefined) {
    validate = compile(schema);
    validators.set(key, validate);
  }
  if (validate === false || fits(validate, input)) return null;
  const faults = validate.errors ?? [];
  const shown = faults.slice(0, MAX_FAULTS).map(describeFault);
  const more = faults.length > MAX_FAULTS ? `; and ${faults.length - MAX_FAULTS} more` : '';
  return shown.join('; ') + more;
}

/** Only check schemas, so that the meta-schema is compiled once and not for every schema (100 ms, tried). */
const checkers = { modern: lazy(() => new Ajv2020(OPTIONS)), draft7: lazy(() => new Ajv(OPTIONS)) };

/** References may lead in a circle, so that there is no end to checking: such a schema says nothing either. */
function fits(validate: ValidateFunction, input: JsonObject): boolean {
  try {
    return validate(input);
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}

/** Ajv's own `$async` would make a promise of the verdict. */
function compile({ $schema, $async: _async, ...schema }: JsonObject): ValidateFunction | false {
  if (typeof $schema !== 'string') return compileAs('modern', schema) || compileAs('draft7', schema);
  return compileAs($schema.includes('2020-12') ? 'modern' : 'draft7', schema);
}

/** One Ajv a schema: two schemas may carry the same `$id`, and an Ajv keeps all it ever compiled. */
function compileAs(draft: keyof typeof checkers, schema: JsonObject): ValidateFunction | false {
  try {
    if (checkers[draft]().validateSchema(schema) !== true) return false;
    const options = { ...OPTIONS, meta: false, validateSchema: false };
    const ajv = draft === 'modern' ? new Ajv2020(options) : new Ajv(options);
    ajv.removeKeyword('uniqueItems');
    ajv.addKeyword(UNIQUE_ITEMS);
    addFormats.default(ajv);
    return ajv.compile(schema);
  } catch {
    return false;
  }
}

function lazy<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

function describeFault(fault: ErrorObject): string {
  const path = fault.instancePath === '' ? 'the arguments' : boundText(fault.instancePath, 200);
  const params: Readonly<Record<string, unknown>> = fault.params;
  const detail = params['additionalProperty'] ?? params['allowedValues'] ?? params['allowedValue'];
  const suffix = detail === undefined ? '' : ` (${boundText(JSON.stringify(detail), 300)})`;
  return `${path} ${fault.message ?? `breaks ${fault.keyword}`}${suffix}`;
}
