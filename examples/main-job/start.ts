// `npm start`: the main job from end to end. Starts the scripted model unless a real one is asked for, and runs the agent
// with the command line, which brings up Temporal and a Worker by itself. The write of the report is asked about in the terminal;
// without one, a second process decides. Further arguments go to `longshore run`.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseDocument } from 'yaml';
import { startExampleModel } from './model.ts';
import { decideWhatWaits } from './waiting.ts';

/** The one setting that puts a real model in the scripted one's place. */
const MODEL_SETTING = 'LONGSHORE_EXAMPLE_MODEL';

const EXIT_FAILED = 1;
const EXIT_INTERRUPTED = 130;

/** One Ctrl-C may arrive several times: from the terminal, and from npm, which passes on what it gets itself. */
const SAME_SIGNAL_MS = 500;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

const args = process.argv.slice(2);
const isJson = args.includes('--json');
const realModel = process.env[MODEL_SETTING]?.trim() ?? '';
process.exitCode = realModel === '' ? await runScripted() : await runReal(realModel);

async function runScripted(): Promise<number> {
  say(
    'The model of this run is a scripted one: a small program, served over HTTP in the OpenAI form. It reads the results it\n' +
      'gets, but it can do this one job only. For a real model in its place set one variable, and what its provider needs:\n' +
      `  ${MODEL_SETTING}=openai/gpt-5-mini OPENAI_API_KEY=… npm start\n`,
  );
  const stop = new AbortController();
  const model = await startExampleModel((error) => {
    process.stderr.write(`error: the scripted model cannot go on: ${error.message}\n`);
    stop.abort();
  });
  try {
    // A key that the user has set is not for this server.
    const { OPENAI_API_KEY: _, ...env } = process.env;
    const code = await runAgent(here('agent.yaml'), { ...env, OPENAI_BASE_URL: model.baseUrl }, stop.signal);
    return stop.signal.aborted ? EXIT_FAILED : code;
  } finally {
    await model.close();
  }
}

async function runReal(name: string): Promise<number> {
  say(`The model of this run is ${name}, as ${MODEL_SETTING} says.\n`);
  const spec = parseDocument(await readFile(here('agent.yaml'), 'utf8'));
  spec.setIn(['model', 'name'], name);
  const folder = await mkdtemp(join(tmpdir(), 'longshore-example-'));
  try {
    const path = join(folder, 'agent.yaml');
    await writeFile(path, spec.toString());
    return await runAgent(path, process.env);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs `longshore run` to its end and gives its exit code; signals go to it, each once. */
async function runAgent(spec: string, env: NodeJS.ProcessEnv, stop?: AbortSignal): Promise<number> {
  const { mcp, reports } = await prepareReports();
  const command = [here('../../cli/main.ts'), 'run', spec, '--mcp', mcp, ...args];
  const screen = isJson ? process.stderr : process.stdout;
  // Nobody sits at a terminal without a size, as `script` and CI runners make them.
  const hasTerminal = process.stdin.isTTY && screen.isTTY && screen.columns > 0;
  // A process group of its own, or the terminal's Ctrl-C would reach it beside the one that is passed on, and a second
  // one means to leave the turn running.
  const detached = process.platform !== 'win32';
  const stream = hasTerminal ? 'inherit' : 'pipe';
  const child = spawn(process.execPath, command, { stdio: ['inherit', stream, stream], env, detached });
  let hasEnded = false;
  let isUndecided = false;
  const onFailure = (): void => {
    // Of a turn that ended meanwhile there is nothing to decide.
    if (hasEnded) return;
    isUndecided = true;
    child.kill('SIGINT');
  };
  if (!hasTerminal) decideWhatWaits(child, { reports, env, printTo: isJson ? 2 : 1, onFailure });
  const release = passSignalsTo(child);
  stop?.addEventListener('abort', () => child.kill('SIGINT'), { once: true });
  try {
    return await new Promise<number>((settle, reject) => {
      child.once('error', reject);
      child.once('exit', () => (hasEnded = true));
      child.once('close', (code, signal) => {
        if (isUndecided) settle(EXIT_FAILED);
        else settle(code ?? (signal === 'SIGINT' ? EXIT_INTERRUPTED : EXIT_FAILED));
      });
    });
  } finally {
    release();
  }
}

/** A scratch folder for reports below the home, and the servers of mcp.json with that folder allowed too. */
async function prepareReports(): Promise<{ readonly mcp: string; readonly reports: string }> {
  const folder = resolve(process.env['LONGSHORE_HOME'] || '.longshore', 'main-job');
  const reports = join(folder, 'reports');
  await mkdir(reports, { recursive: true, mode: 0o700 });
  const { mcpServers } = JSON.parse(await readFile(here('mcp.json'), 'utf8')) as McpFile;
  const { fs } = mcpServers;
  const withReports = { ...fs, cwd: resolve(here('.'), fs.cwd), args: [...fs.args, reports] };
  const mcp = join(folder, 'mcp.json');
  await writeFile(mcp, `${JSON.stringify({ mcpServers: { fs: withReports } }, null, 2)}\n`);
  return { mcp, reports };
}

/** What mcp.json beside this file holds. */
interface McpFile {
  readonly mcpServers: { readonly fs: { readonly args: readonly string[]; readonly cwd: string } };
}

function passSignalsTo(child: ChildProcess): () => void {
  let last = Number.NEGATIVE_INFINITY;
  const pass = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (now - last > SAME_SIGNAL_MS) child.kill(signal);
    last = now;
  };
  const resize = (): void => void child.kill('SIGWINCH');
  for (const signal of SIGNALS) process.on(signal, pass);
  process.on('SIGWINCH', resize);
  return () => {
    for (const signal of SIGNALS) process.off(signal, pass);
    process.off('SIGWINCH', resize);
  };
}

/** To people: standard output is one document with --json. */
function say(text: string): void {
  const stream = isJson ? process.stderr : process.stdout;
  stream.write(`${text}\n`);
}
