// Checks a value against a zod schema and tells the outcome in our words: every fault at once, each with its path, what
// was expected, what was got, and a mend. The message of a zod issue is here always the phrase of what was expected
// ("true or false"); for unknown keys it is the list of the known ones.
import { z } from 'zod';
import { isObject } from './json.ts';
import { describeValue, formatPath, suggest, unknownKeyFault, type SpecFault } from './spec-fault.ts';
import { nearest, snakeCase } from './spec-nearest.ts';
import { placeOfKey } from './spec-places.ts';

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

// A wrong file has tens of thousands of them, and each costs a search.
const SHOWN_UNKNOWN_KEYS = 50;

/** The value as the schema types it, or all that is wrong with it. */
export type FormCheck<T> = { readonly data: T } | { readonly faults: readonly SpecFault[] };

/** Checks a value; never throws. `at` is the path under which the value stands. */
export function checkForm<T>(schema: z.ZodType<T>, value: unknown, at: Path = []): FormCheck<T> {
  const outcome = schema.safeParse(value, { error: expectation });
  if (outcome.success) return { data: outcome.data };
  const faults = outcome.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? unknownKeys(issue, at, schema) : faultsOf(issue, value, at),
  );
  return { faults: firstOfEachPath(faults) };
}

/** A whole number in a range. */
export function wholeNumber(min: number, max: number): z.ZodNumber {
  const error = `a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** A number in a range; without `max`, any number from `min`. */
export function numberFrom(min: number, max?: number): z.ZodNumber {
  const error = max === undefined ? `a number of at least ${min}` : `a number from ${min} to ${max}`;
  const open = z.number({ error }).min(min, { error });
  return max === undefined ? open : open.max(max, { error });
}

/** A text that is not blank. */
export function someText(what = 'a text that is not blank'): z.ZodString {
  return z.string({ error: what }).refine((text) => text.trim() !== '', { error: what });
}

/** A text that a test accepts; `what` says what is expected, `mend` what to do. */
export function textThat(accepts: (text: string) => boolean, what: string, mend: string): z.ZodString {
  return z.string({ error: what }).refine(accepts, { error: what, params: { mend } });
}

function expectation(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'unrecognized_keys':
      return knownKeys(issue.inst).join(' ');
    case 'invalid_type':
      return typePhrase(issue.expected, issue.inst);
    case 'invalid_value':
      return issue.values.length === 1
        ? `\`${String(issue.values[0])}\``
        : `one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_union':
      return Array.isArray(issue.options) ? `one of ${issue.options.map(String).join(', ')}` : undefined;
    case 'too_small':
      return `at least ${String(issue.minimum)} ${issue.origin === 'array' ? 'entries' : ''}`.trim();
    case 'too_big':
      return `at most ${String(issue.maximum)} ${issue.origin === 'array' ? 'entries' : ''}`.trim();
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_key':
    case 'not_multiple_of':
      return undefined;
    default:
      issue satisfies never;
      return undefined;
  }
}

function typePhrase(expected: string, schema: unknown): string {
  const keys = knownKeys(schema);
  const phrases: { readonly [expected: string]: string } = {
    string: 'a text',
    number: 'a number',
    int: 'a whole number',
    boolean: 'true or false',
    array: 'a list',
    record: 'an object',
    object: keys.length === 0 ? 'an object' : `an object with the keys ${keys.join(', ')}`,
    nonoptional: 'a value',
  };
  return phrases[expected] ?? expected;
}

function knownKeys(schema: unknown): readonly string[] {
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function faultsOf(issue: Issue, root: unknown, at: Path): readonly SpecFault[] {
  const path = [...at, ...issue.path];
  if (issue.code === 'unrecognized_keys') return unknownKeys(issue, at, null);
  const value = valueAt(root, issue.path);
  if (issue.code === 'invalid_union' && issue.errors.length > 0) return unionFaults(issue.errors, value, path);
  if (issue.code === 'invalid_key') {
    return [fault(path, `as a key ${issue.issues[0]?.message ?? 'another'}`, issue.path.at(-1), 'Rename the key.')];
  }
  return [fault(path, issue.message, value, mendOf(issue, value))];
}

/** A key in the wrong place is sent to the right one, if the schema has it elsewhere. */
function unknownKeys(
  issue: z.core.$ZodIssueUnrecognizedKeys,
  at: Path,
  schema: z.ZodType | null,
): readonly SpecFault[] {
  const path = [...at, ...issue.path];
  const known = issue.message === '' ? [] : issue.message.split(' ');
  const faults = issue.keys.slice(0, SHOWN_UNKNOWN_KEYS).map((key) => {
    const unknown = unknownKeyFault(path, key, known);
    const place = schema && nearest(key, known) === null ? placeOfKey(schema, snakeCase(key)) : null;
    return place === null ? unknown : { ...unknown, mend: `Move it to \`${place}\`. ${unknown.mend}` };
  });
  const others = issue.keys.length - faults.length;
  if (others <= 0) return faults;
  return [
    ...faults,
    { path: formatPath(path), message: `${others} more keys are not known here`, mend: 'Remove them.' },
  ];
}

