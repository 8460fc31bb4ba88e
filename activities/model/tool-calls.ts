// What a model writes when it asks for a tool: arguments as text, and an id that may be anything.
import { isObject, type JsonObject } from '../../shared/json.ts';

export { validateArguments } from './validate-arguments.ts';

/** Deeper arguments would overflow the stack of whoever writes them as JSON again. */
const DEEPEST = 200;

/**
 * Reads the arguments of a tool call: one JSON object. An empty text is `{}`, and a Markdown fence around the object is
 * taken off. Everything else is a problem, with its place (line and column from 1, position from 0), fit to be shown to the
 * model beside the raw text. Total: it never throws.
 */
export function parseArguments(inputText: string): { input: JsonObject } | { raw: string; problem: string } {
  const { text, offset } = unfence(inputText);
  if (text.trim() === '') return { input: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { raw: inputText, problem: describe(inputText, offset, text, error) };
  }
  if (!isObject(value)) {
    const kind = value === null ? 'null' : Array.isArray(value) ? 'an array' : `a ${typeof value}`;
    return { raw: inputText, problem: `line 1, column 1 (position 0): ${kind}, not an object` };
  }
  if (isDeeper(value, DEEPEST)) {
    return { raw: inputText, problem: `line 1, column 1 (position 0): nested deeper than ${DEEPEST} levels` };
  }
  // Proved just above: JSON.parse gives JSON values only, and this one is an object.
  return { input: value as JsonObject };
}

/** Whether a provider's call id can be echoed: 1 to 64 of `[A-Za-z0-9_.:-]`, and not `seen` in the conversation before. */
export function usableCallId(id: string, seen: ReadonlySet<string>): boolean {
  return /^[A-Za-z0-9_.:-]{1,64}$/.test(id) && !seen.has(id);
}

/** The id made from a call key where the provider's is not usable: `t1/0/2` gives `call_t1_0_2`. */
export function callIdFor(callKey: string): string {
  return `call_${callKey.replaceAll('/', '_')}`;
}

function unfence(inputText: string): { readonly text: string; readonly offset: number } {
  const match = /^(\s*```(?:json)?[ \t]*\r?\n)([\s\S]*?)\s*```\s*$/i.exec(inputText);
  return { text: match?.[2] ?? inputText, offset: match?.[1]?.length ?? 0 };
}

function describe(whole: string, offset: number, text: string, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const position = offset + positionOf(text, message);
  const before = whole.slice(0, position);
  const line = before.split('\n').length;
  const column = position - (before.lastIndexOf('\n') + 1) + 1;
  const what = message.replace(/ in JSON at position \d+.*$/s, '').replace(/, (?:\.\.\.)?".*is not valid JSON$/s, '');
  return `line ${line}, column ${column} (position ${position}): ${what}`;
}

/** V8 tells the position of most faults; not of an unexpected token, which is the end of the shortest text that has it. */
function positionOf(text: string, message: string): number {
  const told = /at position (\d+)/.exec(message)?.[1];
  if (told !== undefined) return Math.min(Number(told), text.length);
  if (!isUnexpectedToken(text)) return text.length;
  let [low, high] = [0, text.length];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isUnexpectedToken(text.slice(0, middle))) high = middle;
    else low = middle;
  }
  return high - 1;
}

function isUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch (error) {
    return error instanceof Error && error.message.startsWith('Unexpected token');
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((member) => isDeeper(member, levels - 1));
}
