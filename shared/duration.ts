// Durations as people write them in specs and configurations: one number and one unit.

const UNITS_MS: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** The longest duration that is taken: ten years of 365 days, in milliseconds. */
const MAX_DURATION_MS = 3650 * 86_400_000;

/** What a duration looks like, for messages. */
export const DURATION_FORM = 'a duration such as 500ms, 30s, 15m, 72h or 7d';

/**
 * Reads `500ms`, `30s`, `15m`, `1.5h`, `7d` as milliseconds, rounded to whole ones.
 * Gives null for anything else: no unit, a sign, several units, more than ten years.
 */
export function parseDuration(text: string): number | null {
  const match = /^(\d{1,15}(?:\.\d{1,6})?)(ms|s|m|h|d)$/.exec(text);
  const factor = UNITS_MS[match?.[2] ?? ''];
  if (!match || factor === undefined) return null;
  const milliseconds = Math.round(Number(match[1]) * factor);
  return milliseconds <= MAX_DURATION_MS ? milliseconds : null;
}
