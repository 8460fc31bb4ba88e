// Reads tool results as a model would: paths out of pointers, names and lengths out of schemas, numbers out of answers.
// Each function raises an error with the text it could not read; none of them knows anything of the data.

/** The path in a pointer to a sandbox file. */
export function pathIn(pointer: string): string {
  const path = /\/sandbox\/tool-results\/[\w.-]*[\w-]/.exec(pointer)?.[0];
  return path ?? unreadable('a path under /sandbox/tool-results/', pointer);
}

/** An object of which a schema tells that its keys are data: its name, how many keys, and one of them. */
export interface KeyedObject {
  readonly key: string;
  readonly length: number;
  readonly example: string;
}

const NAME = String.raw`("(?:[^"\\]|\\.)*"|[\w$]+)`;

/** The member of the top-level object that has the most keys. */
export function largestMapIn(schema: string): KeyedObject {
  const line = new RegExp(String.raw`^ {2}${NAME}\??: object \{\[([\d,]+)(?: or more)? keys like ${NAME}`, 'gm');
  const maps = [...schema.matchAll(line)].map(([, key = '', length = '', example = '']) => {
    return { key: unquoted(key), length: numberFrom(length), example: unquoted(example) };
  });
  const [largest] = maps.toSorted((a, b) => b.length - a.length);
  return largest ?? unreadable('an object with many keys', schema);
}

/** Checks that a schema has a member or column of that name, and gives the name back. */
export function nameIn(schema: string, name: string): string {
  const names = [...schema.matchAll(new RegExp(String.raw`^ {2}${NAME}\??: `, 'gm'))].map(([, found = '']) =>
    unquoted(found),
  );
  return names.includes(name) ? name : unreadable(`the name ${name} (there are: ${names.join(', ')})`, schema);
}

/** The place of a column, from 0. */
export function columnIn(schema: string, name: string): number {
  const columns = [...schema.matchAll(/^ {2}("(?:[^"\\]|\\.)*"): /gm)].map(([, found = '']) => unquoted(found));
  const index = columns.indexOf(name);
  return index >= 0 ? index : unreadable(`the column ${name} (there are: ${columns.join(', ')})`, schema);
}

/** The length of the array at the top. */
export function lengthIn(schema: string): number {
  return numberIn(schema, /^array of ([\d,]+):/m, 'an array with its length');
}

/** The rows of delimited text, its header not counted. */
export function rowsIn(schema: string): number {
  return numberIn(schema, /([\d,]+) rows? below the header/, 'a number of rows');
}

/** The JSON object that a query answered with. */
export function jsonIn(answer: string): Readonly<Record<string, unknown>> {
  const parsed: unknown = answer.startsWith('{') ? JSON.parse(answer) : null;
  if (typeof parsed !== 'object' || parsed === null) return unreadable('a JSON object', answer);
  return Object.fromEntries(Object.entries(parsed));
}

/** A number of a JSON object. */
export function numberAt(object: Readonly<Record<string, unknown>>, key: string): number {
  const value = object[key];
  return typeof value === 'number' ? value : unreadable(`a number \`${key}\``, JSON.stringify(object));
}

/** A text of a JSON object. */
export function textAt(object: Readonly<Record<string, unknown>>, key: string): string {
  const value = object[key];
  return typeof value === 'string' ? value : unreadable(`a text \`${key}\``, JSON.stringify(object));
}

/** An object in a JSON object. */
export function objectAt(object: Readonly<Record<string, unknown>>, key: string): Readonly<Record<string, unknown>> {
  return jsonIn(JSON.stringify(object[key] ?? null));
}

/** The key with the largest number; the first of equal ones. */
export function keyOfLargest(counts: Readonly<Record<string, unknown>>): string {
  const entries = Object.keys(counts).map((key) => ({ key, value: numberAt(counts, key) }));
  const [largest] = entries.toSorted((a, b) => b.value - a.value);
  return largest?.key ?? unreadable('a count', JSON.stringify(counts));
}

/** How many matches a search counted. */
export function matchesIn(answer: string): number {
  return numberIn(answer, /^([\d,]+) match(?:es)? of /, 'a number of matches');
}

/** The line of a search's first match, from 1. */
export function firstLineIn(answer: string): number {
  return numberIn(answer, /^line ([\d,]+), byte /m, 'a match with its line');
}

/** The lines of a file that were read, without the reader's own line above them. */
export function linesIn(answer: string, expected: number): readonly string[] {
  const [head = '', ...lines] = answer.trimEnd().split('\n');
  if (head.startsWith('[lines ') && lines.length === expected) return lines;
  return unreadable(`${expected} lines below the reader's own`, answer);
}

/** The mean of one column of lines without quotes. */
export function meanOf(lines: readonly string[], column: number): number {
  const values = lines.map((line) => {
    const cell = line.split(',')[column]?.trim() ?? '';
    const value = cell === '' ? Number.NaN : Number(cell);
    return Number.isFinite(value) ? value : unreadable(`a number in column ${column + 1}`, line);
  });
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The folder named `reports` in a list of allowed directories, or null. */
export function reportsFolderIn(list: string): string | null {
  const folders = list.split('\n').map((line) => line.trim());
  return folders.find((folder) => /[\\/]reports$/.test(folder)) ?? null;
}

/** The path that was written, by the tool's own words, or null where nothing was. */
export function writtenIn(answer: string): string | null {
  return /^Successfully wrote to (.+)$/m.exec(answer)?.[1] ?? null;
}

function numberIn(text: string, pattern: RegExp, what: string): number {
  return numberFrom(pattern.exec(text)?.[1] ?? unreadable(what, text));
}

function numberFrom(text: string): number {
  return Number(text.replaceAll(',', ''));
}

function unquoted(name: string): string {
  return name.startsWith('"') ? String(JSON.parse(name)) : name;
}

function unreadable(what: string, text: string): never {
  throw new Error(`Expected ${what}, but the result reads: ${text.slice(0, 400)}`);
}
