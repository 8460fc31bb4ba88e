// A project folder with a home, a scripted model and real MCP servers of its own, and the `longshore` command run on it as a
// user runs it: a process with arguments, standard streams, signals and an exit code.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, vi } from 'vitest';

import { startScriptedModel } from '../../testing/index.ts';
import type { ScriptedAnswer, ScriptedModelServer, ScriptedRequest } from '../../testing/scripted-model.ts';
import { stillRunning } from './main-job-process.ts';

/** The checkout's folder. */
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

const MCP = join(PROJECT, 'node_modules', '@modelcontextprotocol');
/** The official filesystem server's program. */
export const FILESYSTEM_SERVER = join(MCP, 'server-filesystem', 'dist', 'index.js');
/** The official example server's program. */
export const EVERYTHING_SERVER = join(MCP, 'server-everything', 'dist', 'index.js');

/** How one command is run. */
export interface CliCall {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Standard input, null for one that stays open. @default none */
  readonly input?: string | null;
}

/** A command that ran to its end. */
export interface CliEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Standard output as it came. */
  readonly bytes: Buffer;
}

/** A command under way. */
export interface CliRun {
  readonly child: ChildProcess;
  readonly ended: Promise<CliEnd>;
  /** Resolves with all output so far once it matches; rejects when the command ends first. */
  says(pattern: RegExp): Promise<string>;
}

/** What a message asks of the model of a world: `plan` writes it. */
export type PlannedAnswer = ScriptedAnswer | { readonly wait: true };

/** A project folder with all that belongs to it. */
export interface CliWorld {
  readonly folder: string;
  readonly home: string;
  readonly model: ScriptedModelServer;
  /** Lets every answer go that a plan holds back. */
  release(): void;
  /** Writes a file into the project folder; gives its path. */
  write(name: string, content: string | Buffer): Promise<string>;
  start(args: readonly string[], call?: CliCall): CliRun;
  longshore(args: readonly string[], call?: CliCall): Promise<CliEnd>;
  /** Runs with `--json`, expects exit code 0, and gives the document. */
  json<T>(...args: readonly string[]): Promise<T>;
  /** Starts `dev` or `worker`; resolves when it serves. */
  serve(args: readonly string[], call?: CliCall): Promise<CliRun>;
  /** Waits until no process names the home or the folder. */
  expectNothingRunning(): Promise<void>;
  /** Ends the model and removes the folder. */
  close(): Promise<void>;
}

/** A message that scripts the answers of its turn, one a step. Any other message is echoed. */
export function plan(...answers: readonly PlannedAnswer[]): string {
  return JSON.stringify(answers);
}

/** Opens a world: `agent.yaml`, `mcp.json` with the servers `fs` (on the folder `data`) and `every`. */
export async function openWorld(): Promise<CliWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-cli-'));
  const home = join(folder, 'home');
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const model = await startScriptedModel((request) => answerOf(request, released));
  const write = async (name: string, content: string | Buffer): Promise<string> => {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    return path;
  };
  await mkdir(join(folder, 'data'));
  await write('agent.yaml', AGENT);
  await write('mcp.json', JSON.stringify({ mcpServers: serversOf(folder) }));
  const start = (args: readonly string[], call: CliCall = {}): CliRun =>
    startProcess([join(PROJECT, 'cli', 'main.ts'), ...args], {
      ...call,
      cwd: call.cwd ?? folder,
      env: { LONGSHORE_HOME: home, OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'none', ...call.env },
    });
  const longshore = async (args: readonly string[], call?: CliCall): Promise<CliEnd> => start(args, call).ended;
  return {
    folder,
    home,
    model,
    release,
    write,
    start,
    longshore,
    async json<T>(...args: readonly string[]): Promise<T> {
      const end = await longshore([...args, '--json']);
      expectDone(end);
      // The form is what the test looks at.
      return JSON.parse(end.stdout) as T;
    },
    async serve(args, call) {
      const run = start(args, call);
      await run.says(/Worker ready/);
      return run;
    },
    async expectNothingRunning() {
      const look = async (): Promise<void> => expect(await stillRunning([], folder)).toEqual([]);
      await vi.waitFor(look, { timeout: 20_000, interval: 100 });
    },
    async close() {
      release();
      await model.close();
      await rm(folder, { recursive: true, force: true, maxRetries: 40, retryDelay: 250 });
    },
  };
}

