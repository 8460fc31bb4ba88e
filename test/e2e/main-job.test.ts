// The main job as a person starts it: real processes, the embedded Temporal server, the real filesystem server, real data.
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startExampleModel, type ExampleModel } from '../../examples/main-job/model.ts';
import {
  airFigures,
  airportFigures,
  dataFile,
  emojiFigures,
  featureFigures,
  MAIN_JOB_FILES,
} from '../support/main-job-figures.ts';
import {
  descendantsOf,
  longshore,
  startScript,
  stillRunning,
  type Finished,
  type Script,
} from '../support/main-job-process.ts';

const START = 'examples/main-job/start.ts';
const RUN_MS = 180_000;

interface RunDocument {
  readonly workflowId: string;
  readonly status: string;
  readonly answer: string;
  readonly steps: readonly {
    readonly toolCalls: readonly {
      readonly tool: string;
      readonly outcome: string;
      readonly bytes: number;
      readonly sha256: string;
      readonly tokens: number;
      readonly pointerTokens: number;
      readonly placement: string;
      readonly rule: string;
      readonly path: string | null;
    }[];
  }[];
  readonly tokens: { readonly original: number; readonly inline: number };
}

const homes: string[] = [];

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'longshore-main-job-'));
  homes.push(home);
  return home;
}

/** Runs the example to its end; its processes are noted once the first step is under way. */
async function runExample(
  script: Pick<Script, 'args' | 'env'>,
): Promise<Finished & { home: string; pids: readonly number[] }> {
  const home = await newHome();
  const running = startScript({ home, path: START, ...script });
  await running.says('step 0');
  const pids = await descendantsOf(running.child.pid ?? 0);
  return { ...(await running.finished), home, pids };
}

function reportOf(home: string): string {
  return join(home, 'main-job', 'reports', 'report.md');
}

async function expectNothingLeft(pids: readonly number[], home: string): Promise<void> {
  await vi.waitFor(async () => expect(await stillRunning(pids, home)).toEqual([]), { timeout: 20_000, interval: 100 });
}

