// Answers a JSONata query over a parsed file, in a process that keeps the file parsed for the next query of it.
import jsonata from 'jsonata';
import { isObject } from '../../shared/json.ts';
import { messageOf } from '../../shared/errors.ts';
import { csvToObjects, guessDelimiter } from './schema/csv.ts';

/** A query of one file, known by its hash. */
export interface QueryJob {
  readonly sha256: string;
  readonly query: string;
  /** Read the file as delimited text if it is no JSON. */
  readonly mayBeCsv: boolean;
  /** More of the answer's JSON than this is not sent back. */
  readonly maxCharacters: number;
}

/** What came of a query. */
export type QueryResult =
  | {
      readonly type: 'answer';
      /** JSON, whole or its beginning. */
      readonly text: string;
      readonly characters: number;
      /** Set when the answer is an array. */
      readonly items?: number;
    }
  /** Nothing fits the query; `root` says what stands at the top of the file. */
  | { readonly type: 'nothing'; readonly root: string }
  /** `position` in the query, in characters from 0. */
  | { readonly type: 'bad-query'; readonly code: string; readonly problem: string; readonly position: number | null }
  | { readonly type: 'unreadable'; readonly problem: string };

/** The largest file that is parsed whole, in bytes. */
export const QUERY_MAX_BYTES = 64 * 1024 * 1024;

// One file is kept, and only a small one: the process's memory is for the query at hand.
const KEPT_BYTES = 32 * 1024 * 1024;
let kept: { readonly sha256: string; readonly value: unknown } | null = null;

/** Parses the file unless it is known, and evaluates the query; never raises for a fault of either. */
export async function queryJson(job: QueryJob, open: () => AsyncIterable<Uint8Array>): Promise<QueryResult> {
  const expression = compile(job.query);
  if ('problem' in expression) return expression;
  const parsed = await load(job, open);
  if ('problem' in parsed) return parsed;
  try {
    const answer: unknown = await expression.run.evaluate(parsed.value);
    return answerOf(answer, parsed.value, job.maxCharacters);
  } catch (thrown) {
    return badQuery(thrown);
  }
}

function compile(query: string): { readonly run: jsonata.Expression } | Extract<QueryResult, { type: 'bad-query' }> {
  try {
    return { run: jsonata(query) };
  } catch (thrown) {
    return badQuery(thrown);
  }
}

// JSONata throws plain objects with code, position and message as well as errors.
function badQuery(thrown: unknown): Extract<QueryResult, { type: 'bad-query' }> {
  const fault = typeof thrown === 'object' && thrown !== null ? thrown : {};
  const position = 'position' in fault && typeof fault.position === 'number' ? fault.position : null;
  const code = 'code' in fault && typeof fault.code === 'string' ? fault.code : '';
  const problem = 'message' in fault && typeof fault.message === 'string' ? fault.message : messageOf(thrown);
  return { type: 'bad-query', code, problem, position };
}

type Loaded = { readonly value: unknown } | Extract<QueryResult, { type: 'unreadable' }>;

async function load(job: QueryJob, open: () => AsyncIterable<Uint8Array>): Promise<Loaded> {
  if (kept?.sha256 === job.sha256) return kept;
  kept = null;
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of open()) {
    text += decoder.decode(chunk, { stream: true });
    bytes += chunk.length;
  }
  text += decoder.decode();
  const loaded = parseAny(text, job.mayBeCsv);
  if ('value' in loaded && bytes <= KEPT_BYTES) kept = { sha256: job.sha256, value: loaded.value };
  return loaded;
}

function parseAny(text: string, mayBeCsv: boolean): Loaded {
  try {
    return { value: JSON.parse(text) };
  } catch (thrown) {
    const rows = parseLines(text);
    if (rows) return { value: rows };
    if (mayBeCsv) return parseCsv(text);
    return { type: 'unreadable', problem: messageOf(thrown) };
  }
}

function parseLines(text: string): unknown[] | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length < 2) return null;
  try {
    return lines.map((line): unknown => JSON.parse(line));
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return null;
    throw thrown;
  }
}

function parseCsv(text: string): Loaded {
  const header = text.slice(0, 64 * 1024).split(/\r?\n/, 1)[0] ?? '';
  try {
    return { value: csvToObjects(text, guessDelimiter(header) ?? ',') };
  } catch (thrown) {
    return { type: 'unreadable', problem: messageOf(thrown) };
  }
}

function answerOf(answer: unknown, root: unknown, maxCharacters: number): QueryResult {
  const text = answer === undefined ? undefined : JSON.stringify(answer);
  if (text === undefined) return { type: 'nothing', root: rootOf(root) };
  return {
    type: 'answer',
    text: text.slice(0, maxCharacters),
    characters: text.length,
    ...(Array.isArray(answer) ? { items: answer.length } : {}),
  };
}

function rootOf(root: unknown): string {
  if (Array.isArray(root)) {
    const first: unknown = root[0];
    return `an array of ${root.length}${isObject(first) ? ` objects with keys ${keysOf(first)}` : ''}`;
  }
  return isObject(root) ? `an object with keys ${keysOf(root)}` : typeof root;
}

function keysOf(value: Record<string, unknown>): string {
  const keys = Object.keys(value);
  const shown = keys.slice(0, 12).map((key) => key.slice(0, 40));
  return `${shown.join(', ')}${keys.length > shown.length ? `, … (${keys.length} in all)` : ''}`;
}
