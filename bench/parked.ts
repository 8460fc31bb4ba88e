// H5: turns parked on approvals, beside the bare Workflow that waits for an Update: memory of each, and how long after a decision
// the call begins, with the Workflow in the Worker's cache and evicted from it. Memory is measured in a process for each system;
// resume times in one process for both, in turns, each decision after the end of the Workflow before it.
// Usage: node bench/parked.ts [--count 1000] [--resume 100] [--hook] [--json]
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { phaseTable } from './lib/parked-phases.ts';
import { openParkedWorld, type ParkedWorld, type Resume, type System } from './lib/parked-world.ts';
import { median, table } from './lib/stats.ts';

const SYSTEMS: readonly System[] = ['bare', 'longshore'];
/** Workflows that are parked at once. */
const BATCH = 20;
/** Resumes before those that count: they load what all share. */
const WARM_UPS = 20;

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '1000' },
    resume: { type: 'string', default: '100' },
    hook: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    /** Set for the processes that this one starts: `resume`, or the system whose memory is measured. */
    measure: { type: 'string' },
    cached: { type: 'boolean', default: false },
  },
});
const count = Number(values.count);
const resumed = Math.min(Number(values.resume), count);

/** How much a parked Workflow takes. */
interface Held {
  /** Growth of the process, which holds Worker and client, for each parked Workflow. */
  readonly kilobytesEach: number;
  readonly historyBytes: number;
  readonly events: number;
}

/** Resumes of both, in the order in which they were measured. */
type Resumes = { readonly [system in System]: readonly Resume[] };

if (values.measure === undefined) await compare();
else console.log(JSON.stringify(await measure(values.measure)));

async function compare(): Promise<void> {
  const all = [];
  for (const cached of [true, false]) {
    const held = { bare: await inProcess<Held>('bare', cached), longshore: await inProcess<Held>('longshore', cached) };
    all.push({ cached, held, resumes: await inProcess<Resumes>('resume', cached) });
  }
  if (values.json) {
    console.log(JSON.stringify({ count, resumed, hook: values.hook, all }));
    return;
  }
  const hook = values.hook ? 'with a hook' : 'no hook';
  console.log(`H5: ${count} parked, ${resumed} decided on (tuned server, node ${process.version}, ${hook})\n`);
  const rows = all.flatMap(({ cached, held, resumes }) =>
    SYSTEMS.map((system) => [
      `${system}, ${cached ? 'cached' : 'evicted'}`,
      ...[held[system].kilobytesEach, ...spread(resumes[system])].map((value) => value.toFixed(1)),
      String(held[system].historyBytes),
      String(held[system].events),
    ]),
  );
  console.log(table(['', 'KB each', 'resume ms', 'p95', 'history bytes', 'events'], rows));
  for (const { cached, resumes } of all) {
    const [bare, longshore] = SYSTEMS.map((system) => resumes[system].map(({ phases }) => phases));
    console.log(`\n${cached ? 'cached' : 'evicted'}\n\n${phaseTable(bare ?? [], longshore ?? [])}`);
  }
}

function spread(resumes: readonly Resume[]): readonly [number, number] {
  const times = resumes.map(({ ms }) => ms).sort((a, b) => a - b);
  return [median(times), times[Math.floor(times.length * 0.95)] ?? Number.NaN];
}

async function inProcess<T>(what: string, cached: boolean): Promise<T> {
  const flags = [...(values.hook ? ['--hook'] : []), ...(cached ? ['--cached'] : [])];
  const more = ['--measure', what, '--count', String(count), '--resume', String(resumed), ...flags];
  const args = ['--expose-gc', fileURLToPath(import.meta.url), ...more];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 });
  // Written by `measure` in the process just ended; the SDK may have warned before it.
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as T;
}

async function measure(what: string): Promise<Held | Resumes> {
  const cachedWorkflows = values.cached ? count + 100 : 10;
  const system = SYSTEMS.find((one) => one === what);
  const world = await openParkedWorld({ systems: system ? [system] : SYSTEMS, cachedWorkflows, hook: values.hook });
  try {
    return await world.during<Held | Resumes>(() => (system ? heldBy(system, world) : resumesOfBoth(world)));
  } finally {
    await world.close();
  }
}

async function resumesOfBoth(world: ParkedWorld): Promise<Resumes> {
  for (const system of SYSTEMS) await parkAll(world, system, count + WARM_UPS);
  const resumes = { bare: [] as Resume[], longshore: [] as Resume[] };
  for (let index = 0; index < resumed + WARM_UPS; index++) {
    for (const system of SYSTEMS) {
      const one = await world.resume(system, `${system}-${index}`);
      if (index >= WARM_UPS) resumes[system].push(one);
    }
  }
  return resumes;
}

async function heldBy(system: System, world: ParkedWorld): Promise<Held> {
  for (let index = 0; index < WARM_UPS; index++) {
    await world.park(system, `warm-${index}`);
    await world.resume(system, `warm-${index}`);
  }
  const before = await residentBytes();
  await parkAll(world, system, count);
  const grown = (await residentBytes()) - before;
  const { historySize = 0, historyLength } = await world.client.workflow.getHandle(`${system}-0`).describe();
  return { kilobytesEach: grown / 1024 / count, historyBytes: historySize, events: historyLength };
}

async function parkAll(world: ParkedWorld, system: System, total: number): Promise<void> {
  const ids = Array.from({ length: total }, (_, index) => `${system}-${index}`);
  for (let from = 0; from < total; from += BATCH) {
    await Promise.all(ids.slice(from, from + BATCH).map((id) => world.park(system, id)));
  }
}

async function residentBytes(): Promise<number> {
  await delay(2_000);
  globalThis.gc?.();
  return process.memoryUsage().rss;
}
