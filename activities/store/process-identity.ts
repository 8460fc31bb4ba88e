// Says which process made a lock or a temporary file, and whether that process still lives.
// On Linux the start time tells a process from a later one with the same id; elsewhere only the id is known.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';

/** Whether a process lives; `unknown` for one of another machine, boot or container, and where ids alone are known. */
export type Liveness = 'alive' | 'dead' | 'unknown';

let own: string | undefined;

/** This process as a text of `[a-z0-9-]`: `place-pid-start`. Start is 0 where the system does not tell. */
export function ownIdentity(): string {
  own ??= `${ownPlace()}-${process.pid}-${processStat(process.pid)?.started ?? '0'}`;
  return own;
}

/** Whether the process that `ownIdentity` named so still lives, as far as can be known from here. */
export function livenessOf(identity: string): Liveness {
  const [place, pidText, started] = identity.split('-');
  const pid = Number(pidText);
  if (place !== ownIdentity().split('-')[0] || !Number.isSafeInteger(pid) || pid <= 0) return 'unknown';
  if (!processExists(pid)) return 'dead';
  if (started === '0') return 'unknown';
  const stat = processStat(pid);
  // A zombie still answers signals: killed, and not yet collected by its parent.
  return stat !== null && stat.started === started && stat.state !== 'Z' ? 'alive' : 'dead';
}

function ownPlace(): string {
  const boot = readOrEmpty(() => fs.readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));
  const pidNamespace = readOrEmpty(() => fs.readlinkSync('/proc/self/ns/pid'));
  return createHash('sha256').update(`${os.hostname()}\n${boot}\n${pidNamespace}`).digest('hex').slice(0, 12);
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // there, and another user's
  }
}

/** State and start time (fields 3 and 22 of proc(5)'s `stat`); null where there is no such process or no `/proc`. */
function processStat(pid: number): { readonly state: string; readonly started: string } | null {
  const text = readOrEmpty(() => fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' '); // the name before it may hold spaces
  const [state, started] = [fields[0], fields[19]];
  return state === undefined || started === undefined ? null : { state, started };
}

function readOrEmpty(read: () => string): string {
  try {
    return read();
  } catch {
    return ''; // not Linux, or the process is gone: both are answers here
  }
}
