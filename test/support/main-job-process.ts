// Runs the example of the main job, and commands on what it left, as real processes in a home of their own.
import { spawn, type ChildProcess } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The checkout's folder. */
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** A process that ran to its end. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A process under way. */
export interface Running {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  /** Resolves once standard output and standard error together hold the text; rejects when the process ends first. */
  readonly says: (text: string) => Promise<void>;
}

/** What to start. */
export interface Script {
  /** The LONGSHORE_HOME. */
  readonly home: string;
  /** From the project's folder. */
  readonly path: string;
  readonly args?: readonly string[];
  /** On top of this process's environment, without its settings of model, Temporal and colours. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts Node on a script of the project; Temporal is the embedded one. */
export function startScript({ home, path, args = [], env: extra = {} }: Script): Running {
  const strange = /^(TEMPORAL_|LONGSHORE_EXAMPLE_|OPENAI_|FORCE_COLOR$|NO_COLOR$)/;
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !strange.test(name)));
  const child = spawn(process.execPath, [path, ...args], {
    cwd: PROJECT,
    env: { ...env, ...extra, LONGSHORE_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => void out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => void err.push(chunk));
  const finished = new Promise<Finished>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, stdout: Buffer.concat(out), stderr: Buffer.concat(err).toString('utf8') });
    });
  });
  const says = async (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (Buffer.concat([...out, ...err]).includes(text)) resolve();
      };
      child.stdout.on('data', look);
      child.stderr.on('data', look);
      child.once('close', () =>
        reject(new Error(`the process ended without saying ${text}: ${Buffer.concat(err).toString('utf8')}`)),
      );
      look();
    });
  return { child, finished, says };
}

/** Runs `longshore` to its end. */
export async function longshore(home: string, ...args: readonly string[]): Promise<Finished> {
  return startScript({ home, path: 'cli/main.ts', args }).finished;
}

/** Processes below this one, by their parents. Linux only: elsewhere none are found. */
export async function descendantsOf(pid: number): Promise<readonly number[]> {
  const parents = new Map<number, number>();
  for (const other of await processIds()) {
    // `pid (name) state ppid …`; the name may hold anything.
    const fields = (await readProc(other, 'stat')).replace(/^.*\) /s, '').split(' ');
    parents.set(other, Number(fields[1]));
  }
  const found = new Set([pid]);
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const [other, parent] of parents) if (found.has(parent)) found.add(other);
  }
  return [...found].filter((other) => other !== pid);
}

/** What still runs of the given processes, or has the text in its arguments or environment; a line each. */
export async function stillRunning(pids: readonly number[], text: string): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const pid of await processIds()) {
    const command = (await readProc(pid, 'cmdline')).replaceAll('\0', ' ');
    const isOne = pids.includes(pid) || command.includes(text) || (await readProc(pid, 'environ')).includes(text);
    // A process that has ended and waits to be collected has no command line.
    if (isOne && command !== '') lines.push(`${pid} ${command}`);
  }
  return lines;
}

async function processIds(): Promise<readonly number[]> {
  if (process.platform !== 'linux') return [];
  return (await readdir('/proc')).map(Number).filter((pid) => Number.isInteger(pid) && pid !== process.pid);
}

/** Empty where the process has gone, or is another user's. */
async function readProc(pid: number, file: string): Promise<string> {
  return readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
}
