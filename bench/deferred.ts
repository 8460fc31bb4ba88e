// One call found among the tools of a real catalog: requests and tokens until the call and over the turn, time to the call, and
// a Worker's memory; all tools preloaded, deferred, and the one tool preloaded; beside systems that preload all of them.
// `node bench/deferred.ts [--catalogs notes,slack,stripe,ec2,kubernetes] [--skip rivals] [--json] [--write]`; Linux only.
// `--from FILE,FILE` puts earlier outputs of `--json` together instead of measuring: one catalog at a time is kinder to a machine.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { closeMeasure } from '../activities/measure.ts';
import { attachDevServer } from '../worker/dev-server.ts';
import { openHome } from '../worker/home.ts';
import { apiServer } from './lib/api-catalogs.ts';
import { RIVALS, startRival, type RivalName } from './lib/catalog-rivals.ts';
import { CATALOG_TASKS, descriptionOf, type CatalogName, type CatalogTask } from './lib/catalog-tasks.ts';
import { startCatalogWorker, type CatalogWorker } from './lib/catalog-worker.ts';
import { deferredReport, withSection, type DeferredData, type DeferredRow } from './lib/deferred-report.ts';
import { startFindingModel, tokensOf, type FindingModel } from './lib/finding-model.ts';
import { startLocalApi, type LocalApi } from './lib/local-api.ts';
import { installCompetitors, versions } from './side-by-side/competitors.ts';
import { describeMachine } from './side-by-side/report.ts';

