// Asks a Temporal CLI for its version, which is also the proof that it runs on this machine.
import { runBounded } from './run-bounded.ts';

/** The oldest CLI whose dev server takes all the flags that the embedded server uses. */
export const MINIMUM_VERSION = '1.4.0';

/** The longest wait for `--version`, in milliseconds: a cold 156 MB binary on a slow disk takes seconds. */
const VERSION_TIMEOUT_MS = 20_000;

/** Runs `PATH --version`. @throws an `Error` that says why it does not run, or what it printed instead. */
export async function cliVersion(path: string): Promise<string> {
  const output = await runBounded(path, ['--version'], { env: process.env, timeoutMs: VERSION_TIMEOUT_MS });
  const version = /^temporal version v?(\d+\.\d+\.\d+)/m.exec(output)?.[1];
  if (version === undefined) throw new Error(`\`--version\` printed ${JSON.stringify(output.slice(0, 80))}`);
  return version;
}

/** Whether a version (`1.9.1`) is at least the minimum. */
export function isRecentEnough(version: string, minimum: string = MINIMUM_VERSION): boolean {
  return compareVersions(version, minimum) >= 0;
}

/** Orders versions of numbers between dots; negative when `left` is older. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.split('.').map(Number));
  for (let index = 0; index < 3; index += 1) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
