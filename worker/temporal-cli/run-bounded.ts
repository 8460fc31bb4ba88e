// Runs a program to its end within a time limit and gives what it printed; its failure is an error with its last words.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const execFileAsync = promisify(execFile);

/** How to run it. */
export interface RunOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
  readonly cwd?: string;
}

/** Runs a program and resolves with its standard output. @throws an `Error` of one line: not found, failed, too slow. */
export async function runBounded(command: string, args: readonly string[], options: RunOptions): Promise<string> {
  try {
    const { stdout } = await execFileAsync(command, args, {
      env: options.env,
      timeout: options.timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 4 * 1024 * 1024,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    return stdout;
  } catch (thrown) {
    throw new Error(reasonOf(command, thrown as FailedRun, options.timeoutMs), { cause: thrown });
  }
}

/** What `execFile` rejects with. Source: Node's documentation of `child_process.execFile`. */
interface FailedRun {
  readonly code?: string | number;
  readonly killed?: boolean;
  readonly stderr?: string;
  readonly message: string;
}

function reasonOf(command: string, failure: FailedRun, timeoutMs: number): string {
  if (failure.code === 'ENOENT') return `${command} is not there`;
  if (failure.code === 'EACCES') return `${command} may not be run`;
  if (failure.killed === true) return `${command} did not end within ${timeoutMs / 1000} s`;
  const lastLine = (failure.stderr ?? '').trim().split('\n').at(-1) ?? '';
  return lastLine === '' ? `${command} failed: ${failure.message.split('\n')[0]}` : lastLine.slice(0, 300);
}
