// Whether a step of a long turn costs what one at its beginning does: a turn and the bare Workflow beside it, in turns, their
// steps timed between requests to the model, in tenths. Every request carries the whole conversation, and so it does in the bare one: what
// grows beyond that is Longshore's own.
// Usage: node bench/long-run.ts [--calls 500] [--rounds 3] [--bytes 5000]
import { parseArgs } from 'node:util';
import { median, table } from './lib/stats.ts';
import { openTurnBench } from './lib/turn-bench.ts';

const PARTS = 10;

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '500' },
    rounds: { type: 'string', default: '3' },
    bytes: { type: 'string', default: '5000' },
  },
});
const steps = Number(values.calls);
const bench = await openTurnBench({ resultBytes: Number(values.bytes), steps });
let lastId = '';

/** A step, from one request to the model to the next one. */
interface StepCost {
  readonly ms: number;
  /** Of this process: the Worker, the scripted model and the tool. */
  readonly cpuMs: number;
}

async function measure(start: () => Promise<string>): Promise<readonly StepCost[]> {
  const marks: StepCost[] = [];
  bench.plan.onRequest = () => {
    const { user, system } = process.cpuUsage();
    marks.push({ ms: performance.now(), cpuMs: (user + system) / 1_000 });
  };
  lastId = await start();
  return marks.slice(1).map(({ ms, cpuMs }, index) => {
    const before = marks[index] ?? { ms, cpuMs };
    return { ms: ms - before.ms, cpuMs: cpuMs - before.cpuMs };
  });
}

/** The median of a part of the steps of all runs. */
function partOf(runs: readonly (readonly StepCost[])[], part: number, key: keyof StepCost): number {
  const from = Math.round((part * steps) / PARTS);
  const to = Math.round(((part + 1) * steps) / PARTS);
  return median(runs.flatMap((run) => run.slice(from, to).map((step) => step[key])));
}

await bench.during(async () => {
  const [bare, longshore]: [(readonly StepCost[])[], (readonly StepCost[])[]] = [[], []];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    bare.push(await measure(bench.runBare));
    longshore.push(await measure(bench.runLongshore));
    console.error(`round ${round + 1} of ${values.rounds}`);
  }
  const rows = Array.from({ length: PARTS }, (_, part) => {
    const label = `${Math.round((part * steps) / PARTS) + 1} to ${Math.round(((part + 1) * steps) / PARTS)}`;
    const cells = (['ms', 'cpuMs'] as const).flatMap((key) => {
      const [without, with_] = [partOf(bare, part, key), partOf(longshore, part, key)];
      return [without.toFixed(1), with_.toFixed(1), (with_ - without).toFixed(1)];
    });
    return [label, ...cells];
  });
  console.log(`${steps} calls, results of ${values.bytes} bytes, median of ${values.rounds} interleaved runs\n`);
  console.log(table(['steps', 'bare ms', 'ours', 'more', 'bare CPU ms', 'ours', 'more'], rows));
  const { historyLength, historySize = 0 } = await bench.client.workflow.getHandle(lastId).describe();
  console.log(`\nHistory of the turn: ${historyLength} events, ${historySize.toLocaleString('en-US')} bytes.`);
});
await bench.close();
