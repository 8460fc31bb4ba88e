// Bars H2 and H3: a 50 MB payload measured and stored, against hashing and writing it; hostile texts counted.
// `node bench/measure.ts [--json] [--rounds N]`
import { createHash } from 'node:crypto';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { closeMeasure, measure, warmUpMeasure } from '../activities/measure.ts';
import { createLocalStore } from '../activities/store/local.ts';
import { median, table } from './lib/stats.ts';

const LARGE_BYTES = 50 * 1024 * 1024;

/** One way to treat the large payload, over all rounds; medians of milliseconds. */
interface Treatment {
  readonly name: string;
  readonly medianMs: number;
  /** Speed relative to the baseline; 1 is equal. */
  readonly speed: number;
  /** The longest single delay of the event loop: median and maximum over the rounds. */
  readonly longestBlockMs: number;
  readonly longestBlockWorstMs: number;
  /** All time the event loop was busy in a round. */
  readonly busyMs: number;
}

/** One hostile text. */
interface Hostile {
  readonly name: string;
  readonly bytes: number;
  readonly tokens: number;
  readonly exact: boolean;
  /** The quickest round: what it takes when nothing else runs. */
  readonly bestMs: number;
  readonly medianMs: number;
  readonly worstMs: number;
}

const { values } = parseArgs({
  options: { json: { type: 'boolean', default: false }, rounds: { type: 'string', default: '9' } },
});
const rounds = Number(values.rounds);
await warmUpMeasure();
const large = await largePayload(rounds);
const hostile = await hostileTexts(rounds);
await closeMeasure();
if (values.json) console.log(JSON.stringify({ rounds, large, hostile }, null, 2));
else report(large, hostile);

