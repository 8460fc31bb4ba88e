// Reads the text of a spec or a configuration file, JSON or YAML, into a value. What goes wrong is one fault with line
// and column: a syntax error, a key given twice, a tab as indentation, several documents, an alias that multiplies.
import { isScalar, parseDocument, visit, type Document, type YAMLError } from 'yaml';
import { messageOf } from './errors.ts';
import { isObject } from './json.ts';
import { describeValue, formatPath, type SpecFault } from './spec-fault.ts';
import { isJsonSafe } from './spec-schema.ts';

/** The longest text that is read, in characters. */
export const MAX_SPEC_CHARACTERS = 1_048_576;

/** How far a path is followed; what nests deeper is refused anyway. */
const MOST_LEVELS = 64;

/** The value, or why the text gives none; the caller names the file. */
export type SpecText = { readonly value: unknown } | { readonly fault: SpecFault };

/** Reads by the file's extension (.json, .yaml, .yml), else by content: `{` at the start means JSON. Never throws. */
export function parseSpecText(text: string, fileName: string): SpecText {
  if (text.length > MAX_SPEC_CHARACTERS)
    return problem(`The text has ${text.length} characters; the limit is ${MAX_SPEC_CHARACTERS}`, 'Shorten it.');
  const plain = text.replace(/^\uFEFF/, '');
  if (plain.trim() === '') return problem(`The text is empty`, 'Write JSON or YAML into it.');
  if (plain.includes('\0'))
    return problem(`The text holds a NUL character: it is not a text`, 'Save it as UTF-8 text.');
  return isJson(plain, fileName) ? parseJson(plain) : parseYaml(plain);
}

function isJson(text: string, fileName: string): boolean {
  if (/\.json$/i.test(fileName)) return true;
  if (/\.ya?ml$/i.test(fileName)) return false;
  return /^\s*[{[]/.test(text) && succeeds(() => JSON.parse(text));
}

function parseJson(text: string): SpecText {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = messageOf(error).replace(
      / in JSON at position.*| at position.*|, (?:\.\.\.)?".*is not valid JSON$/s,
      '',
    );
    return problem(
      `The text is not valid JSON${placeOf(text, jsonErrorAt(text, error))}: ${reason}`,
      'Mend the JSON there.',
    );
  }
  const twice = duplicateKeyAt(readYaml(text));
  if (twice !== null) return duplicate(text, twice);
  return checkValue(value);
}

/** V8 names a position for most errors; for the others it is the first prefix that is broken and not merely cut off. */
function jsonErrorAt(text: string, error: unknown): number {
  const named = /at position (\d+)/.exec(messageOf(error))?.[1];
  if (named !== undefined) return Number(named);
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (hasBadToken(text.slice(0, middle + 1))) high = middle;
    else low = middle + 1;
  }
  return low;
}

function hasBadToken(prefix: string): boolean {
  try {
    JSON.parse(prefix);
    return false;
  } catch (error) {
    return messageOf(error).startsWith('Unexpected token');
  }
}

function parseYaml(text: string): SpecText {
  let document: Document.Parsed;
  try {
    document = readYaml(text);
  } catch (error) {
    return problem(`The text cannot be read: ${messageOf(error)}`, 'Nest it less deeply.');
  }
  const error = document.errors[0] ?? document.warnings[0];
  if (error) {
    const place = placeOf(text, error.pos[0]);
    return problem(`The text is not valid YAML${place}: ${yamlReason(error)}`, yamlMend(error.code));
  }
  const twice = duplicateKeyAt(document);
  if (twice !== null) return duplicate(text, twice);
  try {
    return checkValue(document.toJS({ maxAliasCount: 100 }));
  } catch (thrown) {
    const reason = withoutFullStop(messageOf(thrown));
    const alias = /Unresolved alias .*: (.*)$/.exec(reason)?.[1];
    const place = alias === undefined ? '' : placeOf(text, Math.max(0, text.indexOf(`*${alias}`)));
    return problem(
      `The text cannot be read${place}: ${reason}`,
      'Write the value out where it is used; a text that starts with * needs quotes.',
    );
  }
}

function readYaml(text: string): Document.Parsed {
  return parseDocument(text, { merge: true, prettyErrors: false, stringKeys: true, uniqueKeys: false });
}

/** Where a key stands that its map has already. The library's own check compares all with all: minutes for 70,000 keys. */
function duplicateKeyAt(document: Document.Parsed): number | null {
  let found: number | null = null;
  visit(document, {
    Map(_, map) {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        if (!isScalar(key) || key.value === '<<') continue;
        if (seen.has(key.value)) {
          found = key.range?.[0] ?? 0;
          return visit.BREAK;
        }
        seen.add(key.value);
      }
      return undefined;
    },
  });
  return found;
}

function yamlReason(error: YAMLError): string {
  if (error.code === 'MULTIPLE_DOCS') return 'it holds more than one document';
  if (error.code === 'RESOURCE_EXHAUSTION') return 'it nests too deeply';
  return withoutFullStop(error.message);
}

function yamlMend(code: string): string {
  const mends: { readonly [code: string]: string } = {
    TAB_AS_INDENT: 'Indent with spaces.',
    MULTIPLE_DOCS: 'Keep one document in the file: remove the line `---` and what follows.',
    TAG_RESOLVE_FAILED: 'Remove the tag.',
    RESOURCE_EXHAUSTION: 'Nest it less deeply.',
    BAD_ALIAS: 'Put a text that starts with * in quotes.',
  };
  return mends[code] ?? 'Mend the YAML there; a text with `: `, `#`, `@` or `*` in it needs quotes.';
}

function duplicate(text: string, offset: number): SpecText {
  const key = /^[^\s:]{1,60}/.exec(text.slice(offset))?.[0] ?? '';
  return problem(`The text gives the key ${key} twice${placeOf(text, offset)}`, 'Remove one of the two.');
}

/** What JSON cannot hold, or what goes too deep for what reads it later, by its path. */
function checkValue(value: unknown): SpecText {
  if (isJsonSafe(value)) return { value };
  const path = unsafePath(value);
  const found = path.reduce<unknown>(
    (outer, key) => (isObject(outer) || Array.isArray(outer) ? Reflect.get(outer, key) : outer),
    value,
  );
  if (typeof found === 'number') {
    const message = `${describeValue(found)} is not a finite number`;
    return { fault: { path: formatPath(path), message, mend: 'Write a finite number, or put the word in quotes.' } };
  }
  const message = 'The value here contains itself or nests too deeply';
  // The way down to the 65th level helps nobody.
  return {
    fault: { path: formatPath(path.slice(0, 3)), message, mend: 'Write plain values, at most 64 levels deep.' },
  };
}

/** The way to the first value that is not JSON-safe at its depth. */
function unsafePath(value: unknown, depth = 0): readonly string[] {
  if (typeof value !== 'object' || value === null || depth > MOST_LEVELS) return [];
  const found = Object.entries(value).find(([, member]) => !isJsonSafe(member, depth + 1));
  return found === undefined ? [] : [found[0], ...unsafePath(found[1], depth + 1)];
}

function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

function withoutFullStop(message: string): string {
  return message.replace(/\.$/, '');
}

function succeeds(action: () => unknown): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}

function problem(message: string, mend: string): SpecText {
  return { fault: { path: '', message, mend } };
}
