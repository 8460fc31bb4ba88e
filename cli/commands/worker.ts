// `longshore worker`: a Worker alone, against the server that the environment names, else the embedded one.
import type { Command } from 'commander';

import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { someId, someValue } from '../option-values.ts';

/** Adds `worker [--mcp FILE] [--task-queue NAME]`. */
export function registerWorker(program: Command, context: CommandContext): void {
  const worker = program
    .command('worker')
    .description(
      'run a Worker on the Temporal server that the environment names, else on the embedded one, until Ctrl-C',
    )
    .option('--mcp <file>', 'MCP servers; by default mcp.json here, else temporal.config', someValue)
    .option('--task-queue <name>', 'the Task Queue to poll (default: "longshore")', someId)
    .action(
      context.action(async (options: { readonly mcp?: string; readonly taskQueue?: string }) => {
        // Loaded when needed: the Temporal SDK takes half a second that `--help` must not pay.
        const { serve } = await import('../serve.ts');
        return serve({ ...options, kind: 'worker' }, context);
      }),
    );
  addExamples(worker, ['TEMPORAL_ADDRESS=temporal.example:7233 longshore worker --mcp servers.json']);
}
