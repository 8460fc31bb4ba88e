// H4 and H1's shape: what a step costs beside a bare Workflow with the same two Activities, and how history grows.
// Usage: node bench/turn.ts [--steps 40] [--rounds 6] [--store s3://bucket?endpoint=…] [--json]
import { readdir, readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { openTurnBench } from './lib/turn-bench.ts';

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '6' },
    store: { type: 'string' },
    json: { type: 'boolean' },
  },
});
const steps = Number(values.steps);
const rounds = Number(values.rounds);
const bench = await openTurnBench({ resultBytes: 200, steps, store: values.store });
const { plan, client, home, runBare, runLongshore } = bench;

let serverPid: string | undefined;

interface Sample {
  readonly msPerStep: number;
  readonly workerCpuMsPerStep: number;
  readonly serverCpuMsPerStep: number;
  readonly bytesPerStep: number;
  readonly eventsPerStep: number;
}

/** CPU time of the server's process, found by its database file; 0 where there is no /proc. */
async function serverCpuMs(): Promise<number> {
  serverPid ??= await findServer();
  const text = await readFile(`/proc/${serverPid}/stat`, 'utf8').catch(() => '');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 10;
}

async function findServer(): Promise<string> {
  for (const pid of await readdir('/proc').catch(() => [])) {
    const command = /^\d+$/.test(pid) ? await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') : '';
    if (command.includes('start-dev') && command.includes(home.database)) return pid;
  }
  return '0';
}

async function sample(start: () => Promise<string>): Promise<Sample> {
  const [cpu, serverCpu, began] = [process.cpuUsage(), await serverCpuMs(), performance.now()];
  const workflowId = await start();
  const ms = performance.now() - began;
  const used = process.cpuUsage(cpu);
  const serverUsed = (await serverCpuMs()) - serverCpu;
  const description = await client.workflow.getHandle(workflowId).describe();
  const per = (value: number): number => value / plan.steps;
  return {
    msPerStep: per(ms),
    workerCpuMsPerStep: per((used.user + used.system) / 1000),
    serverCpuMsPerStep: per(serverUsed),
    bytesPerStep: per(description.historySize ?? 0),
    eventsPerStep: per(description.historyLength),
  };
}

function median(samples: readonly Sample[], key: keyof Sample): number {
  const sorted = samples.map((one) => one[key]).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

async function compare(): Promise<{ readonly bare: Sample[]; readonly longshore: Sample[] }> {
  const result = { bare: [] as Sample[], longshore: [] as Sample[] };
  await sample(runBare);
  await sample(runLongshore);
  for (let round = 0; round < rounds; round++) {
    result.bare.push(await sample(runBare));
    result.longshore.push(await sample(runLongshore));
  }
  return result;
}

async function growth(): Promise<
  readonly { readonly calls: number; readonly bytes: number; readonly events: number; readonly msPerStep: number }[]
> {
  plan.resultBytes = 5_000;
  const rows = [];
  for (const calls of [50, 100, 200]) {
    plan.steps = calls;
    const one = await sample(runLongshore);
    rows.push({
      calls,
      bytes: Math.round(one.bytesPerStep * calls),
      events: Math.round(one.eventsPerStep * calls),
      msPerStep: one.msPerStep,
    });
  }
  return rows;
}

await bench.during(async () => {
  const { bare, longshore } = await compare();
  const keys = Object.keys(bare[0] ?? {}) as (keyof Sample)[];
  const rows = keys.map((key) => ({ measure: key, bare: median(bare, key), longshore: median(longshore, key) }));
  const history = values.store === undefined ? await growth() : []; // history is the same wherever files are
  if (values.json) console.log(JSON.stringify({ steps, rounds, rows, history }));
  else {
    console.log(
      `H4: a step of ${steps} (median of ${rounds} interleaved rounds, 200-byte results, tuned server, node ${process.version})\n`,
    );
    console.log('| measure | bare Workflow | Longshore | ratio |\n|---|---|---|---|');
    for (const { measure, bare: a, longshore: b } of rows)
      console.log(`| ${measure} | ${a.toFixed(2)} | ${b.toFixed(2)} | ${(b / a).toFixed(2)} |`);
    if (history.length > 0) console.log("\nH1's shape: 5,000-byte results\n");
    if (history.length > 0) console.log('| model calls | history bytes | events | ms a step |\n|---|---|---|---|');
    for (const row of history)
      console.log(
        `| ${row.calls} | ${row.bytes.toLocaleString('en-US')} | ${row.events} | ${row.msPerStep.toFixed(1)} |`,
      );
  }
});
await bench.close();
