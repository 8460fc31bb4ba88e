// The comparison's numbers as a page: tables, and plots in Mermaid, which code hosts draw without a library.
import { cpus, loadavg, totalmem } from 'node:os';
import { median, table } from '../lib/stats.ts';
import type { LoadRow, RunRow } from './comparison.ts';
import { barChart, lineChart } from './chart.ts';
import { ABOUT, READING } from './report-text.ts';
import { SYSTEM_TITLES, type SystemName } from './systems.ts';

/** Where and when. */
export interface Machine {
  readonly date: string;
  readonly shape: string;
  /** Load average over a minute. */
  readonly load: number;
}

/** All numbers of a comparison. */
export interface Report {
  readonly machine: Machine;
  readonly loadAtEnd: number;
  readonly versions: readonly (readonly [name: string, version: string])[];
  readonly counts: readonly number[];
  readonly systems: readonly SystemName[];
  readonly growth: readonly RunRow[];
  readonly large: readonly (RunRow & { readonly size: string })[];
  readonly load: { readonly turns: number; readonly calls: number; readonly rows: readonly LoadRow[] };
}

/** This machine, now. */
export function describeMachine(): Machine {
  const shape = `${cpus().length} cores, ${Math.ceil(totalmem() / 2 ** 30)} GiB`;
  return { date: new Date().toISOString().slice(0, 10), shape, load: loadavg()[0] ?? 0 };
}

/** The whole page. */
export function report(data: Report): string {
  const parts = [
    ABOUT,
    machineTable(data),
    ...(data.growth.length > 0 ? growthSection(data) : []),
    ...(data.large.length > 0 ? largeSection(data) : []),
    ...(data.load.rows.length > 0 ? loadSection(data) : []),
    READING,
  ];
  return `${parts.join('\n\n')}\n`;
}

function machineTable({ machine, loadAtEnd, versions, growth, large, load }: Report): string {
  const loads = [...growth, ...large, ...load.rows].map((row) => row.load).sort((a, b) => a - b);
  const rows = [
    ['date', machine.date],
    ['machine', machine.shape],
    [
      'load average (1 min)',
      `${machine.load.toFixed(1)} at the start, ${median(loads).toFixed(1)} in the middle, ${(loads.at(-1) ?? 0).toFixed(1)} at most, ${loadAtEnd.toFixed(1)} at the end`,
    ],
    ...versions.map(([name, version]) => [name, version]),
  ];
  return table(['', 'measured with'], rows);
}

function growthSection(data: Report): string[] {
  const header = [
    'system',
    'end',
    'record bytes',
    'events or rows',
    'file store bytes',
    'ms a step: early',
    'middle',
    'late',
    'CPU ms a step',
    'tokens sent',
    'load average',
  ];
  const tables = data.counts.map((calls) => {
    const rows = data.systems.map((system) => growthRow(data, system, calls));
    return `### ${calls} tool calls\n\n${table(header, rows)}`;
  });
  return ['## Long runs', ...tables, deaths(data), ...growthCharts(data)];
}

function growthRow({ growth }: Report, system: SystemName, calls: number): string[] {
  const title = SYSTEM_TITLES[system];
  const runs = growth.filter((row) => row.system === system && row.calls === calls);
  const [first] = runs;
  if (!first) return [title, 'not run: it had died before', '', '', '', '', '', '', '', '', ''];
  const at = (tenth: number): string => median(runs.map((run) => run.tenths.at(tenth) ?? Number.NaN)).toFixed(0);
  const worked = first.ended === 'completed' ? 'completed' : `${first.ended} at model call ${first.requests}`;
  return [
    title,
    first.summaries > 0
      ? `${worked}, summed up ${first.summaries === 1 ? 'once' : `${first.summaries} times`}`
      : worked,
    count(first.recordBytes),
    count(first.events),
    count(first.elsewhereBytes),
    at(0),
    at(4),
    at(-1),
    median(runs.map((run) => run.cpuMsPerStep)).toFixed(0),
    count(first.tokensSent),
    median(runs.map((run) => run.load)).toFixed(0),
  ];
}

function deaths({ growth, systems }: Report): string {
  const rows = systems.map((system) => {
    const run = growth.find((row) => row.system === system && row.ended !== 'completed');
    const longest = growth.findLast((row) => row.system === system);
    if (!run) return [SYSTEM_TITLES[system], `${longest?.calls ?? 0} calls completed`, ''];
    return [SYSTEM_TITLES[system], `${run.ended} at model call ${run.requests} of ${run.calls + 1}`, cell(run.how)];
  });
  return `### How each ended\n\n${table(['system', 'end', 'in its own words'], rows)}`;
}