const { values } = parseArgs({
  options: {
    catalogs: { type: 'string', default: Object.keys(CATALOG_TASKS).join(',') },
    skip: { type: 'string', default: '' },
    from: { type: 'string' },
    json: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const WORDS: Readonly<Record<CatalogName, string>> = {
  notes: 'Notes of a team.',
  slack: 'Channels, messages, users and files of a Slack workspace.',
  stripe: 'Payments, customers and invoices of a Stripe account.',
  ec2: 'Virtual machines, disks and networks at Amazon.',
  kubernetes: 'What runs on a Kubernetes cluster.',
};
const MODES = ['deferred', 'selective', 'preloaded'] as const;
const log = (line: string): void => console.error(`${new Date().toISOString().slice(11, 19)} ${line}`);

/** Where a catalog is measured. */
interface Place {
  readonly catalog: CatalogName;
  readonly folder: string;
  readonly address: string;
  readonly model: FindingModel;
  readonly api: LocalApi;
  readonly server: ReturnType<typeof apiServer> & { readonly description: string };
}

let runs = 0;

/** Makes one run and measures it from its begin. */
async function measured(
  { catalog, model, api }: Place,
  task: CatalogTask,
  run: (name: string) => Promise<Partial<DeferredRow>>,
): Promise<Omit<DeferredRow, 'system' | 'mode' | 'isFirst'>> {
  const name = `run-${(runs += 1)}`;
  const meter = model.plan(name, catalog, task);
  const before = api.arrivals.length;
  const start = performance.now();
  const more = await run(name);
  const arrived = api.arrivals[before];
  if (arrived === undefined || model.errors.length > 0) {
    const answered = meter.results.map((text) => text.slice(0, 300)).join(' | ');
    throw new Error(`${catalog}: ${task.tool} was not called: ${model.errors.join('; ')} ${answered}`);
  }
  const tokens = await tokensOf(meter);
  const all = tokens.map((one) => one.all);
  const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);
  return {
    catalog,
    query: task.query,
    tool: task.tool,
    requests: tokens.length,
    requestsBefore: meter.requestsBefore,
    discoveryCalls: meter.discovery,
    definitionTokens: tokens[0]?.definitions ?? 0,
    firstTokens: all[0] ?? 0,
    tokensBefore: sum(all.slice(0, meter.requestsBefore)),
    tokens: sum(all),
    msToCall: arrived - start,
    ...more,
  };
}

function specServer(catalog: CatalogName, mode: (typeof MODES)[number], task: CatalogTask): Record<string, unknown> {
  const server = { name: catalog, require_approval_for_tools: [] };
  if (mode === 'preloaded') return { ...server, preload: true };
  return mode === 'selective' ? { ...server, preload_tools: [task.tool] } : server;
}

/** The tasks of a catalog in one mode, on a Worker of its own; the first one starts the tool server. */
async function longshore(place: Place, mode: (typeof MODES)[number]): Promise<DeferredRow[]> {
  const { catalog, folder, address, model, server } = place;
  const setting = { address, modelUrl: model.baseUrl, folder: join(folder, `${catalog}-${mode}`) };
  const worker = await startCatalogWorker({ ...setting, servers: { [catalog]: server } });
  const rows: DeferredRow[] = [];
  try {
    const added = mode === 'deferred' ? await addedByLongshore(worker, place) : {};
    const { nowMb: idleMb } = await worker.memory();
    const [only] = CATALOG_TASKS[catalog];
    // Of a small catalog a first turn knows no more than its configuration; the second one knows its size.
    const tasks = catalog === 'notes' && only ? [only, only] : CATALOG_TASKS[catalog];
    for (const [index, task] of tasks.entries()) {
      const row = await measured(place, task, async (name) => {
        const view = await worker.turn(name, specServer(catalog, mode, task), `Please ${task.query}.`);
        return { counted: view.tokens.sent, standing: view.discovery.servers[0]?.mode ?? '' };
      });
      const { nowMb, highestMb } = await worker.memory();
      rows.push({ ...row, ...added, system: 'longshore', mode, isFirst: index === 0, idleMb, nowMb, highestMb });
      log(`${catalog}, ${mode}: ${row.requests} requests, ${row.tokens} tokens, ${row.msToCall.toFixed(0)} ms`);
    }
  } finally {
    await worker.close();
  }
  return rows;
}

/** What a request of an agent without servers has beside its message; the Worker is warm after it. */
async function addedByLongshore(worker: CatalogWorker, { model }: Place): Promise<Partial<DeferredRow>> {
  const name = `run-${(runs += 1)}`;
  const meter = model.plan(name, '', null);
  await worker.turn(name, null, 'Hi');
  const [first] = await tokensOf(meter);
  return { addedTokens: (first?.all ?? 0) - 1 };
}

async function rival(place: Place, system: RivalName): Promise<DeferredRow[]> {
  const { catalog, folder, model, server } = place;
  const running = await startRival(system, { baseUrl: model.baseUrl, folder: join(folder, system), server });
  const rows: DeferredRow[] = [];
  try {
    for (const [index, task] of CATALOG_TASKS[catalog].entries()) {
      const row = await measured(place, task, async (name) => {
        await running.run(name, `Please ${task.query}.`);
        return {};
      });
      rows.push({ ...row, system, mode: 'preloaded', isFirst: index === 0 });
      log(`${catalog}, ${system}: ${row.requests} requests, ${row.tokens} tokens, ${row.msToCall.toFixed(0)} ms`);
    }
  } catch (error) {
    // How another system ends is a result as well; what is missing in the tables is told here.
    log(`${catalog}, ${system} did not complete: ${String(error)}`);
  } finally {
    await running.close();
  }
  return rows;
}

async function measureAll(names: readonly CatalogName[], folder: string): Promise<DeferredRow[]> {
  const home = await openHome({ ...process.env, LONGSHORE_HOME: join(folder, 'home') }, folder);
  const lease = await attachDevServer(home, { kind: 'dev', log: () => {} });
  const model = await startFindingModel();
  const api = await startLocalApi();
  const rows: DeferredRow[] = [];
  try {
    for (const catalog of names) {
      const server = { ...apiServer(await descriptionOf(catalog, folder), api.url), description: WORDS[catalog] };
      const place = { catalog, folder, address: lease.address, model, api, server };
      for (const mode of MODES) rows.push(...(await longshore(place, mode)));
      if (values.skip.split(',').includes('rivals')) continue;
      for (const system of Object.keys(RIVALS) as RivalName[]) rows.push(...(await rival(place, system)));
    }
  } finally {
    await api.close();
    await model.close();
    await lease.release();
  }
  return rows;
}

/** Measures the catalogs that are asked for. */
async function measureNow(): Promise<DeferredData> {
  if (values.skip !== 'rivals') await installCompetitors(log);
  const machine = describeMachine();
  const folder = await mkdtemp(join(tmpdir(), 'longshore-deferred-'));
  try {
    const names = values.catalogs.split(',').filter((name): name is CatalogName => Object.hasOwn(CATALOG_TASKS, name));
    const rows = await measureAll(names, folder);
    return { machine, loadAtEnd: describeMachine().load, versions: versions(), rows };
  } finally {
    await closeMeasure();
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

/** What was measured earlier, as one. */
async function readEarlier(files: readonly string[]): Promise<DeferredData> {
  const texts = await Promise.all(files.map(async (file) => readFile(file, 'utf8')));
  // Written by this program.
  const parts = texts.map((text) => JSON.parse(text) as DeferredData);
  const [first] = parts;
  if (!first) throw new Error('--from names no file.');
  const loadAtEnd = Math.max(...parts.map((part) => part.loadAtEnd));
  return { ...first, loadAtEnd, rows: parts.flatMap(({ rows }) => rows) };
}

const data = values.from === undefined ? await measureNow() : await readEarlier(values.from.split(','));
console.log(values.json ? JSON.stringify(data, null, 2) : deferredReport(data));
if (values.write) {
  const path = fileURLToPath(new URL('./RESULTS.md', import.meta.url));
  await writeFile(path, withSection(await readFile(path, 'utf8'), deferredReport(data)));
}
