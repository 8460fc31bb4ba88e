// How often the retention sweep runs, and its grace age, as a project sets them.
import { z } from 'zod';
import { DURATION_FORM, parseDuration } from './duration.ts';
import { textThat } from './spec-form.ts';
import { DEFAULT_GRACE_MS, DEFAULT_SWEEP_EVERY_MS } from './sweep.ts';

/** As written. */
export interface SweepSettings {
  /** From one sweep to the next, at least a minute. @default '1h' */
  readonly every?: string;
  /**
   * What nothing refers to is kept for this long, and nothing goes sooner after its turn's end. At least a minute; longer
   * than clocks of Workers and store may differ. @default '24h'
   */
  readonly grace?: string;
}

/** In milliseconds. */
export interface SweepTimes {
  readonly everyMs: number;
  readonly graceMs: number;
}

const LEAST_MS = 60_000;

const longDuration = textThat(
  (text) => (parseDuration(text) ?? 0) >= LEAST_MS,
  `${DURATION_FORM}, of at least 1m`,
  'Write a number and a unit, as in 1h.',
);

/** The form of the setting. */
export const sweepForm = z.strictObject({ every: longDuration.optional(), grace: longDuration.optional() });

/** The settings in milliseconds, defaults filled in. */
export function sweepTimes({ every, grace }: SweepSettings = {}): SweepTimes {
  return {
    everyMs: (every === undefined ? null : parseDuration(every)) ?? DEFAULT_SWEEP_EVERY_MS,
    graceMs: (grace === undefined ? null : parseDuration(grace)) ?? DEFAULT_GRACE_MS,
  };
}
