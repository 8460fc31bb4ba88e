// The form of what `doctor` finds, and how a check that raises becomes a row.
import { LongshoreError, messageOf } from '../../shared/errors.ts';

/** One row: `ok`, `missing` (needed and not there), or `note` (works, but worth knowing). */
export interface Check {
  readonly name: string;
  readonly status: 'ok' | 'missing' | 'note';
  readonly detail: string;
  /** What to do; `null` when there is nothing to do. */
  readonly mend: string | null;
}

/** What a check finds, without its name. */
export type Finding = Omit<Check, 'name'>;

/** A finding that all is well. */
export function ok(detail: string): Finding {
  return { status: 'ok', detail, mend: null };
}

/** Runs a check; what it raises is a `missing` row with the error's own mend. Never rejects. */
export async function check(name: string, find: () => Promise<Finding>): Promise<Check> {
  try {
    return { name, ...(await find()) };
  } catch (thrown) {
    const mend = thrown instanceof LongshoreError ? thrown.mend : 'Run `longshore doctor --debug` to see more.';
    return { name, status: 'missing', detail: messageOf(thrown), mend };
  }
}
