// The systems of the comparison, each in a process of its own, with a Temporal server of its own where it needs one.
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunReply, RunRequest, SystemSetting } from './system-process.ts';

/** Names of the systems, in the order of the tables. */
export const SYSTEMS = ['longshore', 'bare', 'bare-naive', 'ai-sdk', 'deepagents'] as const;
export type SystemName = (typeof SYSTEMS)[number];

/** How a system is called in tables. */
export const SYSTEM_TITLES: Readonly<Record<SystemName, string>> = {
  longshore: 'Longshore',
  bare: 'bare Workflow, minimal',
  'bare-naive': 'bare Workflow, whole conversation',
  'ai-sdk': '`@temporalio/ai-sdk`',
  deepagents: '`deepagents`',
};

const PROGRAMS: Readonly<Record<SystemName, readonly string[]>> = {
  longshore: ['system-longshore.ts'],
  bare: ['system-bare.ts', 'minimal'],
  'bare-naive': ['system-bare.ts', 'naive'],
  'ai-sdk': ['competitors/system-ai-sdk.mjs'],
  deepagents: ['competitors/system-deepagents.mjs'],
};

/** Given on top of a run's own limit, to say what became of it; then the process is killed. */
const GRACE_MS = 60_000;
const START_LIMIT_MS = 120_000;

/** A system that takes runs. Its process is started by the first, and again after a crash. */
export class System {
  readonly name: SystemName;
  private readonly setting: SystemSetting;
  private child: ChildProcess | undefined;
  private errors = '';

  constructor(name: SystemName, setting: SystemSetting) {
    this.name = name;
    this.setting = setting;
  }

  /** Starts the process where none runs. */
  async start(): Promise<ChildProcess> {
    if (this.child) return this.child;
    const [program = '', ...rest] = PROGRAMS[this.name];
    const path = fileURLToPath(new URL(program, import.meta.url));
    const child = fork(path, [JSON.stringify(this.setting), ...rest], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    // One listener a run, and many runs at once.
    child.setMaxListeners(0);
    this.child = child;
    this.errors = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      this.errors = (this.errors + chunk.toString('utf8')).slice(-4_000);
    });
    child.once('exit', () => {
      this.child = undefined;
    });
    const ready = await nextMessage(child, (message) => message === 'ready', START_LIMIT_MS);
    if (ready === undefined) throw new Error(`${this.name} did not start: ${this.errors}`);
    return child;
  }

  /** Makes one run; several may go at once. A crash and a process that does not answer are outcomes. */
  async run(request: RunRequest): Promise<RunReply> {
    const child = await this.start();
    const reply = nextMessage(child, (message) => isReplyTo(message, request.id), request.limitMs + GRACE_MS);
    child.send(request);
    const outcome = await reply;
    // Proved by `isReplyTo`, as far as the runs can be told apart by it; the rest is what `serveRuns` sends.
    if (outcome !== undefined) return outcome as RunReply;
    const ended = child.exitCode !== null || child.signalCode !== null ? 'died' : 'timeout';
    const how = ended === 'died' ? this.obituary(child) : 'the process did not answer and was killed';
    child.kill('SIGKILL');
    return {
      id: request.id,
      ended,
      how,
      recordBytes: 0,
      events: 0,
      elsewhereBytes: 0,
      cpuMs: [0, 0],
      peakMemoryBytes: 0,
    };
  }

  /** Ends the process. */
  async close(): Promise<void> {
    const { child } = this;
    if (!child) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.disconnect();
    await gone;
  }

  private obituary(child: ChildProcess): string {
    const fatal = /FATAL ERROR.*/.exec(this.errors)?.[0] ?? this.errors.trim().split('\n').at(-1) ?? '';
    return `the process ended with ${child.signalCode ?? `code ${child.exitCode}`}: ${fatal.slice(0, 200)}`;
  }
}

/** A folder of a system's own under that of the comparison. */
export function folderOf(root: string, name: string): string {
  return join(root, name);
}

function isReplyTo(message: unknown, id: string): boolean {
  return typeof message === 'object' && message !== null && 'id' in message && message.id === id;
}

/** The next message that fits; undefined when the process ends or the time is over. */
function nextMessage(child: ChildProcess, fits: (message: unknown) => boolean, limitMs: number): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const onMessage = (message: unknown): void => {
    if (fits(message)) resolve(message);
  };
  const onExit = (): void => resolve(undefined);
  const timer = setTimeout(onExit, limitMs);
  child.on('message', onMessage);
  child.once('exit', onExit);
  return promise.finally(() => {
    clearTimeout(timer);
    child.off('message', onMessage);
    child.off('exit', onExit);
  });
}
