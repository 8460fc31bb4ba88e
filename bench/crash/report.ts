// The table of the trials, a row a boundary.
import { median, table } from '../lib/stats.ts';
import type { TrialResult } from './trial.ts';

/** A trial that gave no result at all. */
export interface FailedTrial {
  readonly boundary: string;
  readonly variant: number;
  readonly failure: string;
}

/** One boundary over all its trials. */
export interface BoundaryFigures {
  readonly boundary: string;
  readonly trials: number;
  readonly recoverMedianMs: number;
  readonly recoverMaxMs: number;
  readonly doubled: number;
  readonly lost: number;
  readonly settled: number;
  readonly unknown: number;
  readonly again: number;
  readonly faults: readonly string[];
}

/** Sums up the trials of one boundary. */
export function figuresOf(
  boundary: string,
  results: readonly TrialResult[],
  failed: readonly FailedTrial[],
): BoundaryFigures {
  const own = results.filter((result) => result.boundary === boundary);
  const times = own.map((result) => result.recoverMs);
  const sum = (pick: (result: TrialResult) => number): number => own.reduce((total, one) => total + pick(one), 0);
  const broken = failed.filter((trial) => trial.boundary === boundary);
  return {
    boundary,
    trials: own.length + broken.length,
    recoverMedianMs: Math.round(median(times)),
    recoverMaxMs: Math.round(Math.max(0, ...times)),
    doubled: sum((one) => one.doubled),
    lost: sum((one) => one.lost),
    settled: sum((one) => one.settled),
    unknown: sum((one) => one.unknown),
    again: sum((one) => one.again),
    faults: [
      ...own.flatMap((one) => one.faults.map((fault) => `#${one.variant}: ${fault}`)),
      ...broken.map((trial) => `#${trial.variant}: ${trial.failure}`),
    ],
  };
}

/** The table in Markdown, and the faults below it. */
export function reportOf(rows: readonly BoundaryFigures[]): string {
  const header = ['killed at', 'trials', 'p50 ms', 'max ms', 'doubled', 'lost', 'kept', 'unknown', 'again', 'faults'];
  const lines = rows.map((row) => [
    row.boundary,
    ...[row.trials, row.recoverMedianMs, row.recoverMaxMs, row.doubled, row.lost].map(String),
    ...[row.settled - row.lost, row.unknown, row.again, row.faults.length].map(String),
  ]);
  const faults = rows.flatMap((row) => row.faults.map((fault) => `- ${row.boundary} ${fault}`));
  return [table(header, lines), ...(faults.length > 0 ? ['', ...faults] : [])].join('\n');
}
