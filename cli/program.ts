// The command line's frame: which commands there are, what they get to work with, and how they end. Each command is a
// file in `commands/` that registers itself.
import { readFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';

import { Command, CommanderError } from 'commander';

import type { CommandContext, RegisterCommand } from './command.ts';
import { addExamples } from './command.ts';
import { registerApprovals } from './commands/approvals.ts';
import { registerCatalog } from './commands/catalog.ts';
import { registerDev } from './commands/dev.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerFiles } from './commands/files.ts';
import { registerRun } from './commands/run.ts';
import { registerSpec } from './commands/spec.ts';
import { registerSetup, registerSweep } from './commands/sweep.ts';
import { registerTurns } from './commands/turns.ts';
import { registerWorker } from './commands/worker.ts';
import { errorLines, outputFailed, tellFailure } from './failure.ts';
import { ERROR_KINDS } from '../shared/errors.ts';
import { EXIT_INTERRUPTED, type Interrupts, listenForInterrupts } from './interrupts.ts';
import { requireNode } from './node-version.ts';
import type { OutputStream } from './output.ts';
import { createOutput } from './output.ts';

/** What surrounds the command: streams, environment, folder. */
export interface CliIo {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

/** Every command, in the order of `--help`. */
export const COMMANDS: readonly RegisterCommand[] = [
  registerRun,
  registerDev,
  registerWorker,
  registerSpec,
  registerTurns,
  registerApprovals,
  registerFiles,
  registerCatalog,
  registerSweep,
  registerSetup,
  registerDoctor,
];

/** Runs one command line (without `node` and the script) and gives the exit code. Never rejects. */
export async function runCli(argv: readonly string[], io: CliIo): Promise<number> {
  const options = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length);
  const output = createOutput(io.stdout, io.stderr, options.includes('--json'));
  const interrupts = listenForInterrupts();
  endWithoutOutput(io, interrupts);
  let exitCode = 0;
  try {
    const program = createProgram(io, {
      env: io.env,
      cwd: io.cwd,
      output,
      interrupts,
      action:
        (work) =>
        async (...given) => {
          // `doctor` tells of it among the rest.
          if (argv[0] !== 'doctor') requireNode();
          exitCode = (await work(...given)) ?? 0;
        },
    });
    await program.parseAsync([...argv], { from: 'user' });
    output.endLive();
    return exitCode;
  } catch (thrown) {
    return tellFailure(thrown, output, options.includes('--debug'));
  } finally {
    interrupts.stop();
    await drained(io.stdout);
  }
}

/** The whole program, every command registered. */
export function createProgram(io: CliIo, context: CommandContext): Command {
  const program = new Command('longshore')
    .description('Durable agent runs on Temporal.')
    .version(packageVersion())
    .option('--debug', 'show stacks of errors')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void io.stdout.write(text),
      writeErr: (text) => void io.stderr.write(text),
      // Told by `tellFailure`, in the one form of all errors.
      outputError: () => {},
    })
    .showSuggestionAfterError();
  addExamples(program, ['longshore run agent.yaml --message "What changed last week?"', 'longshore doctor']);
  for (const register of COMMANDS) register(program, context);
  return program;
}

/**
 * A closed pipe (`longshore … | head -1`) is no error worth a word: it interrupts once, as Ctrl-C does, so that a `run` cancels
 * its turn. All else that keeps output from its place (a full disk) is one error. Nothing can be told of a standard error
 * that fails.
 */
function endWithoutOutput(io: CliIo, interrupts: Interrupts): void {
  let isClosed = false;
  io.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isClosed) return;
    if (error.code === 'EPIPE') {
      isClosed = true;
      interrupts.raise();
      return;
    }
    const failure = outputFailed('standard output', error);
    io.stderr.write(`${errorLines(failure).join('\n')}\n`);
    process.exit(failure.exitCode);
  });
  io.stderr.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? EXIT_INTERRUPTED : ERROR_KINDS.OutputFailed.exitCode);
  });
}

/** Waits until a pipe has taken what was written: `process.exit` would cut it off. */
async function drained(stream: OutputStream): Promise<void> {
  // A write that failed is told in the next tick, by `error`.
  await setImmediate();
  if (!stream.writable || stream.destroyed) return;
  await new Promise<void>((resolve) => {
    stream.write('', () => resolve());
  });
}

function packageVersion(): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      // Our own package's description, beside the sources or above `dist/`; it always has a version.
      const text = readFileSync(new URL(path, import.meta.url), 'utf8');
      return (JSON.parse(text) as { readonly version: string }).version;
    } catch {
      // Not at this place: the next one.
    }
  }
  throw new CommanderError(1, 'longshore.package', 'package.json of longshore is not there');
}
