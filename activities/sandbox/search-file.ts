// `search_file`: counts every match of a pattern in a file and lists the first of them with their context.
import type { z } from 'zod';
import type { searchFileArguments } from './arguments.ts';
import { findFile, SandboxFault, streamFile, type SandboxAnswer, type SandboxContext } from './files.ts';
import { itemsThatFit } from './fit.ts';
import { stoppedFault } from './job-limits.ts';
import type { SearchHit, SearchResult } from './search.ts';
import { clip, count, plural } from './text.ts';
import { runInThread } from './threads.ts';

// The search itself stops first and tells what it has; the thread is ended only if it does not.
const BUDGET_MS = 20_000;
const TIMEOUT_MS = 30_000;
// What the first line and the last may cost, in tokens.
const FRAME_TOKENS = 140;

type Arguments = z.output<typeof searchFileArguments>;
type Found = Extract<SearchResult, { type: 'found' }>;

/** Searches in a thread; a pattern that is none comes back as a fault with its position. */
export async function searchFile(args: Arguments, context: SandboxContext): Promise<SandboxAnswer> {
  const file = await findFile(context, args.path);
  const job = {
    kind: 'search',
    pattern: args.pattern,
    literal: args.literal,
    ignoreCase: args.ignore_case,
    contextLines: args.context_lines,
    maxMatches: args.max_matches,
    offsetBytes: args.offset_bytes,
    budgetMs: BUDGET_MS,
  } as const;
  const limits = { timeoutMs: TIMEOUT_MS, signal: context.signal };
  const result = await runInThread<'search'>(job, () => streamFile(context, file), limits).catch((thrown: unknown) => {
    throw stoppedFault(thrown, 'The search', 'Use a simpler pattern, or literal: true.');
  });
  if (result.type === 'bad-pattern') throw badPattern(args.pattern, result.problem, result.position);
  return { text: await describe(args, result, context.perResultTokens - FRAME_TOKENS), isError: false };
}

async function describe(args: Arguments, found: Found, limit: number): Promise<string> {
  const blocks = found.hits.map((hit) => showHit(hit, args.context_lines > 0));
  const shown = await itemsThatFit(blocks, limit);
  const next = found.hits[shown]?.offset ?? found.next;
  const listed = blocks.slice(0, shown);
  const lines = [summary(args, found), ...listed];
  if (next !== null && shown === 0) lines.push(`The first match is at byte ${next}: read_file offset_bytes ${next}.`);
  else if (next !== null) lines.push(`[more matches: the same call with offset_bytes ${next}]`);
  if (!found.complete)
    lines.push(
      `[stopped after ${BUDGET_MS / 1000} seconds at byte ${count(found.bytes)}: the count is of what was searched]`,
    );
  if (found.split)
    lines.push('[a line is longer than 8 MiB; in it, a match longer than 64 KiB may be counted more than once]');
  return lines.join('\n');
}

function summary(args: Arguments, found: Found): string {
  const what = `${args.literal ? 'text' : 'pattern'} ${JSON.stringify(clip(args.pattern, 80))}`;
  if (found.total === 0) return `No match of ${what} in ${plural(found.bytes, 'byte')}.`;
  const from = args.offset_bytes > 0 ? `; listed from byte ${count(args.offset_bytes)} on` : '';
  return `${plural(found.total, 'match', 'matches')} of ${what} in ${plural(found.linesWithMatches, 'line')}${from}:`;
}

function showHit(hit: SearchHit, withLines: boolean): string {
  const line = `line ${hit.line}, byte ${hit.offset}: ${hit.before}«${hit.match}»${hit.after}`;
  if (!withLines) return line;
  const before = hit.linesBefore.map((text, i) => `  ${hit.line - hit.linesBefore.length + i}: ${text}`);
  const after = hit.linesAfter.map((text, i) => `  ${hit.line + 1 + i}: ${text}`);
  return [...before, line, ...after, '--'].join('\n');
}

function badPattern(pattern: string, problem: string, position: number): SandboxFault {
  return new SandboxFault(
    `The pattern cannot be used: ${clip(problem, 200)} (at character ${position} of ${JSON.stringify(clip(pattern, 120))}). ` +
      'Patterns are in RE2 syntax: no backreferences, no lookaround, at most 1,000 repeats. For plain text set literal: true.',
  );
}