async function largePayload(count: number): Promise<readonly Treatment[]> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-bench-'));
  const store = createLocalStore({ folder: join(folder, 'store'), namespace: 'bench' });
  const payload = jsonOf(LARGE_BYTES);
  const treatments: readonly (readonly [string, () => Promise<void>])[] = [
    ['hash and write (baseline)', () => hashAndWrite(join(folder, 'baseline'), payload)],
    ['measure alone', async () => void (await measure(payload))],
    [
      'measure, then putBlob',
      async () => {
        const { sha256, bytes } = await measure(payload);
        await store.putBlob(payload, { sha256, bytes });
      },
    ],
    [
      'measure and putBlob at once',
      async () => {
        await Promise.all([measure(payload), store.putBlob(payload)]);
      },
    ],
  ];
  const times = treatments.map((): number[] => []);
  const blocks = treatments.map((): number[] => []);
  const busy = treatments.map((): number[] => []);
  try {
    for (let round = -1; round < count; round++) {
      for (const [index, [, run]] of treatments.entries()) {
        // Distinct content each time, or the store would find the blob already there.
        payload.write(`${round}.${index}`.padEnd(12), 16);
        const seen = await observe(run);
        if (round < 0) continue; // warm-up
        times[index]?.push(seen.ms);
        blocks[index]?.push(seen.longestBlockMs);
        busy[index]?.push(seen.busyMs);
      }
      for await (const blob of store.listBlobs()) await store.deleteBlob(blob.sha256);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const baseline = median(times[0] ?? []);
  return treatments.map(([name], index) => ({
    name,
    medianMs: median(times[index] ?? []),
    speed: baseline / median(times[index] ?? []),
    longestBlockMs: median(blocks[index] ?? []),
    longestBlockWorstMs: Math.max(...(blocks[index] ?? [])),
    busyMs: median(busy[index] ?? []),
  }));
}

async function hashAndWrite(path: string, payload: Uint8Array): Promise<void> {
  createHash('sha256').update(payload).digest('hex');
  const file = await open(path, 'w');
  try {
    await file.writeFile(payload);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function observe(run: () => Promise<void>): Promise<{ ms: number; longestBlockMs: number; busyMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  await pause(20);
  delay.reset();
  await pause(5); // after a reset the first tick only sets the clock
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  await run();
  const ms = performance.now() - start;
  const busyMs = performance.eventLoopUtilization(before).active;
  await pause(5);
  delay.disable();
  return { ms, longestBlockMs: delay.max / 1e6, busyMs };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function hostileTexts(count: number): Promise<readonly Hostile[]> {
  const found: Hostile[] = [];
  for (const [name, text] of Object.entries(hostileOnes())) {
    const payload = typeof text === 'string' ? new TextEncoder().encode(text) : text;
    const times: number[] = [];
    let last = await measure(payload);
    for (let round = 0; round < count; round++) {
      const start = performance.now();
      last = await measure(payload);
      times.push(performance.now() - start);
    }
    const { bytes, tokens, tokensAreExact: exact } = last;
    found.push({
      name,
      bytes,
      tokens,
      exact,
      bestMs: Math.min(...times),
      medianMs: median(times),
      worstMs: Math.max(...times),
    });
  }
  return found;
}

function hostileOnes(): Readonly<Record<string, string | Uint8Array>> {
  const noise = noiseOf(1_000_000);
  return {
    'a, 1,000,000 times': 'a'.repeat(1_000_000),
    'A, 1,000,000 times': 'A'.repeat(1_000_000),
    '1,000,000 spaces': ' '.repeat(1_000_000),
    '1,000,000 line breaks': '\n'.repeat(1_000_000),
    '1,000,000 dashes': '-'.repeat(1_000_000),
    '1,000,000 random letters': Array.from(noise, (n) => String.fromCharCode(97 + (n % 26))).join(''),
    '100,000 CJK characters': Array.from(noise.subarray(0, 100_000), (n, i) =>
      String.fromCharCode(0x4e00 + n * 64 + (i % 64)),
    ).join(''),
    'base64 of 60 KB': Buffer.from(noise.subarray(0, 60_000)).toString('base64'),
    'base64 of 750 KB': Buffer.from(noise.subarray(0, 750_000)).toString('base64'),
    '40,000 families (emoji)': '👩‍👩‍👧‍👦'.repeat(40_000),
    '100,000 flags': '🇩🇪'.repeat(100_000),
    '1,000,000 combining marks': `e${'\u0301'.repeat(1_000_000)}`,
    '80,000 special tokens': '<|endoftext|>'.repeat(80_000),
    '1,000,000 digits': '7'.repeat(1_000_000),
    '1,000,000 brackets': '['.repeat(1_000_000),
    '1,000,000 NULs': '\0'.repeat(1_000_000),
    '1 MB of noise, not UTF-8': noise,
  };
}

/** Repeatable bytes without a pattern: a linear congruential generator. */
function noiseOf(length: number): Uint8Array {
  let state = 1;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state >> 16;
  });
}

/** A JSON array of objects of about that size. */
function jsonOf(bytes: number): Buffer {
  const row =
    '{"name": "                ", "lat": "42.53176", "lng": "1.56654", "country": "AD", "note": "naïve café"},\n';
  const rowBytes = Buffer.from(row);
  const payload = Buffer.alloc(bytes, rowBytes);
  payload.write('[', 0);
  return Buffer.concat([Buffer.from('[{"round": "            "},\n'), payload.subarray(rowBytes.length)]);
}

function report(treatments: readonly Treatment[], texts: readonly Hostile[]): void {
  const ms = (value: number): string => value.toFixed(1);
  console.log(`\n50 MB, ${rounds} rounds interleaved, medians (H2: longest block below 50 ms, speed at least 0.70)\n`);
  console.log(
    table(
      ['', 'ms', 'speed', 'longest block ms', 'worst', 'event loop busy ms'],
      treatments.map((one) => [
        one.name,
        ms(one.medianMs),
        one.speed.toFixed(2),
        ms(one.longestBlockMs),
        ms(one.longestBlockWorstMs),
        ms(one.busyMs),
      ]),
    ),
  );
  console.log(`\nHostile texts, whole measurements, warm (H3: below 100 ms)\n`);
  console.log(
    table(
      ['', 'bytes', 'tokens', 'exact', 'best ms', 'median', 'worst'],
      texts.map((one) => [
        one.name,
        String(one.bytes),
        String(one.tokens),
        one.exact ? 'yes' : 'no',
        ms(one.bestMs),
        ms(one.medianMs),
        ms(one.worstMs),
      ]),
    ),
  );
}
