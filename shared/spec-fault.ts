// What is wrong with a text that people write (a spec, a configuration, a message), as data: where, what, and the mend.
// The words come last: `faultList` turns faults into the lines of an error.
import { isObject } from './json.ts';
import { byNearness, nearest } from './spec-nearest.ts';

/** One thing that is wrong. */
export interface SpecFault {
  /** Keys and indices joined by dots, as in `mcp_servers.0.enable_tools.0`; empty for the whole. */
  readonly path: string;
  /** What was expected and what was got; without a full stop. */
  readonly message: string;
  /** What to do about it. */
  readonly mend: string;
}

/** One thing that is valid and worth knowing: carried but not acted on yet, or decided for the writer. */
export interface SpecNote {
  readonly path: string;
  readonly message: string;
}

/** Joins a path; a segment that is empty, long, or holds dots, quotes or spaces stands in quotes. */
export function formatPath(segments: readonly PropertyKey[]): string {
  return segments.map((segment) => formatKey(String(segment))).join('.');
}

/** Faults as text, a line of fault and mend each. */
export function faultList(faults: readonly SpecFault[]): string {
  return faults
    .map(({ path, message, mend }) => `${path === '' ? '' : `${path}: `}${message}. ${mend}`.trim())
    .join('\n');
}

/** A value in a few words, never longer than some 80 characters. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  // An address may hold a password.
  if (typeof value === 'string') return describeText(value.replace(/\/\/[^/\s]*@/g, '//…@'));
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (isObject(value)) return describeObject(value);
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return String(value);
  return `a ${typeof value}`;
}

/** "Did you mean `a`? Known here, nearest first: a, b." for a word that is not known. */
export function suggest(word: string, known: readonly string[]): string {
  if (known.length === 0) return 'None is known here.';
  const near = nearest(word, known);
  const list = `Known here, nearest first: ${byNearness(word, known).join(', ')}.`;
  return near === null ? list : `Did you mean \`${near}\`? ${list}`;
}

/** A key that is not known. */
export function unknownKeyFault(path: readonly PropertyKey[], key: string, known: readonly string[]): SpecFault {
  return {
    path: formatPath([...path, key]),
    message: `\`${formatKey(key)}\` is not a key of ${path.length === 0 ? 'the top level' : `\`${formatPath(path)}\``}`,
    mend: suggest(key, known),
  };
}

function formatKey(key: string): string {
  return /^[^\s."'`\p{C}]{1,80}$/u.test(key) ? key : JSON.stringify(shorten(key));
}

function describeText(text: string): string {
  return text.trim() === '' ? (text === '' ? 'an empty text' : 'a blank text') : JSON.stringify(shorten(text));
}

function describeObject(value: Record<string, unknown>): string {
  const keys = Object.keys(value);
  if (keys.length === 0) return 'an empty object';
  return shorten(`an object with ${keys.slice(0, 5).map(formatKey).join(', ')}`, 70);
}

function shorten(text: string, limit = 60): string {
  return text.length <= limit ? text : `${text.slice(0, limit).toWellFormed()}…`;
}
