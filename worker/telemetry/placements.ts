// What the commit of a step tells: how many results were placed where by which rule, tokens in context and kept out of it.
import type { StepCommit, TurnIdentity } from '../../shared/activities.ts';
import type { LogEntry } from '../log.ts';
import type { Measurement } from './instruments.ts';
import { turnLabels, type Told } from './watch.ts';

/** A log entry lists no more files than this; the counts cover all. */
const LISTED_FILES = 20;

/** What the placements of a step tell; nothing without a commit. */
export function placementTold(
  turn: TurnIdentity,
  commit: StepCommit | undefined,
): Pick<Told, 'entries' | 'measurements'> {
  if (!commit || commit.results.length === 0) return { entries: [], measurements: [] };
  return { entries: [entryOf(turn, commit)], measurements: measurementsOf(commit) };
}

function entryOf(turn: TurnIdentity, { step, results }: StepCommit): LogEntry {
  const inFiles = results.filter(({ placement }) => placement === 'file');
  const rules: Record<string, number> = {};
  for (const { rule } of results) rules[rule] = (rules[rule] ?? 0) + 1;
  return {
    level: 'info',
    message: 'step placed',
    ...turnLabels(turn),
    step,
    results: results.length,
    inline: results.length - inFiles.length,
    file: inFiles.length,
    rules,
    tokensInContext: results.reduce((sum, { tokens }) => sum + tokens, 0),
    tokensKeptOut: inFiles.reduce((sum, result) => sum + keptOut(result), 0),
    files: inFiles
      .slice(0, LISTED_FILES)
      .map((result) => ({ callKey: result.callKey, rule: result.rule, tokensKeptOut: keptOut(result) })),
  };
}

function measurementsOf({ results }: StepCommit): readonly Measurement[] {
  return results.flatMap((result): readonly Measurement[] => {
    const attributes = { 'longshore.placement': result.placement, 'longshore.placement.rule': result.rule };
    const placed: readonly Measurement[] = [
      { metric: 'longshore.placements', value: 1, attributes },
      { metric: 'longshore.tokens.in_context', value: result.tokens, attributes },
    ];
    if (result.placement === 'inline') return placed;
    return [...placed, { metric: 'longshore.tokens.kept_out', value: keptOut(result), attributes }];
  });
}

/** Histories of before `inlineTokens` do not tell. */
function keptOut({ inlineTokens, tokens }: StepCommit['results'][number]): number {
  return inlineTokens === undefined ? 0 : Math.max(0, inlineTokens - tokens);
}
