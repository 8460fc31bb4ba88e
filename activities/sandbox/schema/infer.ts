// Finds out what a file holds, in a thread: JSON, JSON lines, delimited text or plain text. It answers with the same
// description at several levels of detail, and the caller takes the first that fits its limit.
import { count, plural } from '../text.ts';
import { firstRows, guessDelimiter, readCsv, type CsvColumn, type CsvReading } from './csv.ts';
import { readJson, type JsonReading } from './json.ts';
import { readLines } from './lines.ts';
import { DETAIL_LEVELS, renderNode, type Detail } from './render.ts';

/** Which file to describe. */
export interface InferJob {
  readonly path: string;
  readonly mediaType: string;
  /** JSON Pointer to the part to describe; empty for the whole. */
  readonly pointer: string;
}

/** The description, from the fullest to the shortest; `found` is false when nothing stands at the pointer. */
export interface InferResult {
  readonly texts: readonly string[];
  readonly found: boolean;
}

type OpenBytes = () => AsyncIterable<Uint8Array>;

const SNIFFED_BYTES = 64 * 1024;

/** Describes the file; reads it once, and once more if it turns out not to be what it looked like. */
export async function inferSchema(job: InferJob, open: OpenBytes): Promise<InferResult> {
  const head = await readHead(open());
  const saysJson = /json/i.test(job.mediaType) || /\.(json|jsonl|ndjson|geojson)$/i.test(job.path);
  if (saysJson || /^\s*[[{]/.test(head)) {
    const reading = await readJson(open(), job.pointer);
    if (saysJson || looksMeant(reading)) return describeJson(job, reading);
  }
  if (job.pointer !== '') {
    return {
      texts: [`${job.path} is not JSON, so pointer cannot be used. Call infer_schema without it.`],
      found: false,
    };
  }
  const delimiter = delimiterOf(job, head);
  if (delimiter !== null) return describeCsv(await readCsv(open(), delimiter));
  const text = await readLines(open());
  const encoding = text.utf8 ? '' : ', not UTF-8 throughout';
  const longest = `the longest has ${plural(text.longestLine, 'byte')}`;
  return {
    texts: [`text, ${plural(text.bytes, 'byte')}, ${plural(text.lines, 'line')}, ${longest}${encoding}`],
    found: true,
  };
}

// A log line such as "[INFO] …" breaks at once; what goes on for longer, or only lacks its end, was meant as JSON.
function looksMeant({ fault, builder, bytes }: JsonReading): boolean {
  return fault === null || builder.values > 0 || fault.offset >= 32 || fault.offset === bytes;
}

async function readHead(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    parts.push(chunk);
    length += chunk.length;
    if (length >= SNIFFED_BYTES) break;
  }
  return new TextDecoder().decode(Buffer.concat(parts));
}

// What calls itself CSV is; else text whose first rows have as many cells each, at least three.
function delimiterOf(job: InferJob, head: string): string | null {
  const delimiter = guessDelimiter(head.split(/\r?\n/, 1)[0] ?? '');
  if (/csv|tab-separated/i.test(job.mediaType) || /\.(csv|tsv)$/i.test(job.path)) return delimiter ?? ',';
  if (delimiter === null) return null;
  const [first, ...others] = firstRows(head, delimiter, 4);
  const width = first?.length ?? 0;
  return width >= 3 && others.length >= 2 && others.every((row) => row.length === width) ? delimiter : null;
}

function describeJson(job: InferJob, { builder, fault, bytes }: JsonReading): InferResult {
  const { root } = builder;
  const open = fault !== null && root.seen > builder.values;
  const values = builder.values + (open ? 1 : 0);
  const many = job.pointer === '' && values > 1;
  const what = many ? `JSON lines, ${plural(values, 'value')}` : 'JSON';
  const where = job.pointer === '' ? '' : ` at ${job.pointer}`;
  const size = fault ? '' : `, ${plural(bytes, 'byte')} in all`;
  const title = fault
    ? `NOT valid ${many ? 'JSON lines' : 'JSON'}: it breaks at byte ${count(fault.offset)}, line ${count(fault.line)}: ${fault.problem}. Up to there${where}:`
    : `${what}${where}${size}${many ? '; each:' : ':'}`;
  if (root.seen === 0) {
    const nothing = job.pointer === '' ? 'no value' : `nothing stands at ${job.pointer}; try the pointer one level up`;
    return { texts: [fault ? `${title} ${nothing}` : nothing], found: job.pointer === '' };
  }
  return { texts: DETAIL_LEVELS.map((detail) => `${title}\n${renderNode(root, detail)}`), found: true };
}

function describeCsv(reading: CsvReading): InferResult {
  const { delimiter, columns, rows, ragged, fault } = reading;
  const named = delimiter === '\t' ? 'tab' : `"${delimiter}"`;
  const notes = [
    ...(ragged > 0 ? [`${plural(ragged, 'row')} with another number of cells`] : []),
    ...(fault ? [`stops being readable at line ${count(fault.line)}: ${fault.problem}`] : []),
  ];
  const title = `CSV with delimiter ${named}: ${plural(columns.length, 'column')}, ${plural(rows, 'row')} below the header${notes.map((note) => `; ${note}`).join('')}`;
  const texts = DETAIL_LEVELS.map((detail) => {
    const shown = columns.slice(0, detail.members).map((column) => `  ${renderColumn(column, rows, detail)}`);
    const hidden = columns.length - shown.length;
    return [title, ...shown, ...(hidden > 0 ? [`  … ${plural(hidden, 'more column')}`] : [])].join('\n');
  });
  return { texts, found: true };
}

function renderColumn(column: CsvColumn, rows: number, detail: Detail): string {
  const { strings } = column.node;
  // A "True" among other words is a word.
  const node = strings ? { ...column.node, trues: 0, falses: 0 } : column.node;
  const allDates = strings !== undefined && column.dates === column.node.seen;
  const type = column.node.seen === 0 ? 'empty' : allDates ? renderDates(strings.examples) : renderNode(node, detail);
  const empty = column.empty > 0 && column.node.seen > 0 ? ` (empty in ${count(column.empty)} of ${count(rows)})` : '';
  return `${JSON.stringify(column.name.slice(0, 80))}: ${type}${empty}`;
}

function renderDates(examples: readonly string[]): string {
  return `date, e.g. ${examples.slice(0, 2).join(', ')}`;
}
