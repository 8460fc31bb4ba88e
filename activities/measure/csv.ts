// Reads CSV byte by byte: the header, the number of columns and rows. Source of the quoting rules: RFC 4180; besides the
// comma, tabs and semicolons are taken as separators.
import { escapeForDisplay, firstCharacters } from './preview.ts';

/** What a table looks like. */
export interface CsvShape {
  /** The first names, each cut to 40 characters. */
  readonly header: readonly string[];
  readonly columns: number;
  /** Without the header. */
  readonly rows: number;
}

const QUOTE = 0x22;
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const SEPARATORS = [0x2c, 0x09, 0x3b];
const MAX_NAMES = 12;
const MAX_NAME_CHARACTERS = 40;
const MAX_HEADER_CHARACTERS = 300;
/** A table is recognised by this many records of equal width. */
const SNIFFED_RECORDS = 30;
const SNIFFED_BYTES = 64 * 1024;

/** The separator by which the text reads as a table of records of equal width: three of two columns, or two of more; else null. */
export function sniffCsv(bytes: Uint8Array, isWhole: boolean): number | null {
  const head = bytes.subarray(0, SNIFFED_BYTES);
  const endsWithin = isWhole && head.length === bytes.length;
  return SEPARATORS.find((separator) => isTable(head, separator, endsWithin)) ?? null;
}

/** The shape of a table with that separator. `isWhole` false: a last record without its line break is not counted. */
export function shapeOfCsv(bytes: Uint8Array, separator: number, isWhole: boolean): CsvShape {
  const names: string[] = [];
  let columns = 0;
  let records = 0;
  let at = 0;
  while (at < bytes.length) {
    const record = readRecord(bytes, at, separator);
    if (!record.isClosed && !isWhole && records > 0) break;
    if (records === 0) {
      columns = record.fields;
      names.push(...headerNames(bytes.subarray(at, record.end), separator));
    }
    if (record.end > at && !record.isBlank) records++;
    at = record.end;
  }
  return { header: names, columns, rows: Math.max(0, records - 1) };
}

interface CsvRecord {
  /** After its line break. */
  readonly end: number;
  readonly fields: number;
  readonly isBlank: boolean;
  /** Whether a line break ended it. */
  readonly isClosed: boolean;
  /** Whether its quotation marks stand where they may. */
  readonly isWellQuoted: boolean;
}

function isTable(bytes: Uint8Array, separator: number, endsWithin: boolean): boolean {
  let columns = 0;
  let records = 0;
  for (let at = 0; at < bytes.length && records < SNIFFED_RECORDS; records++) {
    const record = readRecord(bytes, at, separator);
    if (!record.isClosed && !endsWithin) break;
    if (record.isBlank || !record.isWellQuoted || record.fields < 2) return false;
    if (records > 0 && record.fields !== columns) return false;
    columns = record.fields;
    at = record.end;
  }
  return records >= (columns > 2 ? 2 : 3);
}

function readRecord(bytes: Uint8Array, from: number, separator: number): CsvRecord {
  let fields = 1;
  let fieldStart = from;
  let isWellQuoted = true;
  let at = from;
  while (at < bytes.length && bytes[at] !== NEWLINE) {
    const byte = bytes[at];
    if (byte === QUOTE && at === fieldStart) {
      at = quotedEnd(bytes, at);
      const next = bytes[at];
      const isEnd = next === undefined || next === separator || next === NEWLINE || next === RETURN;
      isWellQuoted &&= bytes[at - 1] === QUOTE && isEnd;
      continue;
    }
    if (byte === separator) {
      fields++;
      fieldStart = at + 1;
    }
    at++;
  }
  const isClosed = at < bytes.length;
  const isBlank = at === from || (at === from + 1 && bytes[from] === RETURN);
  return { end: isClosed ? at + 1 : at, fields, isBlank, isClosed, isWellQuoted };
}

/** After the closing mark of a quoted field; doubled marks stand for one. At least one byte on. */
function quotedEnd(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; at < bytes.length; at++) {
    if (bytes[at] !== QUOTE) continue;
    if (bytes[at + 1] !== QUOTE) return at + 1;
    at++;
  }
  return bytes.length;
}

function headerNames(record: Uint8Array, separator: number): string[] {
  const names: string[] = [];
  let total = 0;
  for (let from = 0; from < record.length && names.length < MAX_NAMES;) {
    let to = record[from] === QUOTE ? quotedEnd(record, from) : from;
    while (to < record.length && record[to] !== separator) to++;
    const name = nameOf(record.subarray(from, to));
    total += name.length;
    if (total > MAX_HEADER_CHARACTERS) break;
    names.push(name);
    from = to + 1;
  }
  return names;
}

function nameOf(field: Uint8Array): string {
  const text = new TextDecoder().decode(field.subarray(0, 1000)).trim();
  const plain = text.startsWith('"') ? text.replace(/^"|"$/g, '').replaceAll('""', '"') : text;
  return escapeForDisplay(firstCharacters(plain, MAX_NAME_CHARACTERS))
    .slice(0, 2 * MAX_NAME_CHARACTERS)
    .toWellFormed();
}
