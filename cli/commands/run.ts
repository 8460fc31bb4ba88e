// `longshore run SPEC`: one turn, to its end.
import type { Command } from 'commander';

import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { someId, someValue } from '../option-values.ts';
import type { RunOptions } from '../run-turn.ts';

/** Adds `run SPEC …`. */
export function registerRun(program: Command, context: CommandContext): void {
  const run = program
    .command('run')
    .description('run one turn of an agent to its end, bringing up server and Worker where none run')
    .argument('<spec>', 'the agent spec, a JSON or YAML file', someValue)
    .option('--message <text>', 'what to say to the agent')
    .option('--message-file <file>', 'the same from a file, or from standard input with -', someValue)
    .option('--mcp <file>', 'MCP servers; by default mcp.json beside the spec or here, else temporal.config', someValue)
    .option('--continue <id>', 'go on from an earlier turn: same transcript, same files', someId)
    .option('--session <id>', 'the session to label the turn with', someId)
    .option('--task-queue <name>', 'the Task Queue; by default taskQueue of temporal.config, else longshore', someId)
    .option('--detach', 'print the id and return; needs a Worker that stays (longshore dev or worker)')
    .option('--no-worker', 'bring up no Worker')
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (file: string, options: RunOptions) => {
        // Loaded when needed: the Temporal SDK takes half a second that `--help` must not pay.
        const { runTurn } = await import('../run-turn.ts');
        return runTurn(file, options, context);
      }),
    );
  addExamples(run, [
    'longshore run agent.yaml --message "What changed last week?"',
    'longshore run agent.yaml --continue turn-1b2c --message "And before?" --json',
  ]);
}
