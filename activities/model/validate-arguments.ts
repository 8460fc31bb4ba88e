// Checks a tool call's arguments against the tool's schema, so that a model hears of a fault without a call being made.
// Schemas come from servers: one that does not compile lets everything pass, for the server checks again.
import { Ajv, type ErrorObject, type FuncKeywordDefinition, type Options, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { LRUCache } from 'lru-cache';
import { RE2JS } from 're2js';
import { digestOf } from '../../shared/digest.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../shared/json.ts';
import { runBounded, TimeIsUp } from '../threads/bounded-run.ts';
import { boundText } from './redact.ts';

const MAX_FAULTS = 5;
/** How long arguments may take to check before only the first fault is looked for, and that before the server is to check, in milliseconds. */
const CHECK_MS = 500;
/** Checks of schemas and arguments that are no larger end by themselves. */
const MOST_BRANCHES = 16;
const SMALL_ARGUMENTS = 64 * 1024;
const BRANCHING = /"(?:anyOf|oneOf|allOf|if|not|contains|\$ref|\$dynamicRef)":/g;

/** A schema made ready; `all` is false for one that does not compile, or takes too long to. */
interface Validator {
  readonly all: ValidateFunction | false;
  /** Stops at the first fault. */
  readonly first: () => ValidateFunction | false;
  /** Whether checking by it may have no end in sight. */
  readonly branches: boolean;
}

/** Validators by the digest of their schema. */
const validators = new LRUCache<string, Validator>({ max: 500 });

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
  let validator = validators.get(key);
  if (validator === undefined) {
    validator = makeReady(schema);
    validators.set(key, validator);
  }
  const faults = faultsOf(validator, input);
  if (faults.length === 0) return null;
  const shown = faults.slice(0, MAX_FAULTS).map(describeFault);
  const more = faults.length > MAX_FAULTS ? `; and ${faults.length - MAX_FAULTS} more` : '';
  return shown.join('; ') + more;
}

function makeReady(schema: JsonObject): Validator {
  const branches = (JSON.stringify(schema).match(BRANCHING)?.length ?? 0) > MOST_BRANCHES;
  const ready = (allErrors: boolean): ValidateFunction | false => {
    try {
      return branches ? runBounded(CHECK_MS, () => compile(schema, allErrors)) : compile(schema, allErrors);
    } catch (error) {
      if (error instanceof TimeIsUp) return false;
      throw error;
    }
  };
  return { all: ready(true), first: lazy(() => ready(false)), branches };
}

/** All faults where they are soon found, else the first one, else none: the server checks again. */
function faultsOf({ all, first, branches }: Validator, input: JsonObject): readonly ErrorObject[] {
  if (all === false) return [];
  if (!branches && JSON.stringify(input).length <= SMALL_ARGUMENTS) return check(all, input);
  for (const validate of [() => all, first]) {
    try {
      const ready = validate();
      return ready === false ? [] : runBounded(CHECK_MS, () => check(ready, input));
    } catch (error) {
      if (!(error instanceof TimeIsUp)) throw error;
    }
  }
  return [];
}

/** Only check schemas, so that the meta-schema is compiled once and not for every schema (100 ms, tried). */
const checkers = { modern: lazy(() => new Ajv2020(OPTIONS)), draft7: lazy(() => new Ajv(OPTIONS)) };

/** References may lead in a circle, so that there is no end to checking: such a schema says nothing either. */
function check(validate: ValidateFunction, input: JsonObject): readonly ErrorObject[] {
  try {
    return validate(input) ? [] : (validate.errors ?? []);
  } catch (error) {
    if (error instanceof RangeError) return [];
    throw error;
  }
}

/** Ajv's own `$async` would make a promise of the verdict. */
function compile({ $schema, $async: _async, ...schema }: JsonObject, allErrors: boolean): ValidateFunction | false {
  const as = (draft: keyof typeof checkers): ValidateFunction | false => compileAs(draft, schema, allErrors);
  if (typeof $schema !== 'string') return as('modern') || as('draft7');
  return as($schema.includes('2020-12') ? 'modern' : 'draft7');
}

/** One Ajv a schema: two schemas may carry the same `$id`, and an Ajv keeps all it ever compiled. */
function compileAs(draft: keyof typeof checkers, schema: JsonObject, allErrors: boolean): ValidateFunction | false {
  try {
    if (checkers[draft]().validateSchema(schema) !== true) return false;
    const options = { ...OPTIONS, allErrors, meta: false, validateSchema: false };
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
