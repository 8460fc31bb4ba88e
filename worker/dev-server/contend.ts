// One keeper a home: a keeper that has claimed looks at all other claims and either becomes the owner or gives way.
// It writes its claim before it looks, so of two that come at once at least one sees the other; the smaller token wins.
import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

import { LongshoreError } from '../../shared/errors.ts';
import type { Home } from '../home.ts';
import type { Claim } from './claims.ts';
import { isProcessAlive, listClaims, probeClaim, removeClaim } from './claims.ts';

const POLL_MS = 50;
/** How long a server may outlive its keeper, in milliseconds: its watcher ends it within 4 s. */
const ORPHAN_TIMEOUT_MS = 8_000;

/**
 * Decides whether this claim owns the home. When it does, no other keeper and no server of a dead one is left.
 *
 * @throws `HomeUnusable` when a keeper is there that does not answer.
 */
export async function contend(home: Home, own: Claim): Promise<'owner' | 'lost'> {
  for (;;) {
    let mustWait = false;
    for (const other of await listClaims(home)) {
      if (other.token === own.token) continue;
      const state = await probeClaim(other);
      if (state === 'dead') {
        await endOrphan(home, other);
        await removeClaim(home, other);
      } else if (state === 'silent') {
        throw silentKeeper(home, other);
      } else if (state === 'starting' || state === 'ready' || (state === 'candidate' && other.token < own.token)) {
        return 'lost';
      } else {
        // It stops, failed, or is a candidate that will give way: it will be gone in a moment.
        mustWait = true;
      }
    }
    if (!mustWait) return 'owner';
    await delay(POLL_MS);
  }
}

/** Waits until a dead keeper's server is gone, and ends it if its watcher did not. */
async function endOrphan(home: Home, claim: Claim): Promise<void> {
  const deadline = Date.now() + ORPHAN_TIMEOUT_MS;
  while ((await isListening(claim.serverPort)) || (await isServerProcess(home, claim.serverPid))) {
    if (Date.now() > deadline) {
      if (claim.serverPid === undefined || !(await isServerProcess(home, claim.serverPid))) return;
      process.kill(claim.serverPid, 'SIGKILL');
    }
    await delay(POLL_MS);
  }
}

async function isListening(port: number | undefined): Promise<boolean> {
  if (port === undefined) return false;
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

/** Whether this process is a server on the home's database: a process id alone may have been given to another one. */
async function isServerProcess(home: Home, pid: number | undefined): Promise<boolean> {
  if (pid === undefined || !isProcessAlive(pid)) return false;
  try {
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'args=', '-p', String(pid)], { timeout: 5_000 });
    return stdout.includes(home.database);
  } catch {
    // `ps` fails when the process is gone by now. Where there is no `ps`, the port alone tells.
    return false;
  }
}

function silentKeeper(home: Home, claim: Claim): LongshoreError {
  return new LongshoreError(
    'HomeUnusable',
    `Process ${claim.pid} keeps the embedded server of ${home.folder} and does not answer.`,
    `Let process ${claim.pid} go on if it was stopped, or end it; then try again.`,
  );
}
