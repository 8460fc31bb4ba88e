// Finds a pattern in a stream of bytes, line by line, with an engine whose time is linear in the text (re2js).
// It holds one line at a time; of a line longer than the window it holds a window, and windows overlap.
import { RE2JS, RE2JSException, RE2JSSyntaxException } from 're2js';
import { messageOf } from '../../shared/errors.ts';
import { characterStart, clipMiddle, decode, decodeHead, decodeTail } from './text.ts';

/** What to search for, and how much of it to list. */
export interface SearchJob {
  readonly pattern: string;
  readonly literal: boolean;
  readonly ignoreCase: boolean;
  readonly contextLines: number;
  readonly maxMatches: number;
  /** Only matches that start here or later are listed; all are counted. */
  readonly offsetBytes: number;
  /** After this time the search stops and tells what it has. */
  readonly budgetMs: number;
  /** The longest line that is searched as a whole. @default 8 MiB */
  readonly windowBytes?: number;
  /** How far windows of a longer line overlap: no match longer than this is sure to be found whole. @default 64 KiB */
  readonly overlapBytes?: number;
}

/** One match, with bounded context. */
export interface SearchHit {
  /** From 1. */
  readonly line: number;
  /** Byte offset of the match in the file. */
  readonly offset: number;
  readonly before: string;
  readonly match: string;
  readonly after: string;
  readonly linesBefore: readonly string[];
  readonly linesAfter: string[];
}

/** What a search found. */
export type SearchResult =
  | { readonly type: 'bad-pattern'; readonly problem: string; readonly position: number }
  | {
      readonly type: 'found';
      readonly total: number;
      readonly linesWithMatches: number;
      readonly hits: readonly SearchHit[];
      /** Where the first match starts that would be listed next, or null. */
      readonly next: number | null;
      readonly bytes: number;
      /** False when the time ran out. */
      readonly complete: boolean;
      /** A match was longer than the overlap of two windows and may be counted in parts. */
      readonly split: boolean;
    };

/** Characters of its line to show on each side of a match, and of each line of context. */
export const CONTEXT_CHARACTERS = 100;

/** Instructions of a compiled pattern; the time for each character grows with them. */
const LARGEST_PROGRAM = 20_000;

/** Searches the bytes; never raises for a bad pattern. */
export async function searchBytes(job: SearchJob, bytes: AsyncIterable<Uint8Array>): Promise<SearchResult> {
  const compiled = compile(job);
  if ('problem' in compiled) return { type: 'bad-pattern', ...compiled };
  const search = new Search(job, compiled);
  for await (const chunk of bytes) {
    search.push(chunk);
    if (search.isOver) break;
  }
  return search.finish();
}

