// What the model may write: which tools it may choose, and arguments that fit the chosen one's JSON Schema. The grammars
// are made by node-llama-cpp, which takes a part of JSON Schema: no patterns, no ranges, no references.
import type { OfferedTool } from './request.ts';

/** The part of JSON Schema that node-llama-cpp makes grammars of. Source: its type `GbnfJsonSchema`. */
export type GrammarSchema =
  | { readonly type: 'string'; readonly minLength: number; readonly maxLength: number }
  | { readonly type: 'number' | 'integer' | 'boolean' | 'null' }
  | { readonly const: Constant }
  | { readonly enum: readonly Constant[] }
  | { readonly oneOf: readonly GrammarSchema[] }
  | {
      readonly type: 'array';
      readonly items: GrammarSchema;
      readonly minItems: number;
      readonly maxItems: number;
    }
  | { readonly type: 'object'; readonly properties: { readonly [name: string]: GrammarSchema } };

type Constant = string | number | boolean | null;
type Schema = { readonly [keyword: string]: unknown };

/** The choice that is no tool. */
export const ANSWER = 'answer';

/** Calls a turn may have; then there is nothing but the answer to choose. */
export const MOST_CALLS = 3;

/** An answer: one line. In the form of llama.cpp's grammars (GBNF). */
export const ANSWER_GRAMMAR = String.raw`root ::= [^\x00-\x1f]{1,300}`;

/** A small model may write the same words without end. */
const LONGEST_TEXT = 160;
const LONGEST_LIST = 5;

/**
 * The tools that may be chosen: each once a turn, and `MOST_CALLS` together. Without this bound a model of this size makes
 * the same call for ever.
 */
export function toolsToChoose(tools: readonly OfferedTool[], called: readonly string[]): readonly OfferedTool[] {
  return called.length >= MOST_CALLS ? [] : tools.filter(({ name }) => !called.includes(name));
}

/** What may be chosen: the name of a tool, or the answer. */
export function choiceSchema(tools: readonly OfferedTool[]): GrammarSchema {
  return { enum: [...tools.map(({ name }) => name), ANSWER] };
}

/** A tool's arguments: those that are required. @throws an `Error` for a schema that is beyond the grammar, with its place. */
export function argumentsSchema({ name, parameters }: OfferedTool): GrammarSchema {
  return objectSchema(parameters, name);
}

function reduced(given: unknown, place: string): GrammarSchema {
  const schema = asSchema(given, place);
  if (isConstant(schema['const'])) return { const: schema['const'] };
  if (Array.isArray(schema['enum']) && schema['enum'].every(isConstant)) return { enum: schema['enum'] };
  const alternatives = schema['oneOf'] ?? schema['anyOf'];
  if (Array.isArray(alternatives)) return { oneOf: alternatives.map((each) => reduced(each, place)) };
  if (Array.isArray(schema['type']))
    return { oneOf: schema['type'].map((type) => reduced({ ...schema, type }, place)) };
  return typedSchema(schema, place);
}

function typedSchema(schema: Schema, place: string): GrammarSchema {
  const { type } = schema;
  switch (type) {
    case 'string':
      return {
        type,
        minLength: numberOr(schema['minLength'], 0),
        maxLength: Math.min(numberOr(schema['maxLength'], LONGEST_TEXT), LONGEST_TEXT),
      };
    case 'number':
    case 'integer':
    case 'boolean':
    case 'null':
      return { type };
    case 'array':
      return {
        type,
        items: reduced(schema['items'], `${place}[]`),
        minItems: numberOr(schema['minItems'], 0),
        maxItems: Math.min(numberOr(schema['maxItems'], LONGEST_LIST), LONGEST_LIST),
      };
    case 'object':
      return objectSchema(schema, place);
    default:
      throw new Error(`The schema of ${place} cannot be put into a grammar: ${JSON.stringify(schema).slice(0, 200)}`);
  }
}

function objectSchema(schema: Schema, place: string): GrammarSchema {
  const all = asSchema(schema['properties'] ?? {}, place);
  const required: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : [];
  const names = required.filter((name) => typeof name === 'string');
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, reduced(all[name], `${place}.${name}`)])),
  };
}

function asSchema(value: unknown, place: string): Schema {
  // Proved here: an object that is no list has text keys.
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Schema;
  throw new Error(`The schema of ${place} is no object: ${JSON.stringify(value) ?? 'nothing'}`);
}

function isConstant(value: unknown): value is Constant {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function numberOr(given: unknown, otherwise: number): number {
  return typeof given === 'number' ? given : otherwise;
}
