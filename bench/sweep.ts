// The retention sweep over many turns: minutes and memory. Half of the turns are past their retention, half are not; a second sweep
// finds nothing to do. Temporal is played by a table, since Describe is Temporal's own cost.
// `node bench/sweep.ts [--turns 10000] [--files 10] [--json]`; the store is a temporary folder, or what LONGSHORE_STORE names.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createRetentionActivities } from '../activities/retention/index.ts';
import { manifestKey } from '../activities/store/manifest.ts';
import { frameObject } from '../activities/store/object-frame.ts';
import type { BlobRef, FileStore } from '../shared/file-store.ts';
import type { Manifest } from '../shared/manifest.ts';
import type { RetentionSweepResult } from '../shared/sweep.ts';
import { openFileStore, storeSettings } from '../worker/open-store.ts';
import { beginSweep, finishSweep, nextPage, type RunSweepActivity } from '../workflows/sweep-stages.ts';
import { table } from './lib/stats.ts';

const DAY = 86_400_000;
const SEGMENTS = 4;
const FILE_BYTES = 400;

const { values } = parseArgs({
  options: { turns: { type: 'string' }, files: { type: 'string' }, json: { type: 'boolean' } },
});
const turns = Number(values.turns ?? 10_000);
const filesPerTurn = Number(values.files ?? 10);

/** What one sweep took. */
interface Measured {
  readonly name: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Of the process, above what it had before the sweep. */
  readonly peakMegabytes: number;
  readonly result: RetentionSweepResult;
}

/** Where the content of the store is put: without the syncs that a Worker pays for, where it is a folder. */
interface Filling {
  readonly blob: (content: Buffer) => Promise<BlobRef>;
  readonly object: (key: string, body: Buffer) => Promise<unknown>;
}

const folder = fs.mkdtempSync(join(tmpdir(), 'longshore-bench-sweep-'));
try {
  const settings = storeSettings(process.env, undefined);
  const store = openFileStore({ settings, folder, namespace: 'default', env: process.env });
  const isLocal = settings === undefined || settings.type === 'local';
  const begunMs = Date.now();
  await fill(isLocal ? folderFilling(folder) : storeFilling(store), begunMs);
  const fillSeconds = (Date.now() - begunMs) / 1000;
  const measured = [
    await measure('releases all, deletes half', store, begunMs),
    await measure('finds nothing to do', store, begunMs),
  ];
  if (values.json) process.stdout.write(`${JSON.stringify({ turns, filesPerTurn, fillSeconds, measured }, null, 2)}\n`);
  else tell(store, measured);
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}

async function fill(filling: Filling, nowMs: number): Promise<void> {
  let next = 0;
  const lanes = Array.from({ length: 32 }, async () => {
    for (let turn = next++; turn < turns; turn = next++) await fillTurn(filling, turn, nowMs);
  });
  await Promise.all(lanes);
}

/** Even turns are kept for a year, odd ones for a day. */
async function fillTurn(filling: Filling, turn: number, nowMs: number): Promise<void> {
  const identity = { workflowId: `turn-${turn}`, session: `session-${turn >> 3}`, turn: 1 };
  const files: Manifest['files'][number][] = [];
  for (let file = 0; file < filesPerTurn; file += 1) {
    const ref = await filling.blob(Buffer.alloc(FILE_BYTES, `turn ${turn} file ${file} `));
    const path = `/sandbox/tool-results/t1.0.${file}-read-${ref.sha256.slice(0, 16)}.txt`;
    const made = { callKey: `t1/0/${file}`, server: 'fs', tool: 'read', origin: identity.workflowId };
    files.push({ path, ...ref, mediaType: 'text/plain', state: 'pinned', ...made, pinnedAt: nowMs - 30 * DAY });
  }
  let head: BlobRef | null = null;
  for (let segment = 0; segment < SEGMENTS; segment += 1) {
    const messages = [{ type: 'user.message', content: `message ${segment} of ${turn}: `.padEnd(500, 'x') }];
    const body = { version: 1, previous: head, turn: identity, messages, tokens: 1 };
    head = await filling.blob(Buffer.from(JSON.stringify(body)));
  }
  const retention = { afterTurnMs: turn % 2 === 0 ? 365 * DAY : DAY };
  const manifest: Manifest = {
    version: 1,
    turn: identity,
    head,
    files,
    retention,
    savedAt: nowMs,
    ended: 'completed',
    endedAt: nowMs,
  };
  await filling.object(manifestKey(identity), Buffer.from(JSON.stringify(manifest)));
}

function folderFilling(root: string): Filling {
  const write = (path: string, content: Uint8Array): void => {
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.writeFileSync(path, content);
  };
  return {
    async blob(content) {
      const sha256 = createHash('sha256').update(content).digest('hex');
      write(join(root, 'default', 'blobs', sha256.slice(0, 2), sha256), content);
      return { sha256, bytes: content.byteLength };
    },
    object: async (key, body) => write(join(root, 'default', 'objects', `${key}@`), frameObject('0'.repeat(16), body)),
  };
}

function storeFilling(store: FileStore): Filling {
  return { blob: (content) => store.putBlob(content), object: (key, body) => store.putObject(key, body) };
}

async function measure(name: string, store: FileStore, closedMs: number): Promise<Measured> {
  const activities = createRetentionActivities({
    store,
    redact: (text) => text,
    retention: {
      now: () => closedMs + 10 * DAY,
      temporal: () => ({
        describe: async () => ({ status: 'closed', closedMs, ended: 'completed' }),
        async *running() {},
        originOf: async () => null,
        currentRun: async () => null,
      }),
    },
  });
  const run = ((activity, input) =>
    // Of one name, so that input and Activity fit.
    new MockActivityEnvironment().run<[unknown], unknown, (input: unknown) => Promise<unknown>>(
      activities[activity] as (input: unknown) => Promise<unknown>,
      input,
    )) as RunSweepActivity;
  const before = process.memoryUsage().rss;
  let peak = before;
  const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50);
  const startedMs = performance.now();
  const cpu = process.cpuUsage();
  let progress = await beginSweep({}, run);
  while (progress.stage !== 'finish') progress = await nextPage(progress, run);
  const result = await finishSweep(progress, run);
  clearInterval(sampler);
  const { user, system } = process.cpuUsage(cpu);
  return {
    name,
    seconds: (performance.now() - startedMs) / 1000,
    cpuSeconds: (user + system) / 1e6,
    peakMegabytes: (peak - before) / 1024 / 1024,
    result,
  };
}

function tell(store: FileStore, measured: readonly Measured[]): void {
  const rows = measured.map(({ name, seconds, cpuSeconds, peakMegabytes, result }) => [
    name,
    (seconds / 60).toFixed(2),
    (cpuSeconds / 60).toFixed(2),
    peakMegabytes.toFixed(0),
    String(result.filesDeleted),
    String(result.blobsDeleted),
  ]);
  const header = ['sweep', 'minutes', 'CPU minutes', 'MB more', 'files deleted', 'blobs deleted'];
  process.stdout.write(
    `${turns} turns, ${turns * filesPerTurn} files, ${store.description}\n\n${table(header, rows)}\n`,
  );
}
