// How a command's failure is told: `error: TYPE: message` and the mend, or the same as a document; and the exit code.
import { CommanderError } from 'commander';

import { type ErrorRecord, LongshoreError, messageOf } from '../shared/errors.ts';
import { EXIT_INTERRUPTED, Interrupted } from './interrupts.ts';
import type { Output } from './output.ts';
import { isNamespaceMissing, isUnreachable, namespaceMissing, temporalUnavailable } from './temporal-faults.ts';

/** What commander raises when it has printed what was asked for. */
const PRINTED = new Set(['commander.helpDisplayed', 'commander.version']);
const EXIT_USAGE = 2;

/** Tells a failure and gives the exit code. Never throws. */
export function tellFailure(thrown: unknown, output: Output, isDebug: boolean): number {
  output.endLive();
  if (thrown instanceof Interrupted) return EXIT_INTERRUPTED;
  if (thrown instanceof CommanderError && PRINTED.has(thrown.code)) return 0;
  // Help that nobody asked for, since the command lacks its subcommand: it is printed, and still wrong usage.
  if (thrown instanceof CommanderError && thrown.code === 'commander.help' && !output.isJson) return EXIT_USAGE;
  const error = asLongshoreError(thrown);
  const { type, message, mend } = error.toRecord();
  if (output.isJson) output.json({ error: { type, message, mend } });
  else for (const line of errorLines({ type, message, mend })) output.note(line);
  if (isDebug) output.note(stackOf(thrown));
  return error.exitCode;
}

/** The form of an error for people: one line of type and message, then the mend. */
export function errorLines({ type, message, mend }: ErrorRecord): readonly string[] {
  return [`error: ${type}: ${message.replaceAll(/\s*\n\s*/g, ' ')}`, ...(mend === '' ? [] : [mend])];
}

/** Any failure as an error of the catalogue. */
export function asLongshoreError(thrown: unknown): LongshoreError {
  if (thrown instanceof LongshoreError) return thrown;
  if (thrown instanceof CommanderError) return usageError(thrown);
  // First: of a server that is gone the SDK says too that its namespace was not found.
  if (isUnreachable(thrown)) return temporalUnavailable(thrown);
  if (isNamespaceMissing(thrown)) return namespaceMissing(thrown);
  return new LongshoreError(
    'Internal',
    messageOf(thrown),
    'This is a fault of Longshore. Run the command again with --debug to see where it came from.',
    { cause: thrown },
  );
}

/** What was to be printed or written could not be: a full disk, a reader that left. `where` is a file or `standard output`. */
export function outputFailed(where: string, cause: unknown): LongshoreError {
  return new LongshoreError(
    'OutputFailed',
    `What was to go to ${where} could not be written: ${messageOf(cause)}`,
    'Make room there, or let the output go elsewhere.',
    { cause },
  );
}

function usageError(thrown: CommanderError): LongshoreError {
  // Commander writes "error: unknown command 'rnu'\n(Did you mean run?)".
  const [first = '', ...rest] = thrown.message.replace(/^error: /, '').split('\n');
  const missing = thrown.code === 'commander.help' ? 'a subcommand is missing' : first;
  const suggestion = /\(Did you mean (.*)\?\)/.exec(rest.join(' '))?.[1];
  const near = suggestion === undefined ? '' : `Did you mean \`${suggestion}\`? `;
  return new LongshoreError('UsageInvalid', missing, `${near}See \`longshore --help\`, or --help after a command.`, {
    cause: thrown,
  });
}

function stackOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const cause = thrown.cause === undefined ? '' : `\ncaused by: ${stackOf(thrown.cause)}`;
  return `${thrown.stack ?? thrown.message}${cause}`;
}
