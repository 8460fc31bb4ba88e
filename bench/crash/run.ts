// Kills Workers at every boundary of a step and shows what came of it.
// `node bench/crash/run.ts [--trials 30] [--boundary NAME]... [--parallel 4] [--json]`; a name stands for all that begin with
// it, such as `approved`. Exit code 1 when something does not hold.
import { parseArgs } from 'node:util';
import { Runtime } from '@temporalio/worker';
import { boundariesNamed } from './plan.ts';
import { figuresOf, reportOf } from './report.ts';
import { runTrials } from './trials.ts';
import { openCrashWorld } from './world.ts';

const { values } = parseArgs({
  options: {
    trials: { type: 'string', default: '30' },
    boundary: { type: 'string', multiple: true },
    parallel: { type: 'string', default: '4' },
    json: { type: 'boolean', default: false },
  },
});
const names = (values.boundary ?? ['']).flatMap(boundariesNamed);
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
Runtime.install({
  logger: quiet,
  // The SDK would take the signals, and this program would go on.
  shutdownSignals: [],
  telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
});
const world = await openCrashWorld();
try {
  const jobs = Array.from({ length: Number(values.trials) }, (_, variant) =>
    names.map((boundary) => ({ boundary, variant })),
  );
  const { results, failed } = await runTrials(world, jobs.flat(), {
    parallel: Number(values.parallel),
    replays: () => true,
    onDone: (line) => console.error(line),
  });
  const rows = names.map((name) => figuresOf(name, results, failed));
  console.log(values.json ? JSON.stringify(rows, null, 2) : reportOf(rows));
  process.exitCode = rows.some((row) => row.faults.length > 0) ? 1 : 0;
} finally {
  await world.close();
}