afterAll(async () => {
  for (const home of homes) await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

describe('npm start -- --json', () => {
  let run: Awaited<ReturnType<typeof runExample>>;
  let document: RunDocument;
  beforeAll(async () => {
    run = await runExample({ args: ['--json'] });
    // The form that the reference fixes; what is used of it is checked below.
    document = JSON.parse(run.stdout.toString('utf8')) as RunDocument;
  }, RUN_MS);

  it('ends with exit code 0 and a completed turn', () => {
    expect(run.code).toBe(0);
    expect(document.status).toBe('completed');
  });

  it('answers with the figures that the data themselves give', () => {
    const [features = '', emoji = '', airports = '', air = '', report = ''] = document.answer.split('\n');
    const first = featureFigures();
    expect(features).toContain(`${first.total} web features`);
    expect(features).toContain(`"${first.stage}" with ${first.count} features, of which ${first.usable} `);
    const second = emojiFigures();
    expect(emoji).toContain(`${second.total} emoji; the newest version is ${second.newest}, `);
    expect(emoji).toContain(`brought ${second.labels.length}: ${second.labels.join(', ')}.`);
    const third = airportFigures();
    expect(airports).toContain(`${third.total} airports; ${third.state} has the most with ${third.count} `);
    expect(airports).toContain(`the first of them is ${third.code} in line ${third.line}.`);
    const fourth = airFigures();
    expect(air).toContain(`${fourth.first} ppm over the first 12 months and ${fourth.last} ppm over the last 12`);
    expect(air).toContain(`a rise of ${fourth.rise} ppm`);
    expect(report).toBe(`The report is in ${reportOf(run.home)}.`);
  });

  it('[APPR-12] stops for the write of the report, which a second process approves through the client', async () => {
    const [write] = document.steps[5]?.toolCalls ?? [];
    expect(write).toMatchObject({
      tool: 'write_file',
      outcome: 'ok',
      attempts: 1,
      decisions: [{ decision: 'approve', approver: 'examples/main-job/approver.ts' }],
    });
    expect(run.stderr).toContain('approvals approve');
    expect(run.stderr).toContain('A second process looked at t1/5/0, fs.write_file: approve.');
    const answers = document.answer.split('\n').slice(0, 4);
    const written = await readFile(reportOf(run.home), 'utf8');
    expect(written.split('\n').filter((line) => /^\d\./.test(line))).toEqual(answers);
  });

  it('asks for the four files in one step, and both limits act on the results', () => {
    const calls = document.steps[0]?.toolCalls ?? [];
    expect(calls.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual(Array(4).fill('read_text_file ok'));
    expect(calls.map(({ placement, rule }) => `${placement} ${rule}`)).toEqual([
      'file per-result',
      'file per-result',
      'file per-result',
      'file per-step',
    ]);
  });

  it('records the size and the hash of each file as they are on the disk', () => {
    const calls = document.steps[0]?.toolCalls ?? [];
    const facts = MAIN_JOB_FILES.map((path) => {
      const bytes = dataFile(path);
      return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
    });
    expect(calls.map(({ bytes, sha256 }) => ({ bytes, sha256 }))).toEqual(facts);
  });

  it('keeps nearly all tokens of the results out of the context', () => {
    const calls = document.steps[0]?.toolCalls ?? [];
    const kept = calls.reduce((sum, { tokens, pointerTokens }) => sum + tokens - pointerTokens, 0);
    expect(document.tokens.original - document.tokens.inline).toBe(kept);
    expect(document.tokens.inline).toBeLessThan(document.tokens.original / 100);
    for (const { pointerTokens } of calls) expect(pointerTokens).toBeLessThan(300);
  });

  it('says on standard error that the model is scripted, and how to have a real one', () => {
    expect(run.stderr).toContain('scripted');
    expect(run.stderr).toContain('LONGSHORE_EXAMPLE_MODEL=');
  });

  it('leaves nothing running', async () => {
    expect(run.pids.length).toBeGreaterThan(0);
    await expectNothingLeft(run.pids, run.home);
  });

  it('leaves files that `files get` gives back byte for byte', { timeout: RUN_MS }, async () => {
    const calls = document.steps[0]?.toolCalls ?? [];
    for (const [index, path] of MAIN_JOB_FILES.entries()) {
      const got = await longshore(run.home, 'files', 'get', calls[index]?.path ?? '');
      expect(got.stderr).toBe('');
      expect(got.stdout.equals(dataFile(path))).toBe(true);
    }
    await expectNothingLeft([], run.home);
  });
});

describe('npm start without a terminal, and with another model', () => {
  let run: Awaited<ReturnType<typeof runExample>>;
  let text: string;
  let model: ExampleModel;
  const faults: Error[] = [];
  beforeAll(async () => {
    model = await startExampleModel((error) => faults.push(error));
    const env = { LONGSHORE_EXAMPLE_MODEL: 'openai/another-model', OPENAI_BASE_URL: model.baseUrl };
    run = await runExample({ env });
    text = run.stdout.toString('utf8');
  }, RUN_MS);
  afterAll(() => model.close());

  it('asks the model that LONGSHORE_EXAMPLE_MODEL names, where its provider is, and says so', () => {
    expect(faults).toEqual([]);
    expect(model.requests.map((request) => request.model)).toEqual(Array(7).fill('another-model'));
    expect(text).toContain('The model of this run is openai/another-model');
    expect(text).not.toContain('a scripted one');
  });

  it('prints plain lines: no escape codes, no carriage returns', () => {
    expect(run.code).toBe(0);
    // oxlint-disable-next-line no-control-regex
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });

  it('shows each step, and each call with its size in bytes and tokens', () => {
    for (const step of [0, 1, 2, 3, 4, 5, 6]) expect(text).toMatch(new RegExp(`^step ${step} `, 'm'));
    for (const [index, path] of MAIN_JOB_FILES.entries()) {
      const bytes = dataFile(path).length.toLocaleString('en-US');
      expect(text).toMatch(new RegExp(`t1/0/${index} .*\\b${bytes} bytes, (about )?[\\d,]+ tokens`));
    }
  });

  it('shows each placement with its rule and the tokens it keeps out', () => {
    for (const [index, rule] of ['per-result', 'per-result', 'per-result', 'per-step'].entries()) {
      expect(text).toMatch(new RegExp(`t1/0/${index} .*${rule}.* [\\d,]+ tokens kept out`));
    }
  });

  it('ends with the answer, a summary, and where to look', () => {
    expect(text).toContain(`${featureFigures().total} web features`);
    expect(text).toContain('kept out');
    expect(text).toMatch(/http:\/\/\S+\/namespaces\/default\/workflows\//);
    expect(text).toMatch(/longshore -- turns show /);
  });
});

describe('npm start when things go wrong', () => {
  it('says what the scripted model did not expect, and fails', { timeout: RUN_MS }, async () => {
    const home = await newHome();
    const mcp = join(home, 'elsewhere.json');
    const server = join('@modelcontextprotocol', 'server-filesystem', 'dist', 'index.js');
    const cwd = join(import.meta.dirname, '..', '..', 'node_modules');
    await writeFile(mcp, JSON.stringify({ mcpServers: { fs: { command: 'node', args: [server, home], cwd } } }));
    const running = startScript({ home, path: START, args: ['--mcp', mcp] });
    const { code, stderr } = await running.finished;
    expect(code).toBe(1);
    expect(stderr).toContain('error: the scripted model cannot go on: Expected a path under /sandbox/tool-results/');
    await expectNothingLeft([], home);
  });

  it(
    'cancels the turn on Ctrl-C, once though it arrives twice, and leaves nothing running',
    { timeout: RUN_MS },
    async () => {
      const home = await newHome();
      const running = startScript({ home, path: START });
      await running.says('step 0');
      const pids = await descendantsOf(running.child.pid ?? 0);
      // Of two kinds, since the system may make one of two alike.
      running.child.kill('SIGINT');
      running.child.kill('SIGTERM');
      const { code, stdout } = await running.finished;
      expect([1, 130]).toContain(code);
      expect(stdout.toString('utf8')).toContain('The model of this run is a scripted one');
      expect(stdout.toString('utf8')).toContain('cancelled');
      await expectNothingLeft(pids, home);
    },
  );
});
