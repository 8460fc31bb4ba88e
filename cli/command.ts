// What a command is made with: the context it works in, and the parts of its help.
import type { Command } from 'commander';

import type { Interrupts } from './interrupts.ts';
import type { Output } from './output.ts';

/** What every command gets. */
export interface CommandContext {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly output: Output;
  readonly interrupts: Interrupts;
  /**
   * Wraps a command's work for commander's `action`: what it resolves with is the exit code, nothing means 0.
   *
   * Contract: it raises `LongshoreError` for what a user can mend, and `Interrupted`.
   */
  readonly action: <Arguments extends unknown[]>(
    work: (...given: Arguments) => Promise<number | void>,
  ) => (...given: Arguments) => Promise<void>;
}

/** A command's way into the program. */
export type RegisterCommand = (program: Command, context: CommandContext) => void;

/** Adds examples to a command's help. */
export function addExamples(command: Command, examples: readonly string[]): Command {
  return command.addHelpText('after', `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`);
}
