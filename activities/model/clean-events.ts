// Mends what surrounds an answer in a chat stream before the SDK reads it: the SDK refuses a whole chunk, and the answer with
// it, for a count that is no number or a key that it finds suspect. What the answer itself consists of is left as it came.
import { isObject } from '../../shared/json.ts';

const DATA_LINE = /^data:\s*(?=[{[])/;
const LINE_END = 10;

/** Passes a stream of events on line by line; a line that needs no mending is passed on byte for byte. */
export function cleanEvents(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let begun: Uint8Array<ArrayBuffer>[] = [];
  return new TransformStream({
    transform(chunk, controller) {
      let start = 0;
      for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
        const rest = chunk.subarray(start, end + 1);
        controller.enqueue(cleanLine(begun.length === 0 ? rest : joined([...begun, rest])));
        begun = [];
        start = end + 1;
      }
      if (start < chunk.length) begun.push(chunk.subarray(start));
    },
    flush(controller) {
      if (begun.length > 0) controller.enqueue(cleanLine(joined(begun)));
    },
  });
}

function joined(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function cleanLine(line: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const text = new TextDecoder().decode(line);
  const lead = DATA_LINE.exec(text)?.[0];
  if (lead === undefined) return line;
  try {
    const chunk: unknown = JSON.parse(text.slice(lead.length));
    const isSuspect = withoutSuspects(chunk);
    const isOdd = isObject(chunk) && withoutOddities(chunk);
    return isSuspect || isOdd ? new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n`) : line;
  } catch {
    // No JSON, or nested too deeply to be written again: the SDK says what is wrong with it.
    return line;
  }
}

/** Takes out the keys that the SDK's parser refuses, at any depth; whether there were any. */
function withoutSuspects(root: unknown): boolean {
  let found = false;
  const open: unknown[] = [root];
  while (open.length > 0) {
    const node = open.pop();
    if (typeof node !== 'object' || node === null) continue;
    for (const [key, value] of Object.entries(node)) {
      const isSuspect = key === '__proto__' || (key === 'constructor' && isObject(value) && 'prototype' in value);
      if (isSuspect) found = Reflect.deleteProperty(node, key) || found;
      else open.push(value);
    }
  }
  return found;
}

const STRINGS = ['id', 'model'];
const DETAILS = ['prompt_tokens_details', 'completion_tokens_details'];

/** Takes out what no answer depends on and is not of its type: names, times and counts; whether there was any. */
function withoutOddities(chunk: Record<string, unknown>): boolean {
  const before = Object.keys(chunk).length;
  for (const key of STRINGS) if (!isAbsent(chunk[key]) && typeof chunk[key] !== 'string') delete chunk[key];
  if (!isAbsent(chunk['created']) && typeof chunk['created'] !== 'number') delete chunk['created'];
  const { usage } = chunk;
  if (isAbsent(usage)) return before !== Object.keys(chunk).length;
  // A chunk of usage alone may leave its empty list of choices out.
  const lacksChoices = isAbsent(chunk['choices']) && !('error' in chunk);
  if (lacksChoices) chunk['choices'] = [];
  if (isObject(usage)) return withoutOddCounts(usage) || lacksChoices || before !== Object.keys(chunk).length;
  delete chunk['usage'];
  return true;
}

function withoutOddCounts(usage: Record<string, unknown>): boolean {
  let found = false;
  for (const [key, value] of Object.entries(usage)) {
    if (isAbsent(value)) continue;
    const isDetail = DETAILS.includes(key);
    if (isDetail && isObject(value)) {
      found = withoutOddCounts(value) || found;
    } else if (isDetail || (key.endsWith('_tokens') && typeof value !== 'number')) {
      found = Reflect.deleteProperty(usage, key) || found;
    }
  }
  return found;
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
