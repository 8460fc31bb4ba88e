// Reads delimited text as a stream: the delimiter from its first line, then each column's types by its cells.
import { CsvError, parse, type Options } from 'csv-parse';
import { parse as parseWhole } from 'csv-parse/sync';
import { addNumber, addString, emptyNode, type SchemaNode } from './node.ts';

/** One column: its name, what its cells look like, and how many are empty. */
export interface CsvColumn {
  readonly name: string;
  readonly node: SchemaNode;
  empty: number;
  dates: number;
}

/** What stands in delimited text. */
export interface CsvReading {
  readonly delimiter: string;
  readonly columns: readonly CsvColumn[];
  /** Without the header. */
  readonly rows: number;
  /** Rows that have more or fewer cells than the header. */
  readonly ragged: number;
  readonly fault: { readonly line: number; readonly problem: string } | null;
}

const DELIMITERS = [',', '\t', ';', '|'];
const COLUMNS_KEPT = 500;

/** The delimiter that a header line uses most outside quotes, or null if it uses none. */
export function guessDelimiter(line: string): string | null {
  const plain = line.replace(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => ({ delimiter, times: plain.split(delimiter).length - 1 }));
  const best = counts.reduce((a, b) => (b.times > a.times ? b : a));
  return best.times > 0 ? best.delimiter : null;
}

function options(delimiter: string): Options {
  return {
    delimiter,
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: 4 * 1024 * 1024,
  };
}

/** Reads delimited text to its end; the first row names the columns. */
export async function readCsv(bytes: AsyncIterable<Uint8Array>, delimiter: string): Promise<CsvReading> {
  const parser = parse(options(delimiter));
  const table = new Table();
  let fault: CsvReading['fault'] = null;
  parser.on('readable', () => {
    for (let row: unknown = parser.read(); row !== null; row = parser.read()) table.add(row as readonly string[]);
  });
  const ended = new Promise<void>((resolve) => {
    parser.once('end', resolve);
    parser.once('error', (error: CsvError) => {
      fault = { line: Number(error['lines'] ?? 0), problem: error.message };
      resolve();
    });
  });
  for await (const chunk of bytes) {
    if (fault) break;
    if (!parser.write(chunk)) await Promise.race([new Promise((resolve) => parser.once('drain', resolve)), ended]);
  }
  if (!fault) parser.end();
  await ended;
  return { delimiter, columns: table.columns, rows: table.rows, ragged: table.ragged, fault };
}

/** Delimited text as objects, one a row; numbers that lose nothing by it become numbers. Raises csv-parse's errors. */
export function csvToObjects(text: string, delimiter: string): readonly Record<string, unknown>[] {
  const cast = (cell: string, { header }: { header: boolean }): string | number =>
    !header && cell !== '' && String(Number(cell)) === cell ? Number(cell) : cell;
  const rows: unknown = parseWhole(text, { ...options(delimiter), columns: true, cast });
  // `columns: true` gives objects.
  return rows as readonly Record<string, unknown>[];
}

/** The first rows of delimited text, header included; none where its quotes do not close. */
export function firstRows(text: string, delimiter: string, rows: number): readonly (readonly string[])[] {
  try {
    return parseWhole(text, { ...options(delimiter), to: rows });
  } catch (thrown) {
    if (thrown instanceof CsvError) return [];
    throw thrown;
  }
}

class Table {
  readonly columns: CsvColumn[] = [];
  rows = 0;
  ragged = 0;
  #width = -1;

  add(row: readonly string[]): void {
    if (this.#width < 0) {
      this.#width = row.length;
      for (const name of row.slice(0, COLUMNS_KEPT)) this.columns.push({ name, node: emptyNode(), empty: 0, dates: 0 });
      return;
    }
    this.rows += 1;
    if (row.length !== this.#width) this.ragged += 1;
    for (const [i, column] of this.columns.entries()) addCell(column, row[i] ?? '');
  }
}

function addCell(column: CsvColumn, cell: string): void {
  if (cell === '') {
    column.empty += 1;
    return;
  }
  const { node } = column;
  node.seen += 1;
  if (cell === 'true' || cell === 'TRUE' || cell === 'True') node.trues += 1;
  else if (cell === 'false' || cell === 'FALSE' || cell === 'False') node.falses += 1;
  else if (/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(cell)) addNumber(node, Number(cell));
  else {
    if (/^\d{4}[-/]\d{1,2}[-/]\d{1,2}([T ][\d:.Z+-]*)?$/.test(cell)) column.dates += 1;
    addString(node, cell.slice(0, 64), cell.length);
  }
}
