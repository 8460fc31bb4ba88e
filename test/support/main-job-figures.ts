// The figures of the main job, computed from the packages' data with plain JavaScript: nothing of the product is used.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from './main-job-process.ts';

/** The files that the agent asks for, in its order. */
export const MAIN_JOB_FILES = [
  'caniuse-db/data.json',
  'emojibase-data/en/data.json',
  'vega-datasets/data/airports.csv',
  'vega-datasets/data/co2-concentration.csv',
] as const;

/** A file of a package, as it lies on the disk. */
export function dataFile(path: string): Buffer {
  return readFileSync(join(PROJECT, 'node_modules', path));
}

interface Feature {
  readonly status: string;
  readonly usage_perc_y: number;
}

/** Question 1. */
export function featureFigures() {
  // The package's own form, as far as it is used here.
  const { data, statuses } = JSON.parse(dataFile(MAIN_JOB_FILES[0]).toString('utf8')) as {
    readonly data: Record<string, Feature>;
    readonly statuses: Record<string, string>;
  };
  const features = Object.values(data);
  const [status, count] = mostFrequent(features.map((feature) => feature.status));
  const usable = features.filter((feature) => feature.status === status && feature.usage_perc_y >= 95).length;
  return { total: features.length, stage: statuses[status], count, usable };
}

/** Question 2. */
export function emojiFigures() {
  // As above.
  const emoji = JSON.parse(dataFile(MAIN_JOB_FILES[1]).toString('utf8')) as readonly {
    readonly label: string;
    readonly version: number;
  }[];
  const newest = emoji.reduce((most, { version }) => Math.max(most, version), 0);
  const labels = emoji.filter(({ version }) => version === newest).map(({ label }) => label);
  return { total: emoji.length, newest, labels };
}

/** Question 3. */
export function airportFigures() {
  const [, ...lines] = dataFile(MAIN_JOB_FILES[2]).toString('utf8').trimEnd().split('\n');
  const airports = lines.map((line) => {
    const cells = line.match(/("[^"]*"|[^,]*)(,|$)/g)?.map((cell) => cell.replace(/,$/, '')) ?? [];
    return { code: cells[0], state: cells[3] ?? '' };
  });
  const [state, count] = mostFrequent(airports.map((airport) => airport.state));
  const first = airports.findIndex((airport) => airport.state === state);
  return { total: airports.length, state, count, code: airports[first]?.code, line: first + 2 };
}

/** Question 4, in ppm with two decimals. */
export function airFigures() {
  const [, ...lines] = dataFile(MAIN_JOB_FILES[3]).toString('utf8').trimEnd().split('\n');
  const values = lines.map((line) => Number(line.split(',')[1]));
  const mean = (part: readonly number[]): number => part.reduce((sum, value) => sum + value, 0) / part.length;
  const first = mean(values.slice(0, 12));
  const last = mean(values.slice(-12));
  return { first: first.toFixed(2), last: last.toFixed(2), rise: (last - first).toFixed(2) };
}

function mostFrequent(values: readonly string[]): readonly [string, number] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  if (!most) throw new Error('There are no values.');
  return most;
}