function compile(job: SearchJob): RE2JS | { readonly problem: string; readonly position: number } {
  const pattern = job.literal ? RE2JS.quote(job.pattern) : job.pattern;
  try {
    const compiled = RE2JS.compile(pattern, job.ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    if (compiled.programSize() <= LARGEST_PROGRAM) return compiled;
    return { problem: 'the pattern is too large once its repeats are written out', position: 0 };
  } catch (thrown) {
    if (!(thrown instanceof RE2JSException)) throw thrown;
    const wrong = thrown instanceof RE2JSSyntaxException ? thrown.getPattern() : null;
    const position = wrong === null ? 0 : Math.max(0, job.pattern.indexOf(wrong));
    return { problem: messageOf(thrown), position };
  }
}

class Search {
  readonly #job: SearchJob;
  readonly #pattern: RE2JS;
  readonly #window: number;
  readonly #overlap: number;
  readonly #deadline: number;
  #held = Buffer.alloc(0);
  // Where the held bytes begin in the file, and the place in them where the search of the current line goes on.
  #heldAt = 0;
  #resume = 0;
  #scanned = 0;
  #line = 1;
  #lineHasMatch = false;
  #bytes = 0;
  #total = 0;
  #linesWithMatches = 0;
  #next: number | null = null;
  #split = false;
  #late = false;
  readonly #hits: SearchHit[] = [];
  readonly #recent: string[] = [];
  #open: { hit: SearchHit; missing: number }[] = [];

  constructor(job: SearchJob, pattern: RE2JS) {
    this.#job = job;
    this.#pattern = pattern;
    this.#window = job.windowBytes ?? 8 * 1024 * 1024;
    this.#overlap = job.overlapBytes ?? 64 * 1024;
    this.#deadline = performance.now() + job.budgetMs;
  }

  get isOver(): boolean {
    return this.#late;
  }

  push(chunk: Uint8Array): void {
    this.#held = this.#held.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#held, chunk]);
    this.#bytes += chunk.length;
    let start = 0;
    while (!this.#late) {
      const end = this.#held.indexOf(10, Math.max(start, this.#scanned));
      if (end < 0) break;
      this.#searchLine(this.#held.subarray(start, end), this.#heldAt + start);
      start = end + 1;
      this.#scanned = start;
    }
    this.#drop(start);
    this.#scanned = this.#held.length;
    if (this.#held.length > this.#window && !this.#late) this.#searchWindow();
    if (performance.now() > this.#deadline) this.#late = true;
  }

  finish(): SearchResult {
    if (this.#held.length > 0 && !this.#late) this.#searchLine(this.#held, this.#heldAt);
    return {
      type: 'found',
      total: this.#total,
      linesWithMatches: this.#linesWithMatches,
      hits: this.#hits,
      next: this.#next,
      bytes: this.#bytes,
      complete: !this.#late,
      split: this.#split,
    };
  }

  // The whole of a line, or what is left of one that was searched by windows.
  #searchLine(withReturn: Buffer, at: number): void {
    const line = withReturn.at(-1) === 13 ? withReturn.subarray(0, -1) : withReturn;
    this.#find(line, at, Infinity);
    this.#showAsContext(line);
    this.#line += 1;
    this.#lineHasMatch = false;
    this.#resume = 0;
  }

  // A part of a line that goes on: what starts in the overlap is left to the next window.
  #searchWindow(): void {
    const limit = characterStart(this.#held, this.#held.length - this.#overlap);
    const lastEnd = this.#find(this.#held, this.#heldAt, limit);
    if (lastEnd >= this.#held.length) this.#split = true;
    const resume = Math.max(lastEnd, limit);
    // What stands before stays as context, for word boundaries and so that `^` does not match inside a line.
    const keepFrom = characterStart(this.#held, Math.max(0, resume - CONTEXT_CHARACTERS * 4));
    this.#drop(keepFrom);
    this.#scanned = this.#held.length;
    this.#resume = resume - keepFrom;
  }

  /** Takes every match that starts before `limit`; gives the place to go on from. */
  #find(line: Buffer, at: number, limit: number): number {
    const matcher = this.#pattern.matcher(line);
    let from = this.#resume;
    let found = from > 0 ? from <= line.length && matcher.find(from) : matcher.find();
    while (found) {
      const start = matcher.start();
      const end = matcher.end();
      if (start >= limit) break;
      this.#take(line, at, start, end);
      from = end > start ? end : end + 1;
      found = !this.#isLate() && matcher.find();
    }
    return from;
  }

  #take(line: Buffer, at: number, start: number, end: number): void {
    this.#total += 1;
    if (!this.#lineHasMatch) this.#linesWithMatches += 1;
    this.#lineHasMatch = true;
    const offset = at + start;
    if (offset < this.#job.offsetBytes) return;
    if (this.#hits.length >= this.#job.maxMatches) {
      this.#next ??= offset;
      return;
    }
    const before = line.subarray(0, start);
    const after = line.subarray(end);
    const hit: SearchHit = {
      line: this.#line,
      offset,
      before: ellipsisBefore(decodeTail(before, CONTEXT_CHARACTERS), before.length),
      match:
        end - start > 4096
          ? longMatch(line.subarray(start, end))
          : clipMiddle(decode(line.subarray(start, end)), 150, 50),
      after: ellipsisAfter(decodeHead(after, CONTEXT_CHARACTERS), after.length),
      linesBefore: [...this.#recent],
      linesAfter: [],
    };
    this.#hits.push(hit);
    if (this.#job.contextLines > 0) this.#open.push({ hit, missing: this.#job.contextLines + 1 });
  }

  #showAsContext(line: Buffer): void {
    if (this.#job.contextLines === 0) return;
    const head = decodeHead(line, CONTEXT_CHARACTERS * 2);
    const shown = ellipsisAfter(head, line.length);
    for (const waiting of this.#open) {
      // The first line that passes is the match's own.
      if (waiting.missing <= this.#job.contextLines) waiting.hit.linesAfter.push(shown);
      waiting.missing -= 1;
    }
    this.#open = this.#open.filter(({ missing }) => missing > 0);
    this.#recent.push(shown);
    if (this.#recent.length > this.#job.contextLines) this.#recent.shift();
  }

  #isLate(): boolean {
    if (performance.now() > this.#deadline) this.#late = true;
    return this.#late;
  }

  #drop(length: number): void {
    this.#held = this.#held.subarray(length);
    this.#heldAt += length;
  }
}

function longMatch(bytes: Buffer): string {
  return `${decodeHead(bytes, 150)}…(${bytes.length} bytes)…${decodeTail(bytes, 50)}`;
}

function ellipsisBefore(shown: string, bytes: number): string {
  return Buffer.byteLength(shown) < bytes ? `…${shown}` : shown;
}

function ellipsisAfter(shown: string, bytes: number): string {
  return Buffer.byteLength(shown) < bytes ? `${shown}…` : shown;
}
