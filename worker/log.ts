// One seam for logs: Temporal's own logger in a Worker, a file or the terminal elsewhere.
import { Runtime } from '@temporalio/worker';
import type { JsonValue } from '../shared/json.ts';

/** One log entry. Carries names, sizes and counts, never a payload. */
export interface LogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly [key: string]: JsonValue | undefined;
}

/** Takes log entries. */
export type Log = (entry: LogEntry) => void;

/** Entries go to Temporal's logger, labelled with the part they come from. */
export function loggerOf(part: string): Log {
  return ({ level, message, ...rest }) => {
    const { logger } = Runtime.instance();
    logger.log(level.toUpperCase() as Uppercase<typeof level>, message, { longshore: part, ...rest });
  };
}
