// `longshore files hold | unhold | purge`: what is kept whatever the rules say, and what goes at once.
import type { Command } from 'commander';

import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { someId, someValue } from '../option-values.ts';
import type { HoldOptions, TargetOptions } from '../keep-files.ts';

const PATH = '/sandbox/tool-results/t1.0.0-read_file-0123456789abcdef.json';

/** Adds the commands below `files`. What they do is loaded when needed: the Temporal SDK takes half a second that `--help` must not pay. */
export function registerKeeping(files: Command, context: CommandContext): void {
  addHold(files, context);
  addUnhold(files, context);
  addPurge(files, context);
}

function addHold(files: Command, context: CommandContext): void {
  const hold = target(files, 'hold', 'keep a file, a turn or a session, whatever the rules of retention say')
    .option('--reason <text>', 'why', someValue)
    .option('--as <name>', 'who holds, as you say (not verified); by default user@host', someValue)
    .action(
      context.action(async (path: string | undefined, options: HoldOptions) => {
        const { holdFiles } = await import('../keep-files.ts');
        return holdFiles(path, options, context);
      }),
    );
  addExamples(hold, [`longshore files hold ${PATH}`, 'longshore files hold --session case-17 --reason "litigation"']);
}

function addUnhold(files: Command, context: CommandContext): void {
  const unhold = target(files, 'unhold', 'take a hold away: the rules of retention count again').action(
    context.action(async (path: string | undefined, options: TargetOptions) => {
      const { unholdFiles } = await import('../keep-files.ts');
      return unholdFiles(path, options, context);
    }),
  );
  addExamples(unhold, ['longshore files unhold --session case-17']);
}

function addPurge(files: Command, context: CommandContext): void {
  const purge = files
    .command('purge')
    .description('delete all of a session at once: files, transcripts, records, and its executions in Temporal')
    .requiredOption('--session <id>', 'the session', someId)
    .option('--yes', 'do it; without it nothing is deleted')
    .option('--json', 'print one JSON document: the receipt')
    .action(
      context.action(async (options: { readonly session: string; readonly yes?: true }) => {
        const { purgeSession } = await import('../keep-files.ts');
        return purgeSession(options, context);
      }),
    );
  addExamples(purge, ['longshore files purge --session customer-4711 --yes --json']);
}

function target(files: Command, name: string, description: string): Command {
  return files
    .command(name)
    .description(description)
    .argument('[path]', 'a sandbox path', someValue)
    .option('--turn <id>', 'all of a turn', someId)
    .option('--session <id>', 'all of a session', someId)
    .option('--json', 'print one JSON document');
}