function growthCharts({ growth, systems, counts }: Report): string[] {
  const runOf = (system: SystemName, calls: number): RunRow | undefined =>
    growth.find((row) => row.system === system && row.calls === calls);
  const sizes = systems.map((name) => ({
    name,
    values: counts.flatMap((calls) => runOf(name, calls)?.recordBytes ?? []).map((bytes) => bytes / 2 ** 20),
  }));
  const byCalls = { title: 'Record (MiB) by tool calls', x: counts.map(String), unit: 'MiB' };
  const through = counts
    .filter((calls) => calls >= 100)
    .map((calls) => {
      const series = systems.map((name) => ({ name, values: runOf(name, calls)?.tenths ?? [] }));
      const x = Array.from({ length: 10 }, (_, tenth) => `${(tenth + 1) * 10}%`);
      return lineChart({ title: `Time a step (ms) through a run of ${calls} calls`, x, unit: 'ms', series });
    });
  return [
    '### Plots',
    'A line ends where its system did. Through a run, tenths are tenths of what came of it.',
    lineChart({ ...byCalls, series: sizes }),
    lineChart({
      ...byCalls,
      title: 'The same without `deepagents`',
      series: sizes.filter(({ name }) => name !== 'deepagents'),
    }),
    ...through,
  ];
}

function largeSection({ large }: Report): string[] {
  const header = [
    'result',
    'system',
    'end',
    'record bytes',
    'file store bytes',
    'tokens sent',
    'the model was shown',
    'peak memory',
  ];
  const rows = large.map((row) => [
    row.size,
    SYSTEM_TITLES[row.system],
    row.ended === 'completed' ? 'works' : `${row.ended}: ${cell(row.how)}`,
    count(row.recordBytes),
    count(row.elsewhereBytes),
    count(row.tokensSent),
    row.requests > 1 ? `${count(row.lastResultCharacters)} characters` : 'nothing',
    `${(row.peakMemoryBytes / 2 ** 20).toFixed(0)} MiB`,
  ]);
  const seen = large
    .filter((row) => row.requests > 1 && row.size === '4.7 MB')
    .map((row) => `- ${SYSTEM_TITLES[row.system]}: \`${row.lastResult.replaceAll(/[`\s]+/g, ' ').slice(0, 160)}…\``);
  const words = 'Of 4.7 MB the model saw, from the beginning:';
  return ['## One large result', table(header, rows), ...(seen.length > 0 ? [`${words}\n\n${seen.join('\n')}`] : [])];
}

function loadSection({ load: { turns, calls, rows } }: Report): string[] {
  const systems = [...new Set(rows.map((row) => row.system))];
  const middle = (system: SystemName, key: Exclude<keyof LoadRow, 'system'>): number =>
    median(rows.filter((row) => row.system === system).map((row) => row[key]));
  const cells = (row: Omit<LoadRow, 'system'>): string[] => [
    row.stepsPerSecond.toFixed(1),
    row.medianMs.toFixed(0),
    row.p95Ms.toFixed(0),
    row.cpuMsPerStep.toFixed(1),
    row.load.toFixed(1),
  ];
  const medians = systems.map((system) => ({
    system,
    stepsPerSecond: middle(system, 'stepsPerSecond'),
    medianMs: middle(system, 'medianMs'),
    p95Ms: middle(system, 'p95Ms'),
    cpuMsPerStep: middle(system, 'cpuMsPerStep'),
    load: middle(system, 'load'),
  }));
  const header = ['', 'steps a second', 'ms a step: median', 'p95', 'Worker CPU ms a step', 'load average'];
  const all = [
    ...rows.map((row, index) => [
      `round ${Math.floor(index / systems.length) + 1}, ${SYSTEM_TITLES[row.system]}`,
      ...cells(row),
    ]),
    ...medians.map((row) => [`**median, ${SYSTEM_TITLES[row.system]}**`, ...cells(row)]),
  ];
  const chart = barChart({
    title: `Steps a second, ${turns} turns at once`,
    x: systems.map((system) => SYSTEM_TITLES[system]),
    unit: 'steps a second',
    values: medians.map((row) => row.stepsPerSecond),
  });
  const text = `${turns} turns of ${calls} steps each at once on one Worker, 5,000-byte results, both systems on one tuned server, in turn.`;
  return ['## Many turns at once', text, table(header, all), ratios(rows), chart];
}

/** Longshore to the bare Workflow, round by round: what both met in one round is closer than what medians meet. */
function ratios(rows: readonly LoadRow[]): string {
  const of = (system: SystemName): LoadRow[] => rows.filter((row) => row.system === system);
  const bare = of('bare');
  const by = (key: 'stepsPerSecond' | 'p95Ms' | 'cpuMsPerStep'): string =>
    of('longshore')
      .map((row, round) => (row[key] / (bare[round]?.[key] ?? Number.NaN)).toFixed(2))
      .join(', ');
  return `Longshore to the bare Workflow, round by round: steps a second ${by('stepsPerSecond')}; p95 ${by('p95Ms')}; CPU ${by('cpuMsPerStep')}.`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** Text that stands in one cell of a table. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
}
