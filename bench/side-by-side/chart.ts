// Mermaid's xychart: lines and bars. It draws no legend, so the colours are named above each chart.
import { SYSTEM_TITLES, SYSTEMS, type SystemName } from './systems.ts';

/** A line of a chart; it may be shorter than the axis. */
export interface ChartLine {
  readonly name: SystemName;
  readonly values: readonly number[];
}

const COLOURS: Readonly<Record<SystemName, readonly [name: string, code: string]>> = {
  longshore: ['blue', '#1f6feb'],
  bare: ['grey', '#8b949e'],
  'bare-naive': ['purple', '#8250df'],
  'ai-sdk': ['orange', '#fb8500'],
  deepagents: ['green', '#2da44e'],
};

/** Lines over one axis. */
export function lineChart(chart: {
  readonly title: string;
  readonly x: readonly string[];
  readonly unit: string;
  readonly series: readonly ChartLine[];
}): string {
  const lines = SYSTEMS.flatMap((name) => chart.series.filter((one) => one.name === name && one.values.length > 0));
  const legend = lines.map(({ name }) => `${COLOURS[name][0]}: ${SYSTEM_TITLES[name]}`).join('; ');
  const colours = lines.map(({ name }) => COLOURS[name][1]);
  const top = Math.max(...lines.flatMap(({ values }) => values));
  const body = lines.map(({ values }) => `  line [${values.map(short).join(', ')}]`);
  return `${chart.title}. ${legend}.\n\n${fence(colours, [...head(chart, top), ...body])}`;
}

/** Bars over one axis. */
export function barChart(chart: {
  readonly title: string;
  readonly x: readonly string[];
  readonly unit: string;
  readonly values: readonly number[];
}): string {
  const body = `  bar [${chart.values.map(short).join(', ')}]`;
  return fence([COLOURS.longshore[1]], [...head(chart, Math.max(...chart.values)), body]);
}

function head(
  chart: { readonly title: string; readonly x: readonly string[]; readonly unit: string },
  top: number,
): string[] {
  return [
    `  title "${plain(chart.title)}"`,
    `  x-axis [${chart.x.map((label) => `"${plain(label)}"`).join(', ')}]`,
    `  y-axis "${chart.unit}" 0 --> ${Math.ceil(top * 1.05)}`,
  ];
}

function fence(colours: readonly string[], lines: readonly string[]): string {
  const theme = `%%{init: {"themeVariables": {"xyChart": {"plotColorPalette": "${colours.join(', ')}"}}}}%%`;
  return ['```mermaid', theme, 'xychart-beta', ...lines, '```'].join('\n');
}

function short(value: number): string {
  return value.toFixed(2);
}

/** Mermaid takes no Markdown in its texts. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}
