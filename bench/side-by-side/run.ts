// The same scripted model and the same tool on Longshore, a bare Workflow, `@temporalio/ai-sdk` and `deepagents`.
// Usage: node bench/side-by-side/run.ts [--calls 10,50,100,200,500] [--systems longshore,bare] [--turns 50] [--rounds 3]
//        [--limit-minutes 10] [--large-limit-seconds 30] [--skip growth,large,load] [--json] [--write]
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { attachDevServer } from '../../worker/dev-server.ts';
import { openHome } from '../../worker/home.ts';
import { measureLoad, measureRun, type LoadRow, type RunRow } from './comparison.ts';
import { installCompetitors, versions } from './competitors.ts';
import { startMeteredModel, type MeteredModel } from './metered-model.ts';
import { describeMachine, report, type Report } from './report.ts';
import type { ToolPayload } from './system-process.ts';
import { folderOf, System, SYSTEMS, type SystemName } from './systems.ts';

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10,50,100,200,500' },
    systems: { type: 'string', default: SYSTEMS.join(',') },
    turns: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '3' },
    'limit-minutes': { type: 'string', default: '10' },
    // Of one large result: a system that has not ended by then tries again for ever.
    'large-limit-seconds': { type: 'string', default: '30' },
    skip: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const counts = values.calls.split(',').map(Number);
const names = SYSTEMS.filter((name) => values.systems.split(',').includes(name));
const rounds = Number(values.rounds);
const turns = Number(values.turns);
const limitMs = Number(values['limit-minutes']) * 60_000;
const largeLimitMs = Number(values['large-limit-seconds']) * 1000;
const skipped = new Set(values.skip.split(','));

/** Results of the long runs, and of the turns at once. */
const PAGE: ToolPayload = { bytes: 5_000 };
const LOAD_CALLS = 20;

const log = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);

/** Servers and processes of the given systems, a server each or one for all, for the time of `work`. */
async function withSystems<Result>(
  wanted: readonly SystemName[],
  setup: { readonly root: string; readonly model: MeteredModel; readonly shared: boolean },
  work: (systems: readonly System[]) => Promise<Result>,
): Promise<Result> {
  const { root, model, shared } = setup;
  const leases = new Map<string, Awaited<ReturnType<typeof attachDevServer>>>();
  const systems: System[] = [];
  try {
    for (const name of wanted) {
      const homeName = shared ? 'shared' : name;
      const home = await openHome({ LONGSHORE_HOME: folderOf(root, `home-${homeName}`) }, root);
      const lease = leases.get(homeName) ?? (await attachDevServer(home, { kind: 'dev', log: () => {} }));
      leases.set(homeName, lease);
      const folder = folderOf(root, `${name}-${homeName}`);
      systems.push(new System(name, { address: lease.address, baseUrl: model.baseUrl, folder }));
    }
    for (const system of systems) await system.start();
    return await work(systems);
  } finally {
    for (const system of systems) await system.close();
    for (const lease of leases.values()) await lease.release();
  }
}

/** Runs of growing length, the systems in turn; a system that has died is not asked for more. */
async function growth(systems: readonly System[], model: MeteredModel): Promise<RunRow[]> {
  const rows: RunRow[] = [];
  const ended = new Set<SystemName>();
  for (const system of systems) await measureRun(system, model, { calls: 5, payload: PAGE, limitMs });
  for (const calls of counts) {
    for (let round = 0; round < (calls <= 50 ? rounds : 1); round++) {
      for (const system of systems.filter((one) => !ended.has(one.name))) {
        const row = await measureRun(system, model, { calls, payload: PAGE, limitMs });
        rows.push(row);
        log(`${system.name}: ${calls} calls: ${row.ended} after ${row.requests} requests ${row.how}`);
        if (row.ended !== 'completed') ended.add(system.name);
      }
    }
  }
  return rows;
}

async function large(systems: readonly System[], model: MeteredModel): Promise<Report['large']> {
  const file = fileURLToPath(import.meta.resolve('caniuse-db/data.json'));
  const payloads: readonly [string, ToolPayload][] = [
    ['100 KB', { bytes: 100_000 }],
    ['4.7 MB', { file }],
    ['50 MB', { bytes: 50_000_000 }],
  ];
  const rows = [];
  for (const [size, payload] of payloads) {
    for (const system of systems) {
      const row = await measureRun(system, model, { calls: 1, payload, limitMs: largeLimitMs });
      rows.push({ ...row, size });
      log(`${system.name}: ${size}: ${row.ended} ${row.how}`);
    }
  }
  return rows;
}

async function load(systems: readonly System[], model: MeteredModel): Promise<LoadRow[]> {
  const rows: LoadRow[] = [];
  for (const system of systems) await measureLoad(system, model, { calls: 3, payload: PAGE, limitMs, turns });
  for (let round = 0; round < rounds; round++) {
    for (const system of systems) {
      const row = await measureLoad(system, model, { calls: LOAD_CALLS, payload: PAGE, limitMs, turns });
      rows.push(row);
      log(`${system.name}: ${turns} turns at once: ${row.stepsPerSecond.toFixed(0)} steps a second`);
    }
  }
  return rows;
}

await installCompetitors(log);
const root = await mkdtemp(join(tmpdir(), 'longshore-side-by-side-'));
const model = await startMeteredModel();
const started = describeMachine();
try {
  const setup = { root, model };
  const [growthRows, largeRows] = await withSystems(names, { ...setup, shared: false }, async (systems) => [
    skipped.has('growth') ? [] : await growth(systems, model),
    skipped.has('large') ? [] : await large(systems, model),
  ]);
  const pair = (['bare', 'longshore'] as const).filter((name) => names.includes(name));
  const loadRows = skipped.has('load')
    ? []
    : await withSystems(pair, { ...setup, shared: true }, (systems) => load(systems, model));
  const data: Report = {
    machine: started,
    loadAtEnd: describeMachine().load,
    versions: versions(),
    counts,
    systems: names,
    growth: growthRows,
    large: largeRows,
    load: { turns, calls: LOAD_CALLS, rows: loadRows },
  };
  console.log(values.json ? JSON.stringify(data) : report(data));
  const path = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url));
  if (values.write) await writeFile(path, report(data));
} finally {
  await model.close();
  await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}
