// The retention sweep on the wire: names, inputs, results, and what it counts. Names stay and fields are only added.
// Source: architecture D8.

/** What is not known to any manifest is kept for this long, in case a turn is about to refer to it. */
export const DEFAULT_GRACE_MS = 24 * 3_600_000;
/** @default of `retention.every` */
export const DEFAULT_SWEEP_EVERY_MS = 3_600_000;
/** The id of the Schedule. */
export const SWEEP_SCHEDULE_ID = 'longshore-retention';

/** Input of the Workflow `longshoreRetentionSweep`. */
export interface RetentionSweepInput {
  /** Nothing is changed; the result says what would be. @default false */
  readonly dryRun?: boolean;
  /** Milliseconds. @default DEFAULT_GRACE_MS */
  readonly graceMs?: number;
  /** Where an earlier run of the same sweep got to. */
  readonly carried?: SweepProgress;
}

/** Why something was kept, beside that something refers to it. */
export type KeptReason =
  /** Files of turns that are open: running, or waiting for a person. */
  | 'open'
  /** Files of closed turns that an open turn goes on from. */
  | 'continued'
  /** Files, and transcripts, under a hold. */
  | 'held'
  /** Files of closed turns whose retention is not over. */
  | 'not-due'
  /** Blobs that nothing refers to, younger than the grace age. */
  | 'young'
  /** Blobs that nothing refers to yet, which a turn that runs may have written. */
  | 'running'
  /** Blobs in a part of the store that another sweep had marked, or that this one ran out of time for. */
  | 'busy';

/** Something that went wrong and was passed by. */
export interface SweepProblem {
  readonly type: string;
  readonly message: string;
  readonly mend: string;
}

/** What a sweep, or a page of one, counted. */
export interface SweepTally {
  readonly turns: number;
  readonly openTurns: number;
  /** Files whose pins were released, since their turn is closed or gone. */
  readonly filesReleased: number;
  /** Files that were let go: past their retention; their paths answer with a tombstone. */
  readonly filesDeleted: number;
  readonly transcriptsDeleted: number;
  /** Manifests of turns of which nothing is left. */
  readonly manifestsDeleted: number;
  /** Entries of the journal. */
  readonly journalsDeleted: number;
  readonly tombstonesDeleted: number;
  readonly blobsDeleted: number;
  readonly bytesDeleted: number;
  /** Blobs that something refers to. */
  readonly blobsReferenced: number;
  readonly kept: { readonly [reason in KeptReason]?: number };
  /** At most 50. */
  readonly problems: readonly SweepProblem[];
  /** Problems that make it unknown what is referred to: then no blob is deleted. */
  readonly blocking: number;
}

/** Nothing counted. */
export const EMPTY_TALLY: SweepTally = {
  turns: 0,
  openTurns: 0,
  filesReleased: 0,
  filesDeleted: 0,
  transcriptsDeleted: 0,
  manifestsDeleted: 0,
  journalsDeleted: 0,
  tombstonesDeleted: 0,
  blobsDeleted: 0,
  bytesDeleted: 0,
  blobsReferenced: 0,
  kept: {},
  problems: [],
  blocking: 0,
};

const MAX_PROBLEMS = 50;

/** Both tallies together. */
export function addTally(a: SweepTally, b: Partial<SweepTally>): SweepTally {
  const kept: { [reason in KeptReason]?: number } = { ...a.kept };
  for (const [reason, count] of Object.entries(b.kept ?? {}) as [KeptReason, number][]) {
    if (count > 0) kept[reason] = (kept[reason] ?? 0) + count;
  }
  const sums = Object.fromEntries(COUNTS.map((name) => [name, a[name] + (b[name] ?? 0)])) as {
    [name in (typeof COUNTS)[number]]: number;
  };
  return { ...sums, kept, problems: [...a.problems, ...(b.problems ?? [])].slice(0, MAX_PROBLEMS) };
}

const COUNTS = [
  'turns',
  'openTurns',
  'filesReleased',
  'filesDeleted',
  'transcriptsDeleted',
  'manifestsDeleted',
  'journalsDeleted',
  'tombstonesDeleted',
  'blobsDeleted',
  'bytesDeleted',
  'blobsReferenced',
  'blocking',
] as const;

/** One sweep, as all its Activities know it. */
export interface SweepFrame {
  /** Where its notes stand in the store: a key below `sweeps/`. */
  readonly id: string;
  /** When it began, milliseconds since 1970: for all its pages, however long it takes. */
  readonly nowMs: number;
  readonly graceMs: number;
  readonly dryRun: boolean;
}

/** The parts of a sweep, in order. Each goes through pages. */
export type SweepStage = 'survey' | 'let-go' | 'list-marks' | 'mark' | 'delete' | 'finish';

/** How far a sweep is: what Continue-As-New carries. */
export interface SweepProgress {
  readonly frame: SweepFrame;
  readonly stage: SweepStage;
  readonly page: number;
  /** Pages of the listing that the stage goes through. */
  readonly pages: number;
  /** What turns that run may have written since, and no manifest knows: newer than this. Null without such turns. */
  readonly oldestSavedMs: number | null;
  readonly tally: SweepTally;
}

/** Input of `longshoreSweepBegin`. */
export interface SweepBeginInput {
  readonly graceMs: number;
  readonly dryRun: boolean;
}

/** Result of `longshoreSweepBegin`: the turns are listed. */
export interface SweepBegun {
  readonly frame: SweepFrame;
  readonly pages: number;
  /** The start of the oldest turn that runs and has no manifest; null without one. */
  readonly oldestSavedMs: number | null;
  readonly tally: Partial<SweepTally>;
}

/** Input of the Activities that do one page. */
export interface SweepPageInput {
  readonly frame: SweepFrame;
  readonly page: number;
}

/** Result of an Activity that did one page. */
export interface SweepPageResult {
  readonly tally: Partial<SweepTally>;
}

/** Result of `longshoreSweepSurvey`. */
export interface SweepSurveyResult extends SweepPageResult {
  /** Of this page's running turns that are not parked, the smallest time of their manifest. */
  readonly oldestSavedMs: number | null;
}

/** Input of `longshoreSweepDelete`: a sixteenth of the store, by the first digit of the hash. */
export interface SweepDeleteInput extends SweepPageInput {
  readonly markPages: number;
  readonly oldestSavedMs: number | null;
}

/** The Activities of the sweep, by their names on the wire. */
export interface RetentionActivities {
  longshoreSweepBegin(input: SweepBeginInput): Promise<SweepBegun>;
  longshoreSweepSurvey(input: SweepPageInput): Promise<SweepSurveyResult>;
  longshoreSweepLetGo(input: SweepPageInput): Promise<SweepPageResult>;
  longshoreSweepListMarks(input: { readonly frame: SweepFrame }): Promise<{ readonly pages: number }>;
  longshoreSweepMark(input: SweepPageInput): Promise<SweepPageResult>;
  longshoreSweepDelete(input: SweepDeleteInput): Promise<SweepPageResult>;
  longshoreSweepFinish(input: { readonly frame: SweepFrame }): Promise<SweepPageResult>;
}

/** Result of the Workflow: what `longshore sweep --json` prints. */
export interface RetentionSweepResult extends Omit<SweepTally, 'blocking'> {
  readonly dryRun: boolean;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly graceMs: number;
  /** Set when no blob was deleted, since what is referred to could not be found out: see `problems`. */
  readonly stopped: boolean;
}

/** The smaller of two times, of which either may be missing. */
export function earlier(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b;
  return Math.min(a, b);
}
