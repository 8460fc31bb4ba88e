// `longshore doctor`: what is there and what is missing, each with its mend.
import type { Command } from 'commander';

import type { Check } from '../doctor/check.ts';
import type { Output, Style } from '../output.ts';
import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { someValue } from '../option-values.ts';

const STYLES: { readonly [status in Check['status']]: Style } = { ok: 'green', missing: 'red', note: 'yellow' };
const EXIT_MISSING = 1;

/** Adds `doctor [--mcp FILE] [--json]`. */
export function registerDoctor(program: Command, context: CommandContext): void {
  const doctor = program
    .command('doctor')
    .description('check what is there and what is missing: Node, Temporal, files, model, MCP servers')
    .option('--mcp <file>', 'MCP servers; by default mcp.json here, else temporal.config', someValue)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (options: { readonly mcp?: string }) => {
        // Loaded when needed: the Temporal SDK takes half a second that `--help` must not pay.
        const { runChecks } = await import('../doctor/run-checks.ts');
        const checks = await runChecks(options.mcp, context);
        const isWell = checks.every(({ status }) => status !== 'missing');
        if (context.output.isJson) context.output.json({ ok: isWell, checks });
        else print(checks, isWell, context.output);
        return isWell ? 0 : EXIT_MISSING;
      }),
    );
  addExamples(doctor, ['longshore doctor', 'longshore doctor --mcp servers.json --json']);
}

function print(checks: readonly Check[], isWell: boolean, output: Output): void {
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, status, detail, mend } of checks) {
    const label = output.paint(STYLES[status], status.padEnd(7));
    output.line(`${label}  ${name.padEnd(width)}  ${detail}`);
    if (mend !== null) output.line(`${' '.repeat(width + 11)}${output.paint('dim', mend)}`);
  }
  output.line(isWell ? 'All that is needed is there.' : 'Something that is needed is missing.');
}
