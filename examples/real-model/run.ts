// `npm run e2e:real-model`: the agent beside this file, from end to end, with a real model that runs in this process. It
// shows that nothing on the way needs a script: the model chooses the tools and writes their arguments itself.
import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { installRealModel } from './install.ts';
import { loadModel } from './llama.ts';
import { startLocalModelServer } from './server.ts';

const EXIT_FAILED = 1;

/** One Ctrl-C may arrive several times: from the terminal, and from npm, which passes on what it gets itself. */
const SAME_SIGNAL_MS = 500;

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

try {
  process.exitCode = await runExample();
} catch (thrown) {
  process.stderr.write(`error: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = EXIT_FAILED;
}

async function runExample(): Promise<number> {
  const { modulePath, weightsPath } = await installRealModel({ env: process.env, log: say });
  const started = performance.now();
  const model = await loadModel(modulePath, weightsPath);
  const server = await startLocalModelServer(model, (error) => {
    process.stderr.write(`error: the model server: ${error.message}\n`);
  });
  say(
    `The model of this run is SmolLM2-135M-Instruct, in this process, on one thread (loaded in ${secondsSince(started)} s).\n` +
      'It has no script. It is one of the smallest models there are, so that its answer may well be nonsense.\n',
  );
  try {
    // A key that the user has set is not for this server.
    const { OPENAI_API_KEY: _, ...env } = process.env;
    const command = ['run', here('agent.yaml'), '--mcp', here('mcp.json')];
    const run = await longshore(command, { ...env, OPENAI_BASE_URL: server.baseUrl });
    if (run.exitCode !== 0) return run.exitCode;
    const turn = /^turn +(\S+)/m.exec(run.output)?.[1];
    if (turn === undefined) throw new Error('`longshore run` named no turn.');
    say(`\nlongshore turns show ${turn}\n`);
    const show = await longshore(['turns', 'show', turn], env);
    say(`\nThe turn ended well after ${secondsSince(started)} s. Whether its answer is right is not looked at.`);
    return show.exitCode;
  } finally {
    await server.close();
    await model.close();
  }
}

/** Runs the command line to its end; what it prints is passed on and given back. Signals go to it, each once. */
async function longshore(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly exitCode: number; readonly output: string }> {
  // A process group of its own, or the terminal's Ctrl-C would reach it beside the one that is passed on.
  const child = spawn(process.execPath, [here('../../cli/main.ts'), ...command], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
    detached: process.platform !== 'win32',
  });
  const release = passSignalsTo(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    process.stdout.write(text);
  });
  try {
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? EXIT_FAILED));
    });
    return { exitCode, output };
  } finally {
    release();
  }
}

function passSignalsTo(child: ChildProcess): () => void {
  let last = Number.NEGATIVE_INFINITY;
  const pass = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (now - last > SAME_SIGNAL_MS) child.kill(signal);
    last = now;
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, pass);
  return () => {
    for (const signal of signals) process.off(signal, pass);
  };
}

function secondsSince(started: number): string {
  return ((performance.now() - started) / 1000).toFixed(1);
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