/** Starts Node on a program, with this process's environment less its settings of Temporal, Longshore, model and colours. */
export function startProcess(
  args: readonly string[],
  { cwd, env = {}, input }: CliCall & { readonly cwd: string },
  command: string = process.execPath,
): CliRun {
  const child = spawn(command, args, { cwd, env: { ...plainEnv(), ...env }, stdio: 'pipe' });
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => void out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => void err.push(chunk));
  // A command that ends without reading closes the pipe.
  child.stdin.on('error', () => {});
  if (input !== null) child.stdin.end(input ?? '');
  const text = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString('utf8');
  const ended = new Promise<CliEnd>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      resolve({ code, stdout: text(out), stderr: text(err), bytes: Buffer.concat(out) });
    });
  });
  const says = async (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const all = text([...out, ...err]);
        if (pattern.test(all)) resolve(all);
      };
      child.stdout.on('data', look);
      child.stderr.on('data', look);
      child.once('close', () => reject(new Error(`ended without saying ${pattern}: ${text(out)}${text(err)}`)));
      look();
    });
  return { child, ended, says };
}

/** Ends a command as Ctrl-C does. */
export async function interrupt(run: CliRun): Promise<CliEnd> {
  run.child.kill('SIGINT');
  return run.ended;
}

/** Expects exit code 0; else fails with what the command said. */
export function expectDone({ code, stdout, stderr }: CliEnd): void {
  if (code !== 0) throw new Error(`exit code ${code}:\n${stdout}\n${stderr}`);
}

/** Expects the one form of all errors on standard error: `error: TYPE: message` on one line, then a mend, and no stack. */
export function expectError(end: CliEnd, type: string, code: number, message: RegExp): void {
  const lines = end.stderr.trimEnd().split('\n');
  const errors = lines.filter((line) => line.startsWith('error:'));
  if (errors.length !== 1) throw new Error(`not one error line but ${errors.length}:\n${end.stdout}\n${end.stderr}`);
  expect(errors[0]).toMatch(new RegExp(`^error: ${type}: `));
  expect(errors[0]).toMatch(message);
  // The mend follows.
  expect(lines.indexOf(errors[0] ?? '')).toBeLessThan(lines.length - 1);
  expect(end.stderr).not.toMatch(/^\s+at /m);
  expect(end.code).toBe(code);
}

const AGENT = `name: tester
model: {name: openai/scripted}
instructions: Do what the message says.
mcp_servers:
  - {name: fs, preload: true, enable_tools: ["@read-only"]}
  - {name: every, preload: true, enable_tools: [trigger-long-running-operation, get-tiny-image, echo]}
`;

function serversOf(folder: string): object {
  return {
    fs: { command: process.execPath, args: [FILESYSTEM_SERVER, join(folder, 'data')] },
    // The folder is not looked at: it makes the process findable.
    every: { command: process.execPath, args: [EVERYTHING_SERVER, 'stdio', folder] },
  };
}

async function answerOf({ messages }: ScriptedRequest, released: Promise<void>): Promise<ScriptedAnswer> {
  // An image of a tool's result follows as a message of the user's: it asks nothing.
  const asked = messages.findLastIndex(({ role, content }) => role === 'user' && !hasImage(content));
  const text = textOf(messages[asked]?.content);
  if (!text.startsWith('[')) return { text: `You said: ${text}` };
  const step = messages.slice(asked).filter(({ role }) => role === 'assistant').length;
  // `plan` wrote it.
  const answer = (JSON.parse(text) as readonly PlannedAnswer[])[step];
  if (answer === undefined) throw new Error(`The plan has no step ${step}: ${text}`);
  if (!('wait' in answer)) return answer;
  await released;
  return { text: 'Released.' };
}

function hasImage(content: unknown): boolean {
  return Array.isArray(content) && JSON.stringify(content).includes('"image_url"');
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? (content as readonly { readonly text?: string }[]) : [];
  return parts.map((part) => part.text ?? '').join('');
}

function plainEnv(): NodeJS.ProcessEnv {
  const strange =
    /^(TEMPORAL_|OPENAI_|LONGSHORE_(?!TEMPORAL_CLI|CACHE)|NO_COLOR$|FORCE_COLOR$|CI$|NODE_OPTIONS$|VITEST)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !strange.test(name)));
}
