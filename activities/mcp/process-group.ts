// Ends a child process with all that it started. A server is often a launcher (`npx`, a shell) whose real server is its
// grandchild; each runs in a process group of its own, which is signalled as one.
import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

import { watchGroups } from './group-watch.ts';

/** How long a server may take to end after its input closes, and again after SIGTERM. */
const GRACE_MS = 1_500;
/** The same for what is left of the group when the server itself has ended; unreaped grandchildren count as alive. */
const LEFTOVER_GRACE_MS = 300;
const POLL_MS = 20;

const groups = new Set<number>();
let isHooked = false;

/** Whether children get a group of their own; Windows has none. */
export const HAS_GROUPS = process.platform !== 'win32';

/** Has the group killed should this process end without closing it, in whatever way. */
export function guardGroup(pid: number): void {
  groups.add(pid);
  if (HAS_GROUPS) watchGroups(groups);
  if (isHooked) return;
  isHooked = true;
  process.once('exit', () => {
    for (const group of groups) signalGroup(group, 'SIGKILL');
  });
}

/** Closes the child's input and waits; then SIGTERM and SIGKILL to its whole group. Never rejects. */
export async function endGroup(
  child: ChildProcess,
  pid: number,
  options: { readonly patient: boolean },
): Promise<void> {
  if (options.patient) {
    child.stdin?.end();
    await until(() => hasEnded(child), GRACE_MS);
  } else {
    child.stdin?.destroy();
  }
  const isGone = (): boolean => hasEnded(child) && !signalGroup(pid, 0);
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (isGone()) break;
    signalGroup(pid, signal);
    await until(isGone, hasEnded(child) ? LEFTOVER_GRACE_MS : GRACE_MS);
  }
  groups.delete(pid);
  if (HAS_GROUPS) watchGroups(groups);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function until(isTrue: () => boolean, withinMs: number): Promise<void> {
  const end = Date.now() + withinMs;
  while (!isTrue() && Date.now() < end) await delay(POLL_MS);
}

/** Whether there was anything to signal. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(HAS_GROUPS ? -pid : pid, signal);
  } catch {
    // ESRCH: nothing of the group is left.
    return false;
  }
}