/** Of several forms, the one that the value was meant to have: whose type fits at the top. */
function unionFaults(branches: readonly (readonly Issue[])[], value: unknown, at: Path): readonly SpecFault[] {
  const meant = branches.find((issues) => !issues.some((issue) => issue.path.length === 0 && isTypeIssue(issue)));
  if (meant) return meant.flatMap((issue) => faultsOf(issue, value, at));
  const phrases = branches.flatMap((issues) => issues.slice(0, 1).map((issue) => issue.message));
  return [fault(at, phrases.join(' or '), value, null)];
}

function isTypeIssue(issue: Issue): boolean {
  return issue.code === 'invalid_type' || issue.code === 'invalid_union';
}

function fault(path: Path, expected: string, value: unknown, mend: string | null): SpecFault {
  const kind = expected.replace(/ with the keys .*/, '');
  const message =
    value === undefined ? `is missing: expected ${kind}` : `expected ${kind}, got ${describeValue(value)}`;
  return { path: formatPath(path), message, mend: mend ?? genericMend(path, expected, value) };
}

function mendOf(issue: Issue, value: unknown): string | null {
  if (issue.code === 'custom') return typeof issue.params?.['mend'] === 'string' ? issue.params['mend'] : null;
  const values =
    issue.code === 'invalid_value' ? issue.values : issue.code === 'invalid_union' ? unionOptions(issue) : [];
  if (typeof value === 'string' && nearest(value, values.map(String)) !== null)
    return suggest(value, values.map(String));
  return null;
}

function unionOptions(issue: Issue): readonly unknown[] {
  return 'options' in issue && Array.isArray(issue.options) ? issue.options : [];
}

function genericMend(path: Path, expected: string, value: unknown): string {
  const key = path.length === 0 ? 'it' : `\`${formatPath(path)}\``;
  if (value === undefined) return `Add ${key}${expected.startsWith('an object with') ? `, ${expected}` : ''}.`;
  if (value === null && !isRequired(path)) return `Give ${key} a value, or leave the key out.`;
  if (typeof value === 'string') {
    if (expected === 'true or false') return 'Write true or false, without quotes.';
    if (expected.includes('number') && value.trim() !== '' && Number.isFinite(Number(value))) {
      return `Write the number without quotes: ${value.trim()}.`;
    }
    if (expected === 'a list' && value.length <= 60) return `Put it in a list: [${JSON.stringify(value)}].`;
  }
  return `Change ${key} to ${expected}${isRequired(path) ? '' : ', or leave it out'}.`;
}

const REQUIRED_KEYS = new Set('name type content model text url file_data schema enabled value'.split(' '));

/** Whether "leave it out" would be wrong advice. */
function isRequired(path: Path): boolean {
  const last = path.at(-1);
  return last === undefined || typeof last === 'number' || REQUIRED_KEYS.has(String(last));
}

function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const segment of path) {
    if (Array.isArray(value)) value = value[Number(segment)];
    else if (isObject(value)) value = Object.hasOwn(value, segment) ? value[String(segment)] : undefined;
    else return undefined;
  }
  return value;
}

function firstOfEachPath(faults: readonly SpecFault[]): readonly SpecFault[] {
  const byPath = new Map<string, SpecFault>();
  for (const each of faults) if (!byPath.has(each.path)) byPath.set(each.path, each);
  return [...byPath.values()];
}
