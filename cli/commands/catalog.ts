// `longshore catalog show | diff | lint | advise`: what tool servers offer, how it changed, what is wrong with it, and how
// much of it an agent should be shown.
import type { Command } from 'commander';

import type { AdviseOptions } from '../catalog/advise.ts';
import type { ShowOptions } from '../catalog/show.ts';
import type { CatalogOptions } from '../catalog/versions.ts';
import type { CommandContext } from '../command.ts';
import { addExamples } from '../command.ts';
import { someCount, someId, someValue } from '../option-values.ts';

/** @default of `--turns` */
const MOST_TURNS = 100;

/** Adds the commands. */
export function registerCatalog(program: Command, context: CommandContext): void {
  const catalog = program
    .command('catalog')
    .description('what tool servers offer: see it, compare it, check it, and set what of it is preloaded');
  addExamples(catalog, ['longshore catalog show', 'longshore catalog advise']);
  addShow(catalog, context);
  addDiff(catalog, context);
  addLint(catalog, context);
  addAdvise(catalog, context);
}

function addShow(catalog: Command, context: CommandContext): void {
  const show = catalog
    .command('show')
    .description('the recorded catalogs of all servers with their versions, or the tools of one')
    .argument('[server]', 'its name', someValue)
    .option('--at <hash>', 'an older version, by the beginning of its hash', someValue)
    .option('--tool <name>', 'one tool of the server', someValue)
    .option('--schemas', 'with the schemas of arguments and results')
    .option('--refresh', 'ask the configured servers now, and record what they offer')
    .option('--mcp <file>', 'MCP servers; by default mcp.json here, else temporal.config', someValue)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (server: string | undefined, options: ShowOptions) => {
        // Loaded when needed: the Temporal SDK takes half a second that `--help` must not pay.
        const { showCatalog } = await import('../catalog/show.ts');
        return showCatalog(server, options, context);
      }),
    );
  addExamples(show, ['longshore catalog show --refresh', 'longshore catalog show fs --tool read_text_file --schemas']);
}

function addDiff(catalog: Command, context: CommandContext): void {
  const diff = catalog
    .command('diff')
    .description('what changed between two recorded versions of a server, or between what two turns saw of it')
    .argument('<server>', 'its name', someValue)
    .argument('[from]', "a version's hash or a turn's id (default: the version before the newest)", someId)
    .argument('[to]', "a version's hash or a turn's id (default: the newest version)", someId)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (server: string, from: string | undefined, to: string | undefined) => {
        const { diffCatalog } = await import('../catalog/diff.ts');
        const sides = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
        return diffCatalog(server, sides, context);
      }),
    );
  addExamples(diff, ['longshore catalog diff fs', 'longshore catalog diff fs turn-1b2c turn-3d4e --json']);
}

function addLint(catalog: Command, context: CommandContext): void {
  const lint = catalog
    .command('lint')
    .description('what a model cannot tell apart or what is needlessly dear; exit code 1 with findings')
    .argument('[server]', 'its name; by default all that are recorded', someValue)
    .option('--refresh', 'ask the configured servers now, and record what they offer')
    .option('--mcp <file>', 'MCP servers; by default mcp.json here, else temporal.config', someValue)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async (server: string | undefined, options: CatalogOptions) => {
        const { lintCatalogs } = await import('../catalog/lint.ts');
        return lintCatalogs(server, options, context);
      }),
    );
  addExamples(lint, ['longshore catalog lint', 'longshore catalog lint fs --refresh']);
}

function addAdvise(catalog: Command, context: CommandContext): void {
  const advise = catalog
    .command('advise')
    .description('how each server is best set, by what recorded turns would have cost: preloaded, in part, or deferred')
    .option('--turns <n>', `the newest turns, at most so many (default: ${MOST_TURNS})`, someCount)
    .option('--server <name>', 'this server alone', someValue)
    .option('--plot <file>', 'draw it too: a .svg or .html file', someValue)
    .option('--json', 'print one JSON document')
    .action(
      context.action(async ({ turns = MOST_TURNS, ...options }: Partial<AdviseOptions>) => {
        const { adviseCatalog } = await import('../catalog/advise.ts');
        return adviseCatalog({ ...options, turns }, context);
      }),
    );
  addExamples(advise, ['longshore catalog advise', 'longshore catalog advise --server slack --plot advice.svg']);
}
