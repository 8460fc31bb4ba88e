// Secrets taken out of results of 50 MB: all forms of all secrets in one pass, against one search a secret, as it stands, which
// knows no other form. `node bench/redact.ts [--rounds N]`
import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { redactBytes } from '../worker/secrets.ts';
import { median, table } from './lib/stats.ts';

const BYTES = 50_000_000;
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const rounds = Number(values.rounds);

const results = [
  { name: 'JSON', bytes: json() },
  { name: 'base64', bytes: Buffer.from(randomBytes((BYTES * 3) / 4).toString('base64')) },
  { name: 'random bytes', bytes: randomBytes(BYTES) },
];
/** How many secrets, of how many characters. */
const plans = [
  [1, 32],
  [3, 32],
  [10, 32],
  [30, 24],
  [10, 8],
  [3, 6],
] as const;

const rows = plans.flatMap(([count, length]) => {
  const secrets = Array.from({ length: count }, () => randomBytes(length).toString('base64').slice(0, length));
  return results.map(({ name, bytes }) => {
    const before: number[] = [];
    const now: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      before.push(timed(() => secrets.forEach((secret) => bytes.indexOf(secret))));
      now.push(timed(() => redactBytes(bytes, secrets)));
    }
    const [was, is] = [median(before), median(now)];
    return [`${count} of ${length}`, name, was.toFixed(0), is.toFixed(0), (is / was).toFixed(2)];
  });
});
console.log(table(['secrets', '50 MB of', 'as they stand, ms', 'all forms, ms', 'ratio'], rows));

function timed(work: () => void): number {
  const startMs = performance.now();
  work();
  return performance.now() - startMs;
}

function json(): Buffer {
  const lines: string[] = [];
  for (let size = 0; size < BYTES;) {
    const line = JSON.stringify({
      id: lines.length,
      name: `Order ${lines.length} of the harbour`,
      when: '2026-11-30T12:00:00Z',
      note: 'A text of words that people write, and no more.',
      digest: randomBytes(24).toString('base64'),
    });
    lines.push(line);
    size += line.length + 1;
  }
  return Buffer.from(lines.join('\n'));
}
