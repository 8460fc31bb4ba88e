// `longshore sweep` and `longshore setup`: retention at once, and what a Temporal server needs for it to run by itself.
import type { Command } from 'commander';

import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { someId, someValue } from '../option-values.ts';

/** Adds `sweep [--dry-run]`. */
export function registerSweep(program: Command, context: CommandContext): void {
  const sweep = program
    .command('sweep')
    .description('delete now what is past its retention and referred to by nothing; the Schedule does it every hour')
    .option('--dry-run', 'change nothing, say what would go')
    .option('--mcp <file>', 'MCP servers of the Worker; by default mcp.json here, else temporal.config', someValue)
    .option('--task-queue <name>', 'the Task Queue (default: "longshore")', someId)
    .option('--json', 'print one JSON document')
    .action(
      context.action(
        async (options: { readonly dryRun?: true; readonly mcp?: string; readonly taskQueue?: string }) => {
          const { sweepNow } = await import('../sweep-now.ts');
          return sweepNow(options, context);
        },
      ),
    );
  addExamples(sweep, ['longshore sweep --dry-run', 'longshore sweep --json']);
}

/** Adds `setup`. */
export function registerSetup(program: Command, context: CommandContext): void {
  const setup = program
    .command('setup')
    .description('register Search Attributes and the retention Schedule on the Temporal server; may be run again')
    .option('--task-queue <name>', 'the Task Queue that sweeps run on (default: "longshore")', someId)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (options: { readonly taskQueue?: string }) => {
        const { setUp } = await import('../sweep-now.ts');
        return setUp(options, context);
      }),
    );
  addExamples(setup, ['TEMPORAL_ADDRESS=temporal.example:7233 longshore setup']);
}
