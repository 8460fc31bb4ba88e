// Says why a dev server did not start or has ended, from its last words.
import { LongshoreError } from '../../shared/errors.ts';
import type { Home } from '../home.ts';
import type { ServerLog } from './server-log.ts';

interface KnownFailure {
  readonly pattern: RegExp;
  readonly type: 'PortTaken' | 'HomeUnusable';
  readonly what: string;
  readonly mend: (home: Home) => string;
}

/** In the order they are looked for. Source: what Temporal CLI 1.9.1 prints, and SQLite's error texts. */
const KNOWN: readonly KnownFailure[] = [
  {
    pattern: /address already in use/,
    type: 'PortTaken',
    what: 'a port it wanted is in use',
    mend: () => 'Try again, or set LONGSHORE_PORT and LONGSHORE_UI_PORT to ports that are free.',
  },
  {
    pattern: /database or disk is full|no space left on device|disk I\/O error/i,
    type: 'HomeUnusable',
    what: 'the disk is full or failing',
    mend: () => 'Free some space on that disk, or set LONGSHORE_HOME to a folder on another one.',
  },
  {
    pattern: /file is not a database|database disk image is malformed|SQL logic error|no such (table|column)/,
    type: 'HomeUnusable',
    what: 'its database is damaged, or of another version of the server',
    mend: (home) =>
      `Move ${home.database} (and ${home.database}-wal, -shm) away to begin with an empty one, or use the Temporal CLI that wrote it.`,
  },
  {
    pattern: /readonly database|unable to open database|permission denied/,
    type: 'HomeUnusable',
    what: 'its database cannot be opened for writing',
    mend: (home) => `Allow writing ${home.database}, or set LONGSHORE_HOME to a folder that can be written.`,
  },
];

/** The error for a server that ended for `reason` (`exit code 1`, `signal SIGKILL`). */
export function serverFailure(home: Home, reason: string, log: ServerLog): LongshoreError {
  const lastWords = log.tail(20);
  const panic = log.tail(400).findLast((line) => /^(panic|fatal error): /.test(line));
  const known = KNOWN.find(({ pattern }) => lastWords.some((line) => pattern.test(line)));
  const printed = lastWords.filter((line) => line.trim() !== '' && !line.startsWith('Warning:'));
  // A stack's last lines are the same for every panic.
  const quoted = panic === undefined ? printed.slice(-3) : [panic];
  const words = quoted.length === 0 ? 'it printed nothing' : `its last words: ${quoted.join(' | ').slice(0, 600)}`;
  return new LongshoreError(
    known?.type ?? 'TemporalUnavailable',
    `The embedded Temporal server on ${home.database} has ended (${reason})${known ? `: ${known.what}` : ''}; ${words}`,
    known?.mend(home) ?? `Look into ${log.path}; then try again.`,
  );
}
