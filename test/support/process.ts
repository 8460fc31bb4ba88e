// Real processes for tests of the embedded server and of the command line: started on the sources, watched, never left.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import type { Attachment, AttachmentKind } from '../../worker/dev-server.ts';

/** What a finished process left. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How to run the command line. */
export interface CliOptions {
  readonly cwd: string;
  readonly env?: { readonly [name: string]: string };
}

/** What a holder prints once it is attached. */
export interface Held {
  readonly pid: number;
  readonly address: string;
  readonly uiUrl: string;
  readonly others: readonly Attachment[];
}

const CLI = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
const HOLDER = fileURLToPath(new URL('./hold-server.ts', import.meta.url));

/** Starts `longshore`; the environment is the test's own, without settings of Temporal, Longshore and the model. */
export function startCli(args: readonly string[], { cwd, env = {} }: CliOptions): ChildProcess {
  return spawn(process.execPath, [CLI, ...args], { cwd, env: { ...plainEnv(), ...env }, stdio: 'pipe' });
}

/** Runs `longshore` to its end. */
export async function runCli(args: readonly string[], options: CliOptions): Promise<Finished> {
  return finish(startCli(args, options));
}

/** The end of a process, with all that it printed. */
export async function finish(child: ChildProcess): Promise<Finished> {
  const texts = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => (texts.stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (texts.stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...texts }));
  });
}

/** A process that attaches to a home's embedded server and holds on until told to release, or killed. */
export class Holder {
  readonly #child: ChildProcess;
  readonly #finished: Promise<Finished>;
  readonly held: Promise<Held>;

  constructor(home: string, kind: AttachmentKind = 'run', env: { readonly [name: string]: string } = {}) {
    const child = spawn(process.execPath, [HOLDER, kind], {
      env: { ...plainEnv(), ...env, LONGSHORE_HOME: home },
      stdio: 'pipe',
    });
    this.#child = child;
    this.#finished = finish(child);
    this.held = new Promise((resolve, reject) => {
      let text = '';
      child.stdout.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        // The holder prints one line of this form.
        if (text.includes('\n')) resolve(JSON.parse(text.slice(0, text.indexOf('\n'))) as Held);
      });
      void this.#finished.then(({ stderr }) => reject(new Error(`the holder ended: ${stderr}`)));
    });
    // Whoever awaits `held` gets the failure; one that is only killed has none to tell.
    this.held.catch(() => {});
  }

  /** Ends the process as `kill -9` does. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#finished;
  }

  /** Releases the lease; resolves with what was printed when the process has ended. */
  async release(): Promise<Finished> {
    this.#child.stdin?.end();
    return this.#finished;
  }

  /** The end of the process, which comes by itself when the server is lost. */
  async ended(): Promise<Finished> {
    return this.#finished;
  }
}

/** A new empty folder, removed by the function that comes with it. */
export async function temporaryFolder(): Promise<{ readonly path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'longshore-test-'));
  return {
    path,
    remove: async () => rm(path, { recursive: true, force: true, maxRetries: 40, retryDelay: 100 }),
  };
}

/** Waits until something holds, looking every 30 ms. @throws after the deadline. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  timeoutMs: number = 20_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await delay(30);
  }
}

/** Whether a process with this id runs; one that has ended and waits to be collected does not. */
export function isRunning(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)])
      .toString()
      .trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    // `ps` fails when there is no such process.
    return false;
  }
}

function plainEnv(): NodeJS.ProcessEnv {
  const strange = /^(TEMPORAL_|OPENAI_|LONGSHORE_(?!TEMPORAL_CLI|CACHE)|NO_COLOR|FORCE_COLOR)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !strange.test(name)));
}
