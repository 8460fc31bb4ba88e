// `longshore dev`: the embedded server and a Worker in the foreground.
import type { Command } from 'commander';

import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { someId, someValue } from '../option-values.ts';

/** Adds `dev [--mcp FILE] [--task-queue NAME]`. */
export function registerDev(program: Command, context: CommandContext): void {
  const dev = program
    .command('dev')
    .description('run the embedded Temporal server and a Worker until Ctrl-C')
    .option('--mcp <file>', 'MCP servers; by default mcp.json here, else temporal.config', someValue)
    .option('--task-queue <name>', 'the Task Queue to poll (default: "longshore")', someId)
    .action(
      context.action(async (options: { readonly mcp?: string; readonly taskQueue?: string }) => {
        // Loaded when needed: the Temporal SDK takes half a second that `--help` must not pay.
        const { serve } = await import('../serve.ts');
        return serve({ ...options, kind: 'dev' }, context);
      }),
    );
  addExamples(dev, ['longshore dev', 'longshore dev --mcp servers.json']);
}
