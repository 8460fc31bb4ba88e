// `query_json`: answers a JSONata query over a JSON, JSON lines or CSV file with plain JSON, cut where it is too long.
import type { z } from 'zod';
import type { ManifestFile } from '../../shared/manifest.ts';
import type { queryJsonArguments } from './arguments.ts';
import { findFile, SandboxFault, streamFile, type SandboxAnswer, type SandboxContext } from './files.ts';
import { bytesWorthReading, fits, prefixThatFits } from './fit.ts';
import { stoppedFault } from './job-limits.ts';
import { QUERY_MAX_BYTES, type QueryResult } from './query.ts';
import { clip, count, decode, plural } from './text.ts';
import { queryInProcess } from './query-process.ts';

const TIMEOUT_MS = 10_000;
// What the note above a cut answer may cost, in tokens.
const NOTE_TOKENS = 60;

type Arguments = z.output<typeof queryJsonArguments>;

/** Evaluates a query in a process of its own, with limits on time and memory. */
export async function queryFile(args: Arguments, context: SandboxContext): Promise<SandboxAnswer> {
  const file = await findFile(context, args.path);
  if (file.bytes > QUERY_MAX_BYTES) {
    throw new SandboxFault(
      `${file.path} has ${plural(file.bytes, 'byte')}; query_json parses at most ${count(QUERY_MAX_BYTES)}. Use search_file or read_file.`,
    );
  }
  const job = {
    sha256: file.sha256,
    query: args.query,
    mayBeCsv: isCsv(file),
    maxCharacters: bytesWorthReading(context.perResultTokens),
  } as const;
  const limits = { timeoutMs: TIMEOUT_MS, signal: context.signal };
  const result = await queryInProcess(job, () => streamFile(context, file), limits).catch((thrown: unknown) => {
    throw stoppedFault(thrown, 'The query', 'Narrow it: select fewer items first, or avoid ** and nested loops.');
  });
  return { text: await textOf(args, file, result, context.perResultTokens), isError: false };
}

async function textOf(args: Arguments, file: ManifestFile, result: QueryResult, limit: number): Promise<string> {
  if (result.type === 'bad-query') throw badQuery(args.query, result);
  if (result.type === 'unreadable') {
    throw new SandboxFault(
      `${file.path} is not JSON, JSON lines or CSV: ${clip(result.problem, 200)}. infer_schema says where it breaks; search_file and read_file work on any text.`,
    );
  }
  if (result.type === 'answer') return fitAnswer(result, limit);
  return `No result: nothing in the file fits the query. The file holds ${result.root}. Names are case-sensitive; put a name with other characters than letters, digits and _ in backquotes.`;
}

async function fitAnswer(answer: Extract<QueryResult, { type: 'answer' }>, limit: number): Promise<string> {
  const { text, characters, items } = answer;
  if (text.length === characters && (await fits(text, limit))) return text;
  const bytes = Buffer.from(text.toWellFormed());
  const length = await prefixThatFits(bytes, Math.max(1, limit - NOTE_TOKENS));
  const head = decode(bytes.subarray(0, length));
  const of = items === undefined ? '' : ` (an array of ${plural(items, 'item')})`;
  return `[The answer is ${plural(characters, 'character')} of JSON${of}; this is its first ${count(head.length)}. Narrow the query: count, sum, filter, or take a part, as in (…)[[0..9]].]\n${head}`;
}

function badQuery(query: string, fault: Extract<QueryResult, { type: 'bad-query' }>): SandboxFault {
  const at =
    fault.position === null
      ? ''
      : ` at character ${fault.position}, after ${JSON.stringify(query.slice(Math.max(0, fault.position - 30), fault.position))}`;
  const code = fault.code === '' ? '' : ` (${fault.code})`;
  return new SandboxFault(`The query failed${at}: ${clip(fault.problem, 300)}${code}. ${mendOf(fault.code)}`);
}

// JSONata's codes: S is syntax, T is types, D is evaluation.
function mendOf(code: string): string {
  if (code.startsWith('S')) {
    return 'Queries are JSONata, not jq or JSONPath: items[price > 10].name, $count(items), $sum(items.price). Quote odd names with backquotes.';
  }
  if (code.startsWith('T')) return 'Look at the types with infer_schema; convert with $number() or $string().';
  return 'Check names and types with infer_schema, and try a smaller part of the query first.';
}

function isCsv(file: ManifestFile): boolean {
  return /csv|tab-separated/i.test(file.mediaType) || /\.(csv|tsv)$/i.test(file.path);
}
