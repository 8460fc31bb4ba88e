// The processes of the trials: Workers that are killed, and the one that takes over.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PLAN_VARIABLE, type WorkerPlan } from './plan.ts';

/** A process under way. */
export interface TrialProcess {
  readonly pid: number;
  /** The end, and when by `performance.now()`. */
  readonly ended: Promise<{ readonly signal: string | null; readonly atMs: number }>;
  /** What it wrote to standard error. */
  readonly stderr: () => string;
  /** Waits for a line on standard output; rejects when the process ends before. Lines of earlier count. */
  says(line: string): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/** The process that takes over. */
export interface Rescuer {
  readonly process: TrialProcess;
  /** Has it poll on the plan's Task Queue. */
  takeOver(plan: WorkerPlan): void;
  /** Stops the Worker of a Task Queue, if there is one, in good order. */
  stop(taskQueue: string): Promise<void>;
  /** Ends the process in good order. */
  end(): Promise<void>;
}

/** Starts a Worker on a plan. */
export function startWorkerProcess(plan: WorkerPlan): TrialProcess {
  return watch(start('worker.ts', { [PLAN_VARIABLE]: JSON.stringify({ ...plan }) }));
}

/** Starts the process that takes over, and waits until it is ready. */
export async function startRescuer(): Promise<Rescuer> {
  const child = start('rescuer.ts', {});
  const process_ = watch(child);
  await process_.says('ready');
  return {
    process: process_,
    takeOver: (plan) => void child.stdin.write(`${JSON.stringify({ ...plan, boundary: null })}\n`),
    async stop(taskQueue) {
      child.stdin.write(`${taskQueue}\n`);
      await process_.says(`stopped ${taskQueue}`);
    },
    async end() {
      child.stdin.end();
      await process_.ended;
    },
  };
}

function start(program: string, env: Readonly<Record<string, string>>): ChildProcessWithoutNullStreams {
  // Compiled code is kept between the processes: a start takes half the time.
  const cache = { NODE_COMPILE_CACHE: join(tmpdir(), 'longshore-crash-compiled') };
  return spawn(process.execPath, [fileURLToPath(new URL(program, import.meta.url))], {
    env: { ...process.env, ...cache, ...env },
    stdio: 'pipe',
  });
}

function watch(child: ChildProcessWithoutNullStreams): TrialProcess {
  const texts = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  child.stderr.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString()));
  child.stdout.on('data', (chunk: Buffer) => {
    texts.stdout += chunk.toString();
    for (const look of waiting) look();
  });
  // A write to a process that was killed: its end is told by `ended`.
  child.stdin.on('error', () => {});
  const ended: TrialProcess['ended'] = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (_code, signal) => resolve({ signal, atMs: performance.now() }));
  });
  const says = (line: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!texts.stdout.includes(`${line}\n`)) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
      void ended.then(() => reject(new Error(`the process ended without saying ${line}: ${texts.stderr}`)));
    });
  return { pid: child.pid ?? -1, ended, stderr: () => texts.stderr, says, kill: (signal) => void child.kill(signal) };
}
